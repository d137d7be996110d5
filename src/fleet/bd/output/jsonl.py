"""Bd's JSON lines: one task or memory a line, read with care and written whole. Pure."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, cast

import msgspec
from msgspec import Struct, field

from fleet.bd.output import json_shapes
from fleet.errors import BadInput, FleetError
from fleet.queue.sql.sql_queue import TITLE_LIMIT
from fleet.queue.sql.tracker.import_export import Incoming, Memory, Outgoing
from fleet.schemas import STATUSES, Comment, Dependency, Task, check_id

#: What bd works out anew whenever it is asked: not part of a task.
_COMPUTED = frozenset(
    (
        "_type", "schema_version", "revision", "parent", "dependency_count", "dependent_count",
        "comment_count", "comments_omitted", "lease_expires_at", "lease_granted_node",
        "claim_fence", "dependents", "epic_total_children", "epic_closed_children",
        "epic_closeable", "wisp",
    )
)  # fmt: skip


class _Edge(Struct):
    depends_on_id: str
    issue_id: str = ""
    type: str = "blocks"
    created_at: datetime | None = None
    created_by: str = ""
    metadata: str = "{}"
    thread_id: str = ""


class _Comment(Struct):
    text: str
    author: str = ""
    id: str | int = ""
    created_at: datetime | None = None


class _Issue(Struct):
    """The fields that fleet uses. A missing priority is 0, as bd reads it."""

    title: str = ""
    id: str = ""
    description: str = ""
    design: str = ""
    acceptance_criteria: str = ""
    notes: str = ""
    spec_id: str = ""
    status: str = "open"
    priority: int = 0
    issue_type: str = "task"
    assignee: str = ""
    owner: str = ""
    estimated_minutes: int | None = None
    created_at: datetime | None = None
    created_by: str = ""
    updated_at: datetime | None = None
    started_at: datetime | None = None
    closed_at: datetime | None = None
    close_reason: str = ""
    due_at: datetime | None = None
    defer_until: datetime | None = None
    heartbeat_at: datetime | None = None
    external_ref: str | None = None
    metadata: Any = None
    labels: list[str] = field(default_factory=list[str])
    dependencies: list[_Edge] = field(default_factory=list[_Edge])
    comments: list[_Comment] = field(default_factory=list[_Comment])


def read_lines(lines: Iterator[bytes], now: datetime) -> Iterator[Incoming | Memory]:
    """The rows of a file as they come. A line that cannot be one is refused by its number."""
    for number, raw in enumerate(lines, start=1):
        line = raw.strip()
        if not line:
            continue
        try:
            row = _read(line, now)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise BadInput(f"failed to parse JSONL line {number}: {error}") from None
        except FleetError as error:
            raise BadInput(f"import failed: line {number}: {error.message}") from None
        if row is not None:
            yield row


def _read(line: bytes, now: datetime) -> Incoming | Memory | None:
    body = msgspec.json.decode(line, type=dict[str, Any])
    _refuse_zero_bytes(body)
    if "_schema" in body or body.get("status") == "tombstone":
        return None  # the head of an old file; a mark of something deleted
    if body.get("_type") == "memory":
        memory = msgspec.convert(body, Memory)
        return memory if memory.key and memory.value else None
    given = {name: value for name, value in body.items() if value is not None}
    row = msgspec.convert(given, _Issue)
    known = frozenset(_Issue.__struct_fields__) | _COMPUTED
    extra = {name: value for name, value in given.items() if name not in known}
    if given.get("wisp"):
        extra["ephemeral"] = True
    return _incoming(row, extra, now)


def _refuse_zero_bytes(value: Any) -> None:
    """Not every queue can hold them, and no text needs them."""
    todo = [value]
    while todo:
        one = todo.pop()
        if isinstance(one, str) and "\0" in one:
            raise BadInput("there is a zero byte in a text")
        if isinstance(one, dict):
            todo += [*one.keys(), *one.values()]
        elif isinstance(one, list):
            todo += one


def _incoming(row: _Issue, extra: dict[str, Any], now: datetime) -> Incoming:
    _check(row)
    metadata: dict[str, Any] = {}
    if isinstance(row.metadata, dict):
        metadata = cast("dict[str, Any]", row.metadata)
    elif row.metadata is not None:
        extra = {**extra, "metadata": row.metadata}  # kept as it is, and given back as it is
    created = _utc(row.created_at) or now
    closed = (_utc(row.closed_at) or now) if row.status == "closed" else None
    task = Task(
        id=row.id,
        title=row.title,
        status=row.status,  # pyright: ignore[reportArgumentType] - checked above
        priority=row.priority,
        issue_type=row.issue_type,
        created_at=created,
        updated_at=_utc(row.updated_at) or now,
        description=row.description,
        design=row.design,
        acceptance_criteria=row.acceptance_criteria,
        notes=row.notes,
        spec_id=row.spec_id,
        assignee=row.assignee,
        owner=row.owner,
        created_by=row.created_by,
        estimated_minutes=row.estimated_minutes,
        started_at=_utc(row.started_at),
        closed_at=closed,
        close_reason=row.close_reason,
        due_at=_utc(row.due_at),
        defer_until=_utc(row.defer_until),
        heartbeat_at=_utc(row.heartbeat_at) if row.status == "in_progress" else None,
        external_ref=row.external_ref,
        metadata=metadata,
        extra=extra,
        labels=tuple(sorted({label for label in row.labels if label.strip()})),
    )
    return Incoming(
        task=task,
        edges=[_edge(edge, now) for edge in row.dependencies],
        comments=[_comment(comment, task, now) for comment in row.comments],
    )


def _check(row: _Issue) -> None:
    """What cannot be a task, in bd's words."""
    said = ""
    if not row.title.strip():
        said = "title is required"
    elif len(row.title) > TITLE_LIMIT:
        said = f"title must be {TITLE_LIMIT} characters or less (got {len(row.title)})"
    elif row.priority not in range(5):
        said = f"priority must be between 0 and 4 (got {row.priority})"
    elif row.status not in STATUSES:
        said = f"invalid status: {row.status}"
    elif not row.issue_type:
        said = "invalid issue type: "
    elif any("\n" in label for label in row.labels):
        said = "a label cannot hold a line break"
    if said:
        raise BadInput(f"validation failed for issue {row.id}: {said}")
    if row.id:
        check_id(row.id)


def _edge(row: _Edge, now: datetime) -> Dependency:
    kind = row.type or "blocks"
    if len(kind) > 32:
        raise BadInput(f'invalid dependency type "{kind}" (must be non-empty, max 32 chars)')
    return Dependency(
        task_id=row.issue_id,
        depends_on_id=row.depends_on_id,
        type=kind,
        created_at=_utc(row.created_at) or now,
        created_by=row.created_by,
        metadata=row.metadata or "{}",
        thread_id=row.thread_id,
    )


def _comment(row: _Comment, task: Task, now: datetime) -> Comment:
    return Comment(
        id=str(row.id),
        task_id=task.id,
        author=row.author,
        text=row.text,
        created_at=_utc(row.created_at) or now,
    )


def _utc(moment: datetime | None) -> datetime | None:
    """Bd writes UTC. A moment without a zone is taken as that."""
    if moment is None:
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def issue_line(row: Outgoing) -> bytes:
    body: dict[str, Any] = {"_type": "issue", **json_shapes.issue(row.task)}
    body.pop("claim_fence", None)  # it counts the claims of this queue, and means nothing elsewhere
    if row.edges:
        body["dependencies"] = [json_shapes.dependency(edge) for edge in row.edges]
    if row.comments:
        body["comments"] = [json_shapes.comment(comment) for comment in row.comments]
    body |= {
        "dependency_count": row.tally.dependencies,
        "dependent_count": row.tally.dependents,
        "comment_count": row.tally.comments,
    }
    return msgspec.json.encode(body)


def memory_line(key: str, value: str) -> bytes:
    return msgspec.json.encode({"_type": "memory", "key": key, "value": value})
