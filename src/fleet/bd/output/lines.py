"""Tasks as lines for a person, in bd's signs and words."""

from collections.abc import Callable, Mapping, Sequence

from fleet.schemas import Task

ICONS = {
    "open": "○",
    "in_progress": "◐",
    "blocked": "●",
    "closed": "✓",
    "deferred": "❄",
    "pinned": "📌",
    "hooked": "◇",
}
LEGEND = (
    "Status: ○ open  ◐ in_progress  ● blocked  ✓ closed  ❄ deferred\n"
    "Priority: P0–P4 (label only; not a status icon)"  # noqa: RUF001 - bd's own dash
)
RULE = "-" * 80

#: Types that stand out enough to be named beside a title.
_TAGGED = ("bug", "epic")


def icon(task: Task) -> str:
    return ICONS[task.status]


def short(task: Task) -> str:
    """One line: sign, id, priority, title."""
    if task.status == "closed":
        kind = f"{task.issue_type} "
    else:
        kind = f"[{task.issue_type}] " if task.issue_type in _TAGGED else ""
    return f"{icon(task)} {task.id} P{task.priority} {kind}{task.title}"


def flat(task: Task, notes: Sequence[str], *, waits: bool) -> str:
    """One line with everything that fits on it; `notes` come in brackets behind."""
    sign = ICONS["blocked"] if waits else icon(task)
    behind = f" ({', '.join(notes)})" if notes else ""
    return f"{sign} {task.id} {_facts(task)}{_whose(task)} - {task.title}{behind}"


def found(task: Task) -> str:
    """One line of a search's answer."""
    return f"{task.id} {_facts(task)} {task.status}{_whose(task)} - {task.title}"


def long(task: Task) -> str:
    """A task on several lines."""
    lines = [f"{task.id} {_facts(task)} {task.status}", f"  {task.title}"]
    if task.assignee:
        lines.append(f"  Assignee: {task.assignee}")
    if task.labels:
        lines.append(f"  Labels: [{' '.join(task.labels)}]")
    return "\n".join(lines)


def _facts(task: Task) -> str:
    return f"[P{task.priority}] [{task.issue_type}]"


def _whose(task: Task) -> str:
    holder = f" @{task.assignee}" if task.assignee else ""
    return f"{holder} [{' '.join(task.labels)}]" if task.labels else holder


def tree(
    tasks: Sequence[Task], parents: Mapping[str, str], line: Callable[[Task], str] = short
) -> list[str]:
    """The tasks in their given order, children under their parent where it is among them."""
    known = {task.id for task in tasks}
    below: dict[str, list[Task]] = {}
    for task in tasks:
        parent = parents.get(task.id, "")
        below.setdefault(parent if parent in known else "", []).append(task)
    lines: list[str] = []
    stack = [(task, "", "", "") for task in reversed(below.get("", []))]
    while stack:
        task, indent, branch, under = stack.pop()
        lines.append(f"{indent}{branch}{line(task)}")
        children = below.pop(task.id, [])
        for number, child in enumerate(reversed(children)):
            joint, beside = ("├── ", "│   ") if number else ("└── ", "    ")
            stack.append((child, indent + under, joint, beside))
    return lines


def total(tasks: Sequence[Task], *, cut: bool) -> str:
    """The line under a list."""
    going = sum(task.status == "open" for task in tasks)
    begun = sum(task.status == "in_progress" for task in tasks)
    state = f"{len(tasks)} issues ({going} open, {begun} in progress)"
    if cut:
        return f"Showing {state}; more match (truncated by --limit). Use --limit 0 for all."
    return f"Total: {state}"
