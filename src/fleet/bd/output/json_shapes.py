"""The JSON shapes of bd: which fields, in which order, and which are left out when empty."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from fleet.queue.sql.tracker.related import Blocker, Tally
from fleet.schemas import CLAIM_LASTS, CUSTOM_STATUS, Comment, Dependency, Task

_NO_TIME = "0001-01-01T00:00:00Z"
#: The fields of bd's Issue that are a task's own, in bd's order, around those of its claim.
_BEFORE_CLAIM = (
    "id", "title", "description", "design", "acceptance_criteria", "notes", "spec_id", "status",
    "priority", "issue_type", "assignee", "owner", "estimated_minutes", "created_at", "created_by",
    "updated_at", "started_at", "closed_at", "close_reason",
)  # fmt: skip
_BEHIND_CLAIM = ("due_at", "defer_until", "external_ref", "metadata")
_ALWAYS = ("id", "title", "status", "priority", "issue_type", "created_at", "updated_at")
_LONG_TEXTS = ("description", "design", "acceptance_criteria", "notes")
#: The counts of a row, in bd's order.
COUNTS = ("dependency_count", "dependent_count", "comment_count")

Shape = dict[str, Any]


def when(moment: datetime) -> str:
    """RFC 3339 in UTC, without a fraction that says nothing."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def issue(task: Task) -> Shape:
    """Bd's Issue: empty fields are absent, never null; status and priority always stand."""
    fields: Shape = {name: getattr(task, name) for name in _BEFORE_CLAIM}
    fields |= _claim(task) | {name: getattr(task, name) for name in _BEHIND_CLAIM}
    kept = {name: value for name, value in fields.items() if value or name in _ALWAYS}
    if task.estimated_minutes == 0:
        kept["estimated_minutes"] = 0
    labels = {"labels": list(task.labels)} if task.labels else {}
    kept["status"] = task.shown_status
    extra = {name: value for name, value in task.extra.items() if name != CUSTOM_STATUS}
    return _printable(kept) | extra | labels


def _claim(task: Task) -> Shape:
    """The claim that is alive: a supervisor's lease, or a person's with the last sign of life."""
    fence = {"claim_fence": task.fence}
    expires = claim_expires(task)
    if expires is None:
        return fence
    return {"lease_expires_at": expires, "heartbeat_at": task.heartbeat_at, **fence}


def claim_expires(task: Task) -> datetime | None:
    if task.status != "in_progress" or task.heartbeat_at is None:
        return None
    return task.lease_until or task.heartbeat_at + CLAIM_LASTS


def _present(fields: Mapping[str, Any]) -> Shape:
    return _printable({name: value for name, value in fields.items() if value})


def _printable(fields: Mapping[str, Any]) -> Shape:
    return {
        name: when(value) if isinstance(value, datetime) else value
        for name, value in fields.items()
    }


def with_counts(task: Task, edges: Sequence[Dependency], tally: Tally) -> Shape:
    """A row of `list`, `ready` and `search`: the issue, raw edges, and three counts."""
    shape = issue(task)
    if edges:
        shape["dependencies"] = [dependency(edge) for edge in edges]
    counts = (tally.dependencies, tally.dependents, tally.comments)
    shape |= dict(zip(COUNTS, counts, strict=True))
    parent = parent_of(edges)
    return {**shape, "parent": parent} if parent else shape


def parent_of(edges: Sequence[Dependency]) -> str:
    return next((edge.depends_on_id for edge in edges if edge.type == "parent-child"), "")


def brief(shape: Shape) -> Shape:
    """A row without long texts."""
    return {name: value for name, value in shape.items() if name not in _LONG_TEXTS}


def neighbour(task: Task, kind: str) -> Shape:
    """A task at the other end of an edge."""
    return {**issue(task), "dependency_type": kind}


def bare_neighbour(task: Task, kind: str) -> Shape:
    """A task at the other end of an edge, by identity only."""
    return {
        "id": task.id,
        "title": task.title,
        "status": task.shown_status,
        "priority": task.priority,
        "issue_type": task.issue_type,
        "created_at": _NO_TIME,
        "updated_at": _NO_TIME,
        "dependency_type": kind,
    }


def waiting(task: Task, blockers: Sequence[Blocker]) -> Shape:
    """A row of `blocked`."""
    ids = [blocker.id for blocker in blockers]
    return {**issue(task), "blocked_by_count": len(ids), "blocked_by": ids}


def revision(task: Task) -> str:
    """A number that is another one after every change of the task's own fields and labels."""
    import hashlib

    digest = hashlib.sha256(msgspec.json.encode(issue(task))).digest()
    return str(int.from_bytes(digest[:8], signed=True))


def comment(of: Comment) -> Shape:
    return {
        "id": of.id,
        "issue_id": of.task_id,
        "author": of.author,
        "text": of.text,
        "created_at": when(of.created_at),
    }


def dependency(edge: Dependency) -> Shape:
    """A raw edge, for `list` and `export`."""
    shape: Shape = {
        "issue_id": edge.task_id,
        "depends_on_id": edge.depends_on_id,
        "type": edge.type,
        "created_at": when(edge.created_at),
    }
    return shape | _present(
        {"created_by": edge.created_by, "metadata": edge.metadata, "thread_id": edge.thread_id}
    )
