"""Between rows and values, and what a settlement leaves in the row of its task. Pure.

The columns of `tasks` are the fields of Task, by name and in order.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from msgspec import structs

from fleet.queue.sql.database import SqlRow
from fleet.schemas import (
    NOT_WORK,
    Blocked,
    Closed,
    Lease,
    Released,
    Request,
    Settlement,
    Task,
    settings_in,
    typed,
)
from fleet.schemas.decision import plain_waits
from fleet.schemas.hosts.host import needs_of, repository_of
from fleet.schemas.task import IN_METADATA
from fleet.schemas.waits import Waits, note_of

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_WAITS = typed.decoder(Waits)

COLUMNS = tuple(name for name in Task.__struct_fields__ if name not in ("labels", *IN_METADATA))
_MOMENTS = (
    "created_at", "updated_at", "started_at", "closed_at", "due_at", "defer_until", "not_before",
    "lease_until", "heartbeat_at",
)  # fmt: skip

#: What is left of a settlement, but for the moments and the note.
_LEFT = (
    "fence", "status", "assignee", "close_reason", "not_before", "runs", "attempts", "last_host",
    "waits",
)  # fmt: skip

#: Columns that follow from a task's metadata, so that a claim need not read that.
_DERIVED = ("requires", "repository")
_WRITTEN = (*COLUMNS, *_DERIVED)

#: Parts of statements that name every column, or every type that is no work.
TASK_SQL: Mapping[str, str] = {
    "own_columns": ", ".join(_WRITTEN),
    "own_values": ", ".join(f":{name}" for name in _WRITTEN),
    "own_changes": ", ".join(f"{name} = :{name}" for name in _WRITTEN if name != "id"),
    "all_columns": ", ".join(f"tasks.{name}" for name in COLUMNS),
    # Of a list SQLite would make a table, each time that the statement runs.
    "is_work": " AND ".join(f"tasks.issue_type <> '{kind}'" for kind in NOT_WORK),
}


def to_micros(moment: datetime | None) -> int | None:
    return None if moment is None else (moment - _EPOCH) // _MICROSECOND


def from_micros(micros: int | None) -> datetime | None:
    return None if micros is None else moment(micros)


def moment(micros: int) -> datetime:
    return _EPOCH + micros * _MICROSECOND


def to_json(value: Mapping[str, Any]) -> str:
    return msgspec.json.encode(value).decode()


def to_columns(task: Task) -> dict[str, Any]:
    """The values of a task's own columns, by their names."""
    values: dict[str, Any] = {name: getattr(task, name) for name in COLUMNS}
    for name in _MOMENTS:
        values[name] = to_micros(values[name])
    settings = settings_in(task.metadata)
    return values | {
        "metadata": to_json(task.metadata),
        "extra": to_json(task.extra),
        "waits": waits_text(task.waits),
        "requires": "\n".join(needs_of(settings)),
        "repository": repository_of(settings),
    }


def waits_text(waits: Waits | None) -> str:
    """The column of why a task waits; empty: nothing is stored."""
    return "" if waits is None else msgspec.json.encode(waits).decode()


def waits_of(text: str) -> Waits | None:
    """What the column says; None also for a kind that only a later fleet knows."""
    if not text:
        return None
    try:
        return _WAITS.decode(text)
    except msgspec.ValidationError:
        return None


def task_of(row: SqlRow) -> Task:
    """The task that one row of `task_columns` tells of."""
    values: dict[str, Any] = dict(zip(COLUMNS, row, strict=False))
    for name in _MOMENTS:
        micros = values[name]
        if micros is not None:
            values[name] = _EPOCH + micros * _MICROSECOND
    for name in ("metadata", "extra"):
        values[name] = {} if values[name] == "{}" else msgspec.json.decode(values[name])
    values["waits"] = waits_of(values["waits"])
    if settings := settings_in(values["metadata"]):
        values |= {name: settings.get(name) for name in IN_METADATA}
    labels: str | None = row[len(COLUMNS)]
    if labels:
        # Sorted here, since each server sorts by its own language.
        values["labels"] = tuple(sorted(labels.split("\n")))
    return Task(**values)


def request_values(request: Request) -> dict[str, Any]:
    """The values of `insert_request`."""
    return {**structs.asdict(request), "asked_at": to_micros(request.asked_at)}


def request_of(row: SqlRow) -> Request:
    id_, task_id, wish, text, asked_by, asked_at = row
    return Request(
        id=id_, task_id=task_id, wish=wish, text=text, asked_by=asked_by, asked_at=moment(asked_at)
    )


def settled_row(lease: Lease, settlement: Settlement, at: datetime) -> dict[str, object]:
    """The values of the statement that ends a lease."""
    now = to_micros(at)
    values: dict[str, object] = {
        "id": lease.task.id,
        "owner": lease.owner,
        "fence": lease.fence,
        "now": now,
        "closed_at": None,
        "close_reason": "",
        "not_before": None,
        "assignee": "",
        "note": "",
        "new_line": "\n",
        "waits": "",
        # The lease's holder has counted: no other process may while it holds the lease.
        "runs": lease.task.runs,
        "attempts": lease.task.attempts,
        "last_host": lease.task.last_host,
    }
    match settlement:
        case Closed(reason=reason):
            values |= {
                "status": "closed",
                "closed_at": now,
                "close_reason": reason,
                "assignee": lease.owner,
            }
        case Released(note=note, not_before=not_before, waits=put_off):
            values |= {"status": "open", "note": note, "not_before": to_micros(not_before)}
            values |= {"waits": waits_text(put_off and plain_waits(put_off))}
        case Blocked(waits=given):
            waits = plain_waits(given)
            note = note_of(waits, lease.task.id)
            values |= {"status": "blocked", "note": note, "waits": waits_text(waits)}
    return values


def is_settled_so(task: Task, values: Mapping[str, object]) -> bool:
    """The task is as this settlement left it: no later claim, and no word of a person since."""
    now = to_columns(task)
    return task.lease_owner is None and all(now[name] == values[name] for name in _LEFT)
