"""One task as a page for a person: its fields, its texts, and what stands around it."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from fleet.bd.output.json_shapes import claim_expires
from fleet.bd.output.lines import icon
from fleet.bd.output.neighbours import Around, Neighbours
from fleet.schemas import Task

#: Headings and arrows for what a task depends on, by the type of the edge; bd's order.
_BELOW = (
    ("blocks", "DEPENDS ON", "→"),
    ("conditional-blocks", "CONDITIONALLY DEPENDS ON", "→"),
    ("waits-for", "WAITS FOR", "→"),
    ("parent-child", "PARENT", "↑"),
    ("discovered-from", "DISCOVERED FROM", "◊"),
)
#: The same for what depends on it.
_ABOVE = (
    ("parent-child", "CHILDREN", "↳"),
    ("blocks", "BLOCKS", "←"),
    ("conditional-blocks", "CONDITIONALLY BLOCKS", "←"),
    ("waits-for", "AWAITED BY", "←"),
    ("discovered-from", "DISCOVERED", "◊"),
)
_SIGNS = {"blocks": "🚫", "parent-child": "↳", "related": "↔", "relates-to": "↔"}


def page(around: Around, now: datetime, *, long: bool) -> str:
    """All of a task that a person may want to read."""
    task = around.task
    parts = ["\n".join(_head(task, now)), _text("DESCRIPTION", task.description or "(none)")]
    for heading, text in (
        ("DESIGN", task.design),
        ("NOTES", task.notes),
        ("ACCEPTANCE CRITERIA", task.acceptance_criteria),
    ):
        if text:
            parts.append(_text(heading, text))
    if task.labels:
        parts.append(f"LABELS: {', '.join(task.labels)}")
    if task.metadata:
        parts.append(_text("METADATA", "\n".join(_metadata(task.metadata))))
    parts += _relations(around)
    if around.comments:
        said = [
            f"{_minute(comment.created_at)} {comment.author}\n{_indented(comment.text)}"
            for comment in around.comments
        ]
        parts.append(_text("COMMENTS", "\n".join(said)))
    if long and task.estimated_minutes is not None:
        parts.append(_text("EXTENDED DETAILS", f"Estimated: {task.estimated_minutes} minutes"))
    return "\n\n".join(parts) + "\n"


def _head(task: Task, now: datetime) -> list[str]:
    kind = f" [{task.issue_type.upper()}]" if task.issue_type in ("bug", "epic") else ""
    state = f"P{task.priority} · {task.status.upper()}"
    who = [
        f"{name}: {value}"
        for name, value in (
            ("Created by", task.created_by),
            ("Assignee", task.assignee),
            ("Type", task.issue_type),
        )
        if value
    ]
    when = [
        f"{name}: {value.astimezone(UTC):%Y-%m-%d}"
        for name, value in (
            ("Created", task.created_at),
            ("Started", task.started_at),
            ("Updated", task.updated_at),
            ("Due", task.due_at),
            ("Deferred", task.defer_until),
        )
        if value
    ]
    lines = [f"{icon(task)} {task.id}{kind} · {task.title}   [{state}]"]
    lines += [" · ".join(who), " · ".join(when)]
    for name, value in (
        ("Close reason", task.close_reason),
        ("External", task.external_ref),
        ("Spec", task.spec_id),
        ("Lease", _lease(task, now)),
    ):
        if value:
            lines.append(f"{name}: {value}")
    return lines


def _lease(task: Task, now: datetime) -> str:
    expires = claim_expires(task)
    if expires is None or task.heartbeat_at is None:
        return ""
    beat = _ago(now - task.heartbeat_at)
    if expires <= now:
        return f"expired {_ago(now - expires)} (heartbeat {beat})"
    return f"expires in {_long(expires - now)} (heartbeat {beat})"


def _ago(span: timedelta) -> str:
    return "just now" if span < timedelta(minutes=1) else f"{_long(span)} ago"


def _long(span: timedelta) -> str:
    minutes = max(0, span // timedelta(minutes=1))
    if minutes >= 120:
        return f"{minutes // 60} hours"
    return "1 min" if minutes == 1 else f"{minutes} mins"


def _metadata(metadata: dict[str, Any]) -> list[str]:
    return [
        f"{key}: {value if isinstance(value, str) else msgspec.json.encode(value).decode()}"
        for key, value in sorted(metadata.items())
    ]


def _relations(around: Around) -> list[str]:
    parts: list[str] = []
    told: set[str] = set()
    for table, near in ((_BELOW, around.dependencies), (_ABOVE, around.dependents)):
        for kind, heading, arrow in table:
            told.add(kind)
            named = heading == "PARENT"
            lines = [_other(task, arrow, named=named) for task, type_ in near if type_ == kind]
            if lines and heading == "CHILDREN" and around.task.issue_type == "epic":
                lines.append(_progress([task for task, type_ in near if type_ == kind]))
            if lines:
                parts.append(_text(heading, "\n".join(lines)))
    rest = [pair for pair in (*around.dependencies, *around.dependents) if pair[1] not in told]
    for kind in sorted({kind for _, kind in rest}):
        lines = [_other(task, "↔") for task, type_ in rest if type_ == kind]
        parts.append(_text(kind.replace("-", " ").upper(), "\n".join(lines)))
    return parts


def _other(task: Task, arrow: str, *, named: bool = False) -> str:
    """A neighbour; `named` says of an epic that it is one."""
    kind = "(EPIC) " if named and task.issue_type == "epic" else ""
    return f"{arrow} {icon(task)} {task.id}: {kind}{task.title} P{task.priority}"


def _progress(children: Sequence[Task]) -> str:
    done = sum(child.status == "closed" for child in children)
    sign, behind = ("✓", " — eligible for close") if done == len(children) else ("◐", "")
    percent = 100 * done // len(children)
    return f"{sign} {done}/{len(children)} complete ({percent}%){behind}"


def _text(heading: str, text: str) -> str:
    return f"{heading}\n{_indented(text)}"


def _indented(text: str) -> str:
    return "\n".join(f"  {line}".rstrip() for line in text.rstrip("\n").split("\n"))


def _minute(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M}"


def children_text(task: Task, children: Neighbours) -> str:
    if not children:
        return f"{task.id}: No children found"
    lines = [f"  {_other(child, '↳')}" for child, _ in children]
    return "\n".join([f"↳ Children of {task.id} ({len(children)}):", *lines, ""])


def references_text(task: Task, references: Neighbours) -> str:
    if not references:
        return f"\n{task.id}: No references found"
    parts = [f"\n📎 References to {task.id}:\n"]
    for kind in sorted({kind for _, kind in references}):
        found = [other for other, type_ in references if type_ == kind]
        name = "conditionally blocks" if kind == "conditional-blocks" else kind.replace("-", " ")
        parts.append(f"  {_SIGNS.get(kind, '→')} {name.upper()} ({len(found)}):")
        parts += [
            f"    {other.id}: {other.title} [P{other.priority} - {other.status}]" for other in found
        ]
        parts.append("")
    return "\n".join(parts)
