"""What is left undone: runs without an end, processes, clones of closed tasks, held coders, untold
messages.

Processes are found by the mark of their run, as the supervisor finds them, never by name.
"""

import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from fleet.accounts.account_state import held_logins
from fleet.accounts.account_store import open_accounts
from fleet.config import KEYS
from fleet.control import Control
from fleet.control.notify.notify_status import untold
from fleet.doctor.check_result import CheckResult, Installation
from fleet.errors import FleetError, InvalidTask
from fleet.git.clone.clone_place import clones_in, measure
from fleet.git.clone.task_work import KEPT_FOR
from fleet.home import Home, owner_file
from fleet.processes import process_identity
from fleet.processes.supervisor_lock import supervisor_of
from fleet.runs.outcome_history import FILE as OUTCOME
from fleet.runs.run_directory import Run, latest_run
from fleet.runs.run_id import RunId
from fleet.schemas.shown_text import some
from fleet.schemas.units import shown_size

#: How many are named; the others are counted.
_NAMED = 5
#: Seconds that may pass between the making of a run's directory and the start of its keeper.
_STARTING = 60.0


def held(installation: Installation) -> Iterator[CheckResult]:
    states = open_accounts(installation.home.path).states
    for each in held_logins(states, datetime.now(UTC)):
        text = f"{each.name} gets no work since {each.since.astimezone():%F %H:%M}: {each.why}"
        yield CheckResult("held", "warning", text, f"Mend it, then: {each.way_on}")


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


def clones(installation: Installation) -> Iterator[CheckResult]:
    """Clones of tasks that were closed long ago, or are not in the queue; and all by their size."""
    home, config = installation.home, installation.config
    names = clones_in(home)
    if not names or config is None:
        return
    sizes = {name: measure(home.worktrees / name) for name in names}
    used, room = sum(sizes.values()), KEYS["workspace_limit"].read(config.workspace_limit)
    what = f"{len(names)} take {shown_size(used)} of {shown_size(room)} (workspace_limit)"
    largest = max(names, key=lambda name: sizes[name])
    what += f", most of it {largest}: {shown_size(sizes[largest])}"
    if used >= room:
        fix = "No new one is made: close tasks, or: fleet config set workspace_limit=…"
        yield CheckResult("clones", "warning", what, fix)
    else:
        yield CheckResult("clones", "ok", what)
    done = _done_clones(installation, names)
    if done:
        listed = [f"{name} ({why}, {shown_size(sizes[name])})" for name, why in done.items()]
        what = f"{len(done)} left of {len(names)}: {some(listed, _NAMED)}"
        first = next(iter(done))
        fix = (
            f"fleet log says why a clone stays. Check that its work is on the branch fleet/{first},"
            f" then: rm -r {home.worktrees / first}"
        )
        yield CheckResult("clones", "warning", what, fix)


def _done_clones(installation: Installation, names: list[str]) -> Mapping[str, str]:
    """The tasks that are over and still have a clone, each with the reason."""
    from fleet.queue.protocol import Filter

    assert installation.config is not None
    fleet = Control(installation.home, installation.config)
    try:
        found = fleet.queue.find(Filter(ids=tuple(names), include_closed=True))
    finally:
        fleet.close()
    tasks = {task.id: task for task in found}
    done: dict[str, str] = {}
    for name in names:
        task = tasks.get(name)
        if task is None:
            done[name] = "no such task"
        elif task.status == "closed":
            closed = task.closed_at or task.updated_at
            if installation.now - closed > KEPT_FOR:
                done[name] = f"closed {closed.astimezone():%F}"
    return done


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
