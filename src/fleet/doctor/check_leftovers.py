"""What is left undone: runs without an end, processes, held coders, untold messages.

Processes are found by the mark of their run, as the supervisor finds them, never by name.
"""

import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from fleet.accounts.breaker_store import Breaker
from fleet.control.notify.notify_status import untold
from fleet.doctor.check_result import CheckResult, Installation
from fleet.errors import FleetError, InvalidTask
from fleet.home import Home, owner_file
from fleet.processes import process_identity
from fleet.processes.supervisor_lock import supervisor_of
from fleet.runs.outcome_history import FILE as OUTCOME
from fleet.runs.run_directory import Run, latest_run
from fleet.runs.run_id import RunId
from fleet.schemas.shown_text import some

#: How many are named; the others are counted.
_NAMED = 5
#: Seconds that may pass between the making of a run's directory and the start of its keeper.
_STARTING = 60.0


def held(installation: Installation) -> Iterator[CheckResult]:
    for each in Breaker(installation.home.path).held():
        text = f"{each.name} gets no work since {each.since.astimezone():%F %H:%M}: {each.text}"
        yield CheckResult(
            "held", "warning", text, f"Mend it, then: fleet resume --coder {each.coder}"
        )


def channels(installation: Installation) -> Iterator[CheckResult]:
    """Ways to people that do not take what is to be told."""
    if installation.config is not None and installation.config.notify.is_on:
        for text in untold(installation.home):
            yield CheckResult("notify", "warning", text, "Try each way: fleet notify test")


def stale_runs(installation: Installation) -> Iterator[CheckResult]:
    """Runs without an end whose keeper is dead, by a power cut or a kill."""
    stale = [
        run
        for task_dir in _task_dirs(installation.home)
        if (run := _latest(task_dir)) and _stale(run, installation.now)
    ]
    if not stale:
        return
    names = some([f"{run.task_id} run {run.number}" for run in stale], _NAMED)
    if supervisor_of(installation.home):
        fix = "The supervisor settles them when it looks at their tasks; see: fleet log"
    else:
        fix = "They are settled when a supervisor starts: fleet run"
    what = f"{len(stale)} without an end, and their keepers are dead: {names}"
    yield CheckResult("runs", "warning", what, fix)


def orphans(installation: Installation) -> Iterator[CheckResult]:
    """Processes with the mark of a run of this home that is over."""
    owner = owner_file.read(installation.home)
    if not owner:
        return
    found = {
        run_id: rows
        for mark, rows in process_identity.bearers(f"{owner}.").items()
        if (run_id := RunId.parse(mark)) and not _lives(installation.home, run_id)
    }
    if not found:
        return
    pids = sorted(row.who.pid for rows in found.values() for row in rows)
    tasks = some(sorted({run_id.task for run_id in found}), _NAMED)
    what = (
        f"{len(pids)} processes of runs that are over ({tasks}): {some([*map(str, pids)], _NAMED)}"
    )
    fix = "A supervisor ends them when it starts: fleet restart, or fleet run"
    yield CheckResult("orphans", "warning", what, fix)


def _task_dirs(home: Home) -> Iterator[Path]:
    try:
        names = os.listdir(home.tasks)  # noqa: PTH208
    except OSError:
        return
    yield from (home.tasks / name for name in sorted(names))


def _latest(task_dir: Path) -> Run | None:
    try:
        return latest_run(task_dir)
    except OSError:
        return None


def _stale(run: Run, now: datetime) -> bool:
    if (run.path / OUTCOME).exists() or (run.path / "exit.json").exists() or run.fenced():
        return False
    try:
        started = run.started()
        if started is not None:
            return not process_identity.alive(started.keeper)
        # The run may be about to start. Its lock is not tried: the supervisor that starts the
        # run would find the lock taken.
        prepared = run.path.stat().st_mtime
        return now.timestamp() - prepared > _STARTING and not process_identity.may_be_locked(
            run.lock
        )
    except (FleetError, OSError):
        return False  # damaged: fleet tasks shows the task as invalid


def _lives(home: Home, run_id: RunId) -> bool:
    try:
        run = latest_run(home.task(run_id.task))
        if run is None or run.spec().id != str(run_id):
            return False
        started = run.started()
        return started is None or process_identity.alive(started.keeper)
    except (InvalidTask, FleetError, OSError):
        return False
