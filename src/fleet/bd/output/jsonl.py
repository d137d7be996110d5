"""Bd's JSON lines: one task or memory a line, read with care and written whole. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec
from msgspec.structs import replace

from fleet.bd.arguments.natural_time import in_utc
from fleet.bd.output import json_shapes
from fleet.errors import BadInput, FleetError
from fleet.queue.sql.sql_queue import TITLE_LIMIT
from fleet.queue.sql.tracker.import_export import Incoming, Memory
from fleet.schemas import (
    CUSTOM_STATUS,
    STATUSES,
    Comment,
    Dependency,
    Status,
    Task,
    check_id,
    typed,
)
from fleet.schemas.task import IN_METADATA

_MOMENTS = (
    "created_at", "updated_at", "started_at", "closed_at", "due_at", "defer_until",
    "heartbeat_at",
)  # fmt: skip
#: The fields of a task that only this queue, or fleet, knows.
_OWN = ("extra", "fence", "lease_owner", "lease_until", "not_before", *IN_METADATA)
_FIELDS = frozenset(Task.__struct_fields__) - frozenset(_OWN)
#: What belongs to a task without being a field of it, and what bd works out anew when asked.
_BESIDE = frozenset(
    (
        "dependencies", "comments", "_type", "schema_version", "revision", "parent",
        "dependency_count", "dependent_count", "comment_count", "comments_omitted",
        "lease_expires_at", "lease_granted_node", "claim_fence", "dependents",
        "epic_total_children", "epic_closed_children", "epic_closeable", "wisp",
    )
)  # fmt: skip


def read_lines(
    lines: Iterator[bytes], now: datetime, custom: Mapping[str, Status]
) -> Iterator[Incoming | Memory]:
    """The rows of a file as they come. A line that cannot be one is refused by its number.

    `custom` are the statuses that `status.custom` adds, with those of tasks' rows.
    """
    for number, raw in enumerate(lines, start=1):
        line = raw.strip()
        if not line:
            continue
        try:
            row = _read(line, now, custom)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise BadInput(f"failed to parse JSONL line {number}: {error}") from None
        except FleetError as error:
            raise BadInput(f"import failed: line {number}: {error.message}") from None
        if row is not None:
            yield row


def _read(line: bytes, now: datetime, custom: Mapping[str, Status]) -> Incoming | Memory | None:
    body = typed.decode(line, dict[str, Any])
    _refuse_zero_bytes(body)
    if "_schema" in body or body.get("status") == "tombstone":
        return None  # the head of an old file; a mark of something deleted
    if body.get("_type") == "memory":
        memory = typed.convert(body, Memory)
        return memory if memory.key and memory.value else None
    given = _without_nulls(body)
    extra = {k: v for k, v in given.items() if k not in _FIELDS and k not in _BESIDE}
    if given.get("wisp"):
        extra["ephemeral"] = True
    status = str(given.get("status", ""))
    if status in custom:
        given["status"], extra[CUSTOM_STATUS] = custom[status], status
    if not isinstance(given.get("metadata", {}), dict):
        extra["metadata"] = given.pop("metadata")  # kept as it is, and given back as it is
    task = _task({k: v for k, v in given.items() if k in _FIELDS}, extra, now)
    rows = typed.convert(
        {name: given.get(name, []) for name in ("dependencies", "comments")},
        dict[str, list[dict[str, Any]]],
    )
    return Incoming(
        task=task,
        edges=[_edge(row, now) for row in rows["dependencies"]],
        comments=[_comment(row, task.id, now) for row in rows["comments"]],
    )


def _without_nulls(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None}


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


def _task(fields: dict[str, Any], extra: dict[str, Any], now: datetime) -> Task:
    """The task of a line. A missing priority is 0, as bd reads it."""
    if fields.get("status", "open") not in STATUSES:
        raise BadInput(f"invalid status: {fields['status']}")
    made = {"id": "", "title": "", "priority": 0, "created_at": now, "updated_at": now}
    task = typed.convert({**made, **fields}, Task)
    _check(task)
    moments = {name: in_utc(getattr(task, name)) for name in _MOMENTS}
    if task.status == "closed":
        moments["closed_at"] = moments["closed_at"] or now
    else:
        moments["closed_at"] = None
    if task.status != "in_progress":
        moments["heartbeat_at"] = None
    labels = tuple(sorted({label for label in task.labels if label.strip()}))
    return replace(task, extra=extra, labels=labels, **moments)


def _check(task: Task) -> None:
    """Refuse what cannot be a task."""
    why = ""
    if not task.title.strip():
        why = "title is required"
    elif len(task.title) > TITLE_LIMIT:
        why = f"title must be {TITLE_LIMIT} characters or less (got {len(task.title)})"
    elif task.priority not in range(5):
        why = f"priority must be between 0 and 4 (got {task.priority})"
    elif not task.issue_type:
        why = "invalid issue type: "
    elif any("\n" in label for label in task.labels):
        why = "a label cannot hold a line break"
    if why:
        raise BadInput(f"validation failed for issue {task.id}: {why}")
    if task.id:
        check_id(task.id)


def _edge(row: dict[str, Any], now: datetime) -> Dependency:
    given = {"created_at": now, **_without_nulls(row)}
    kind = given.get("type") or "blocks"
    if len(str(kind)) > 32:
        raise BadInput(f'invalid dependency type "{kind}" (must be non-empty, max 32 chars)')
    ends = {"task_id": given.get("issue_id", ""), "type": kind}
    edge = typed.convert({**given, **ends, "metadata": given.get("metadata") or "{}"}, Dependency)
    return replace(edge, created_at=in_utc(edge.created_at))


def _comment(row: dict[str, Any], task_id: str, now: datetime) -> Comment:
    given = {"author": "", "created_at": now, **_without_nulls(row)}
    named = {"id": str(given.get("id", "")), "task_id": task_id}
    comment = typed.convert({**given, **named}, Comment)
    return replace(comment, created_at=in_utc(comment.created_at))


def issue_line(row: json_shapes.Shape, comments: Sequence[Comment]) -> bytes:
    """A row of `list` as a line, with what was said about the task."""
    body: dict[str, Any] = {"_type": "issue", **row}
    body.pop("claim_fence", None)  # counts the claims of this queue, and means nothing elsewhere
    body.pop("parent", None)  # is one of the edges
    if comments:  # in front of the counts, as in bd's own files
        counts = {name: body.pop(name) for name in json_shapes.COUNTS}
        body |= {"comments": [json_shapes.comment(each) for each in comments], **counts}
    return msgspec.json.encode(body)


def memory_line(key: str, value: str) -> bytes:
    return msgspec.json.encode({"_type": "memory", "key": key, "value": value})
