"""Tasks as text for a person: on a line, as a list, and one on a page with the tasks around."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from fleet.bd.output.json_shapes import claim_expires
from fleet.schemas import Comment, Task
from fleet.schemas.shown_text import one_line
from fleet.schemas.task_state import Standing, TaskState, row_state

#: The tasks at the other end of a task's edges, each with the edge's type.
Neighbours = Sequence[tuple[Task, str]]


#: The states of tasks by all that is known of them; of the others the row alone tells.
States = Mapping[str, TaskState]
_NO_STATES: States = {}
#: States that the tracker's own status says as well.
_PLAIN: Mapping[str, TaskState] = {"open": "ready", "in_progress": "running", "closed": "done"}


def row(task: Task, *notes: str, states: States = _NO_STATES) -> str:
    """A task on one line; what else there is to say stands in brackets behind the title."""
    facts = [
        *([task.issue_type] if task.issue_type != "task" else []),
        *([f"@{task.assignee}"] if task.assignee else []),
        *task.labels,
        *_state(task, states.get(task.id)),
        *notes,
    ]
    behind = f"  ({', '.join(facts)})" if facts else ""
    text = f"{task.id}  P{task.priority}  {task.shown_status:<11}  {task.title}{behind}"
    return one_line(text)


def _state(task: Task, known: TaskState | None) -> list[str]:
    """How the task stands, where the status alone does not tell."""
    if known is None:
        return [row_state(task).state] if task.status == "blocked" else []
    return [] if _PLAIN.get(task.status) == known else [known]


def rows(tasks: Sequence[Task], none: str, more: str = "", *, states: States = _NO_STATES) -> str:
    """A line for each task and their number; `none` if there are none."""
    if not tasks:
        return none
    count = "1 issue" if len(tasks) == 1 else f"{len(tasks)} issues"
    return "\n".join([*(row(each, states=states) for each in tasks), "", f"{count}{more}"])


def tree(
    tasks: Sequence[Task],
    parents: Mapping[str, str],
    none: str,
    *,
    states: States = _NO_STATES,
) -> str:
    """A line for each task, each below its parent, as far as that is one of them."""
    if not tasks:
        return none
    known = {task.id for task in tasks}
    below: dict[str, list[Task]] = {}
    for task in tasks:
        parent = parents.get(task.id, "")
        below.setdefault(parent if parent in known else "", []).append(task)
    found: list[str] = []
    stack = [(task, 0) for task in reversed(below.get("", ()))]
    while stack:
        task, depth = stack.pop()
        found.append(f"{'  ' * depth}{row(task, states=states)}")
        stack += [(child, depth + 1) for child in reversed(below.get(task.id, ()))]
    return "\n".join([*found, "", f"Total: {len(tasks)} issues"])


def page(
    task: Task,
    dependencies: Neighbours,
    dependents: Neighbours,
    comments: Sequence[Comment],
    *,
    standing: Standing | None = None,
    states: States = _NO_STATES,
) -> str:
    """All of a task that a person may want to read."""
    texts = {
        "description": task.description,
        "design": task.design,
        "notes": task.notes,
        "acceptance criteria": task.acceptance_criteria,
        "metadata": "\n".join(_metadata(task.metadata)),
        "depends on": _rows(dependencies, states),
        "dependents": _rows(dependents, states),
        "comments": "\n".join(
            f"{_minute(comment.created_at)} {one_line(comment.author)}\n{indented(comment.text)}"
            for comment in comments
        ),
    }
    parts = [f"{name}:\n{indented(text)}" for name, text in texts.items() if text]
    return "\n\n".join(["\n".join(_head(task, standing)), *parts])


def _status(task: Task, standing: Standing | None) -> str:
    """The status; where it does not say how the task stands, also that, and why."""
    if not _state(task, standing and standing.state):
        return task.shown_status
    known = standing or row_state(task)
    return f"{task.shown_status} ({known.words})"


def _head(task: Task, standing: Standing | None) -> list[str]:
    rows: dict[str, str | datetime | None] = {
        "id": task.id,
        "title": task.title,
        "status": _status(task, standing),
        "priority": f"P{task.priority}",
        "type": task.issue_type,
        "assignee": task.assignee,
        "claimed until": claim_expires(task),
        "labels": ", ".join(task.labels),
        "created": f"{_minute(task.created_at)} {task.created_by}",
        "started": task.started_at,
        "updated": task.updated_at,
        "due": task.due_at,
        "deferred until": task.defer_until,
        "closed": task.closed_at,
        "reason": task.close_reason,
        "estimate": f"{task.estimated_minutes} min" if task.estimated_minutes else "",
        "external": task.external_ref,
        "spec": task.spec_id,
    }
    return [
        f"{name + ':':<16}{_minute(value) if isinstance(value, datetime) else one_line(value)}"
        for name, value in rows.items()
        if value
    ]


def _metadata(metadata: dict[str, Any]) -> list[str]:
    return [
        f"{key}: {value if isinstance(value, str) else msgspec.json.encode(value).decode()}"
        for key, value in sorted(metadata.items())
    ]


def others(neighbours: Neighbours) -> str:
    """The tasks around one, a line each, indented."""
    return indented(_rows(neighbours, _NO_STATES)) if neighbours else ""


def _rows(neighbours: Neighbours, states: States) -> str:
    return "\n".join(row(task, kind, states=states) for task, kind in neighbours)


def indented(text: str) -> str:
    """A text on indented lines, which no other line of the output can be taken for."""
    return "\n".join(f"  {line}".rstrip() for line in text.rstrip("\n").split("\n"))


def _minute(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M}"
