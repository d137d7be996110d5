"""`fleet stop --all`: nothing of this home runs any more, and nothing begins until a person says.

The command goes by processes and files alone, so neither a hanging supervisor nor a dead queue is
in the way. Which tasks were stopped is kept, for `fleet resume --retry-stopped`.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime

from msgspec import Struct

from fleet.bd.actor import actor
from fleet.control import Control
from fleet.control.pause import pause
from fleet.control.tasks.kill_runs import Braked, brake
from fleet.control.tasks.retry import retry
from fleet.errors import FleetError
from fleet.files.json_record import JsonRecord
from fleet.home import Home, owner_file
from fleet.home.journal import Log
from fleet.processes import process_identity

#: The tasks that were stopped all at once and not tried again since.
FILE = "stopped.json"
_RECORD = JsonRecord(tuple[str, ...])


class StopAllEnd(Struct, frozen=True, kw_only=True):
    """What `fleet stop --all` reports."""

    runs: tuple[Braked, ...]
    #: Nothing of any run is left.
    gone: bool
    seconds: float
    #: No new run begins until `fleet resume`.
    paused: bool = True

    @property
    def words(self) -> str:
        """What the person is told."""
        if not self.runs:
            return "Nothing was running."
        gone = sum(run.gone for run in self.runs)
        names = ", ".join(run.task_id for run in self.runs)
        return f"Stopped {gone} of {len(self.runs)} runs in {self.seconds:.1f} s: {names}"


class Retried(Struct, frozen=True, kw_only=True):
    """What became of the tasks that had been stopped."""

    again: tuple[str, ...] = ()
    #: Why the others are not tried again, by task.
    not_yet: Mapping[str, str] = {}


def stop_all(home: Home, *, now: bool, env: Mapping[str, str] = os.environ) -> StopAllEnd:
    """Pause, then end every run of this home, all at the same time."""
    by = actor(env)
    if not home.path.is_dir():
        return _stop_without_home(home, by, now=now)
    pause(home)  # first, or else new ones begin as fast as these end
    owner = owner_file.read(home)
    runs = tuple(brake(home, owner, by=by, now=now)) if owner else ()
    end = StopAllEnd(
        runs=runs,
        gone=all(run.gone for run in runs),
        seconds=max((run.seconds for run in runs), default=0.0),
    )
    _remember(home, tuple(run.task_id for run in runs))
    how = "killed" if now else "stopped"
    text = f"{by} {how} every run ({len(runs)}) in {end.seconds:.2f} s and paused the rest"
    Log(home.logging, lambda: datetime.now(UTC)).say("stop_all", text, gone=end.gone)
    return end


def _stop_without_home(home: Home, by: str, *, now: bool) -> StopAllEnd:
    """End the runs of a home that was removed under them: by what their processes were started
    with. Nothing can be written down any more.
    """
    owners = sorted(process_identity.owners_below(home.path))
    runs = tuple(run for owner in owners for run in brake(home, owner, by=by, now=now))
    return StopAllEnd(
        runs=runs,
        gone=all(run.gone for run in runs),
        seconds=max((run.seconds for run in runs), default=0.0),
        paused=False,
    )


def stopped_tasks(home: Home) -> tuple[str, ...]:
    """The tasks that were stopped all at once, and wait to be tried again."""
    return _RECORD.read_or_none(home.path / FILE) or ()


def try_stopped(fleet: Control) -> Retried:
    """Try the stopped tasks again. A task that cannot be tried yet is kept for the next time."""
    again: list[str] = []
    not_yet: dict[str, str] = {}
    for task_id in stopped_tasks(fleet.home):
        try:
            task = fleet.get(task_id)
            if task.status == "closed":
                continue
            if task.status != "open":
                retry(fleet, task)
            again.append(task_id)
        except FleetError as error:
            not_yet[task_id] = error.message
    _write(fleet.home, tuple(not_yet))
    return Retried(again=tuple(again), not_yet=not_yet)


def _remember(home: Home, tasks: tuple[str, ...]) -> None:
    with suppress(OSError):  # a full disk: the tasks say so themselves once they are settled
        _write(home, tuple(dict.fromkeys((*stopped_tasks(home), *tasks))))


def _write(home: Home, tasks: tuple[str, ...]) -> None:
    if tasks:
        _RECORD.write(home.path / FILE, tasks)
    else:
        (home.path / FILE).unlink(missing_ok=True)
