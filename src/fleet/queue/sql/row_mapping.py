"""Between rows and values: the order of `task_columns`, and moments as microseconds."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from msgspec import structs

from fleet.queue.sql.database import Row
from fleet.schemas import Task

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def to_micros(moment: datetime | None) -> int | None:
    return None if moment is None else (moment - _EPOCH) // _MICROSECOND


def from_micros(micros: int | None) -> datetime | None:
    return None if micros is None else _EPOCH + timedelta(microseconds=micros)


def moment(micros: int) -> datetime:
    return _EPOCH + timedelta(microseconds=micros)


def to_json(value: Mapping[str, Any]) -> str:
    return msgspec.json.encode(value).decode()


def to_columns(task: Task) -> dict[str, Any]:
    """The values of a task's own columns, by their names."""
    values: dict[str, Any] = {
        name: to_micros(value) if isinstance(value, datetime) else value
        for name, value in structs.asdict(task).items()
        if name not in ("labels", "cwd", "coder", "model")
    }
    return values | {"metadata": to_json(task.metadata), "extra": to_json(task.extra)}


def task_of(row: Row) -> Task:
    """The task that one row of `task_columns` tells of."""
    metadata: dict[str, Any] = {} if row[23] == "{}" else msgspec.json.decode(row[23])
    own = metadata.get("fleet")
    settings: dict[str, Any] = own if isinstance(own, dict) else {}  # pyright: ignore[reportUnknownVariableType]
    return Task(
        id=row[0],
        title=row[1],
        status=row[2],
        priority=row[3],
        issue_type=row[4],
        created_at=moment(row[5]),
        updated_at=moment(row[6]),
        description=row[7],
        design=row[8],
        acceptance_criteria=row[9],
        notes=row[10],
        spec_id=row[11],
        assignee=row[12],
        owner=row[13],
        created_by=row[14],
        estimated_minutes=row[15],
        started_at=from_micros(row[16]),
        closed_at=from_micros(row[17]),
        close_reason=row[18],
        due_at=from_micros(row[19]),
        defer_until=from_micros(row[20]),
        not_before=from_micros(row[21]),
        external_ref=row[22],
        metadata=metadata,
        extra={} if row[24] == "{}" else msgspec.json.decode(row[24]),
        fence=row[25],
        lease_owner=row[26],
        lease_until=from_micros(row[27]),
        heartbeat_at=from_micros(row[28]),
        # Sorted here, since each server sorts by its own language.
        labels=tuple(sorted(row[29].split("\n"))) if row[29] else (),
        cwd=settings.get("cwd"),
        coder=settings.get("coder"),
        model=settings.get("model"),
    )
