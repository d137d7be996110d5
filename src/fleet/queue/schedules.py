"""Schedules: lines of cron that create tasks, kept with the queue in one table."""

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cached_property
from typing import Any

import msgspec
from msgspec import Struct, structs

from fleet.queue.sql import named_sql
from fleet.queue.sql.database import SqlRow
from fleet.queue.sql.row_mapping import to_micros
from fleet.schemas import typed

_ISOLATION, _WORK_IN = "--isolation", "--work-in"
#: What `--isolation` named, as `--work-in` names it.
_PLACES = {"none": "directory"}


class Schedule(Struct, frozen=True, kw_only=True):
    """A task that is created again and again."""

    name: str
    #: Five fields of cron, and the zone that they are read in.
    cron: str
    zone: str
    #: Where the task is created, and what follows `bd create`.
    cwd: str
    args: tuple[str, ...]
    #: The home whose supervisor creates the tasks: it is the one that has the directory.
    owner: str
    made_by: str
    made_at: datetime
    #: When the next task is to be created.
    due: datetime
    #: The task that was created last, and what kept the last one from being created.
    last_task: str = ""
    problem: str = ""

    def __post_init__(self) -> None:
        structs.force_setattr(self, "args", _in_todays_words(self.args))

    def task_id(self, prefix: str) -> str:
        """The id of the task that is due now: whatever is killed, a second one is refused."""
        from hashlib import (
            sha256,  # every command reads this module, and few make a schedule's task
        )

        words = f"{self.name}\0{self.made_at.isoformat()}\0{self.due.isoformat()}"
        return f"{prefix}-{sha256(words.encode()).hexdigest()[:8]}"


def _in_todays_words(args: tuple[str, ...]) -> tuple[str, ...]:
    """The words of a line that an earlier fleet recorded: `--isolation` is `--work-in` today."""
    if not any(word.startswith(_ISOLATION) for word in args):
        return args
    words: list[str] = []
    for word in args:
        flag, equals, value = word.partition("=")
        if flag == _ISOLATION:
            words.append(f"{_WORK_IN}={_PLACES.get(value, value)}" if equals else _WORK_IN)
        else:
            words.append(_PLACES.get(word, word) if words[-1:] == [_WORK_IN] else word)
    return tuple(words)


class ScheduleTable:
    """The schedules of one queue. `rows` runs one statement of the queue's database."""

    def __init__(self, rows: Callable[[str, Mapping[str, Any]], list[SqlRow]]) -> None:
        self._rows = rows

    @cached_property
    def _sql(self) -> Mapping[str, str]:
        return named_sql.load("schedules.sql")

    def all(self) -> list[Schedule]:
        """Every schedule, by name."""
        rows = self._rows(self._sql["schedules"], {})
        return [typed.decode(record, Schedule) for (record,) in rows]

    def add(self, schedule: Schedule) -> bool:
        """Keep a new schedule. False: there is one of that name."""
        return bool(self._rows(self._sql["add_schedule"], _values(schedule)))

    def move(self, schedule: Schedule, before: datetime) -> bool:
        """Put a schedule in the place of the one that was due at `before`. False: that one has
        gone on, or is gone.
        """
        values = {**_values(schedule), "before": to_micros(before)}
        return bool(self._rows(self._sql["move_schedule"], values))

    def remove(self, name: str) -> bool:
        """Forget a schedule. False: there is none of that name."""
        return bool(self._rows(self._sql["remove_schedule"], {"name": name}))


def _values(schedule: Schedule) -> dict[str, Any]:
    return {
        "name": schedule.name,
        "due": to_micros(schedule.due),
        "record": msgspec.json.encode(schedule).decode(),
    }
