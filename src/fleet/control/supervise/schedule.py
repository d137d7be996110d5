"""`fleet schedule`: lines of cron that create tasks."""

import os
import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from fleet.control import Control
from fleet.errors import BadInput, NotFound, Refused
from fleet.home import owner_file
from fleet.processes.bd_create import bd_create
from fleet.queue import doorbell
from fleet.queue.cron_line import check_cron, next_due
from fleet.queue.schedules import Schedule

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_HINT = 'As in: fleet schedule add "0 3 * * *" -- bd create "Update the dependencies"'
#: Flags that a task of a schedule cannot have: each task has an id of its own.
_TAKEN = ("--id", "--file", "--graph", "--dry-run", "-f")


def schedules(fleet: Control) -> list[Schedule]:
    """All schedules of the queue, those of other homes too."""
    return fleet.queue.schedules.all()


def add_schedule(
    fleet: Control,
    line: str,
    words: Sequence[str],
    *,
    name: str,
    zone: str,
    cwd: str,
    now: datetime,
) -> Schedule:
    """Keep a schedule, once the line can be read and the task could be created."""
    cron, args = check_cron(line, zone), _create_args(words)
    if not _NAME.fullmatch(name):
        hint = "Letters, digits, dots and dashes, 64 at most."
        raise BadInput(f"{name!r} cannot be the name of a schedule", hint=hint)
    end = bd_create(fleet.home.path, cwd, ("--dry-run", *args))
    if end.problem:
        raise BadInput(f"its task could not be created: {end.problem}", hint=_HINT)
    schedule = Schedule(
        name=name, cron=cron, zone=zone, cwd=cwd, args=args, due=next_due(cron, zone, now),
        owner=owner_file.read_or_make(fleet.home), made_by=fleet.by, made_at=now,
    )  # fmt: skip
    if not fleet.queue.schedules.add(schedule):
        raise Refused(
            f"there is a schedule {name!r} already",
            hint=f"Give another --name, or remove it first: fleet schedule remove {name}",
        )
    doorbell.ring(fleet.home.path)
    return schedule


def remove_schedule(fleet: Control, name: str) -> None:
    """Forget a schedule. The tasks that it created stay."""
    if not fleet.queue.schedules.remove(name):
        raise _unknown(name)
    doorbell.ring(fleet.home.path)


def run_schedule(fleet: Control, name: str) -> None:
    """Create the schedule's task now, besides the set moments."""
    schedule = next((each for each in schedules(fleet) if each.name == name), None)
    if schedule is None:
        raise _unknown(name)
    end = bd_create(fleet.home.path, schedule.cwd, schedule.args, by=f"schedule {name}")
    if end.problem:
        raise BadInput(f"schedule {name} created no task: {end.problem}")


def local_zone() -> str:
    """The time zone of this machine by name; UTC where none is set."""
    if named := os.environ.get("TZ", "").lstrip(":"):
        return named
    _, found, zone = str(Path("/etc/localtime").resolve()).partition("zoneinfo/")
    return zone if found else "UTC"


def name_for(words: Sequence[str], taken: Sequence[str]) -> str:
    """A name out of the task's title, that no schedule has."""
    title = next((word for word in words[2:] if not word.startswith("-")), "") or "task"
    plain = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:32].strip("-") or "task"
    names = (plain, *(f"{plain}-{number}" for number in range(2, 1000)))
    return next(name for name in names if name not in taken)


def _create_args(words: Sequence[str]) -> tuple[str, ...]:
    given = list(words[1:] if words[:1] == ("fleet",) else words)
    if given[:2] not in (["bd", "create"], ["bd", "new"]) or not given[2:]:
        raise BadInput("a schedule creates tasks: give it a `bd create` with a title", hint=_HINT)
    for word in given[2:]:
        if word.partition("=")[0] in _TAKEN:
            raise BadInput(
                f"a schedule cannot have {word}", hint="A schedule creates one task a time."
            )
    return tuple(given[2:])


def _unknown(name: str) -> NotFound:
    return NotFound(f"there is no schedule {name!r}", hint="See them: fleet schedule list")
