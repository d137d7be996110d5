"""`fleet stop ID`: end one task's run for certain, with or without the supervisor.

The supervisor is asked first. If there is none, or it does not act, or the run has to end at once,
the run itself is stopped, and its end is written as the supervisor would write it. The next
supervisor settles the task by that.
"""

import os
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from msgspec import Struct

from fleet.bd.actor import actor
from fleet.control import Control
from fleet.control.tasks.in_progress import is_of_lease
from fleet.control.tasks.kill_runs import brake
from fleet.control.tasks.retry import lives, way_on
from fleet.errors import InvalidTask, QueueError, Refused
from fleet.evidence.inspect_run import inspect_run
from fleet.evidence.verify_place import InspectedRun
from fleet.files.inotify import DirectoryWatch
from fleet.home import Home, owner_file
from fleet.processes import keeper_client
from fleet.processes.keeper_client import Ended, NeverStarted, Vanished, stop_run
from fleet.processes.supervisor_lock import supervisor_of
from fleet.queue import PREFIX
from fleet.runs import agent_claim, stop_reason
from fleet.runs.outcome_history import believed_ending, read_ending
from fleet.runs.run_directory import Run, latest_run
from fleet.schemas import Status, Stopped, Task
from fleet.schemas.shown_text import one_line
from fleet.settlement.end_run import due_inspection, end_of, note_end, outcome_of
from fleet.settlement.run_record import ExitedRun, ProcessEnd, RunRecord
from fleet.spending.day_ledger import DayLedger
from fleet.spending.prices import Prices
from fleet.spool.answer_request import record_last_words

#: What a stop may take beyond the grace that the run was given.
MARGIN = 5.0
#: Seconds between two looks at the queue once a run has ended.
_ASK_AGAIN = 0.05


class StopEnd(Struct, frozen=True, kw_only=True):
    """What `fleet stop` reports."""

    task_id: str
    #: The run is over. False: the run could not be killed, or is on another machine.
    ended: bool
    #: What became of the run, in a sentence; empty if that is not decided yet.
    why: str = ""
    #: The task's status now.
    status: Status = "in_progress"
    #: The queue knows; otherwise a supervisor still has to tell the queue.
    settled: bool = False

    @property
    def words(self) -> str:
        """What the person is told."""
        if not self.ended:
            return f"{self.task_id} was told to stop and has not ended yet."
        return f"Stopped {self.task_id}: {one_line(self.why) or self.status}"


def stop(
    fleet: Control,
    word: str,
    *,
    now: bool,
    say: Callable[[str], None] = lambda _: None,
    margin: float = MARGIN,
) -> StopEnd:
    """End a task's run, and wait for the end or until time is up; `now` also where the queue does
    not answer, which `say` is told.
    """
    try:
        return _stop(fleet, fleet.get(word), now=now, margin=margin)
    except QueueError as error:
        if not now:
            raise
        say(f"The queue does not answer: {error.message}")
        return stop_blindly(fleet.home, word, env=fleet.env)


def _stop(fleet: Control, task: Task, *, now: bool, margin: float) -> StopEnd:
    _check_running(fleet, task)
    by, run = fleet.by, latest_run(fleet.home.task(task.id))
    patience = (0.0 if now else _grace(fleet, run)) + margin
    owner = owner_file.read(fleet.home)
    ours = task.lease_owner in (None, owner)
    braked = now and ours and lives(fleet, task)
    if braked:
        brake(fleet.home, owner, by=by, now=True, only=task.id)
    if not ours or supervisor_of(fleet.home) is not None:
        if not braked:  # a request that is not needed any more could stop the task's next run
            fleet.queue.request(task.id, "stop", text="now" if now else "", asked_by=by)
        end = _watch_the_end(fleet, task, time.monotonic() + patience)
        if end.ended or not lives(fleet, task):
            return end
        patience = margin  # the run had its grace
    elif not braked and not lives(fleet, task):
        raise Refused(
            f"nothing of {task.id} is running, and no supervisor is there to settle the task",
            hint="To have the task settled, start one: fleet run",
        )
    return _tell_keeper(fleet, task, by=by, now=now, patience=patience)


def stop_blindly(home: Home, task_id: str, *, env: Mapping[str, str] = os.environ) -> StopEnd:
    """End a task's run at once without the queue, which does not answer, or whose settings cannot
    be read.
    """
    names = [task_id, f"{PREFIX}-{task_id}"]
    task_id = next((name for name in names if home.task(name).is_dir()), task_id)
    if not keeper_client.is_alive(latest_run(home.task(task_id))):
        raise Refused(f"nothing of {task_id} is running here", hint="See: fleet tasks")
    by = actor(env)
    ends = brake(home, owner_file.read(home), by=by, now=True, only=task_id)
    return StopEnd(task_id=task_id, ended=all(end.gone for end in ends), why=f"stopped by {by}")


def _check_running(fleet: Control, task: Task) -> None:
    if lives(fleet, task):
        return
    if task.status != "in_progress":
        raise Refused(f"{task.id} is not running: it is {task.status}", hint=way_on(task))
    if task.lease_owner is None:
        raise Refused(
            f"{task.id} is not run by fleet: {task.assignee or 'a person'} has taken it",
            hint=way_on(task),
        )


def _grace(fleet: Control, run: Run | None) -> float:
    spec = run.known_spec() if run else None
    return spec.grace if spec else float(fleet.config.grace_s)


def _watch_the_end(fleet: Control, task: Task, end: float) -> StopEnd:
    """Wait until the supervisor has settled the task; the outcome is written before that."""
    run = latest_run(fleet.home.task(task.id))
    watch = DirectoryWatch()
    if run is not None:
        watch.add(run.path)
    try:
        while run is not None and (left := end - time.monotonic()) > 0:
            if read_ending(run) is not None:
                break
            watch.changed(min(left, 0.5))
    finally:
        watch.close()
    while not (seen := _seen(fleet, task)).settled and time.monotonic() < end:
        time.sleep(_ASK_AGAIN)
    return seen


def _tell_keeper(fleet: Control, task: Task, *, by: str, now: bool, patience: float) -> StopEnd:
    """Stop the run without a supervisor: through the run's keeper."""
    run = latest_run(fleet.home.task(task.id))
    who = keeper_client.keeper_of(run) if run else None
    if run is not None and who is not None:
        keeper = keeper_client.find_keeper(who)
        stop_run(run, Stopped(by=by), keeper=who, now=now)
        if keeper is not None:
            keeper.wait(patience)
            keeper.close()
    if run is not None and not lives(fleet, task) and believed_ending(run) is None:
        _end(fleet, task, run, by)
    return _seen(fleet, task)


def _seen(fleet: Control, task: Task) -> StopEnd:
    """What the queue and the run's files say now."""
    at_present = fleet.get(task.id)
    settled = at_present.status != "in_progress" or at_present.fence != task.fence
    run = latest_run(fleet.home.task(task.id))
    ending = read_ending(run) if run else None
    # A run that is not there may only be on its way, until the queue says otherwise.
    over = settled or (run is not None and is_of_lease(run, task))
    return StopEnd(
        task_id=task.id,
        ended=over and not lives(fleet, task),
        why=ending.why if ending else "",
        status=at_present.status,
        settled=settled,
    )


def _end(fleet: Control, task: Task, run: Run, by: str) -> None:
    """Write the run's end as the supervisor would; the next supervisor settles the task by that
    end.
    """
    home, config, now = fleet.home, fleet.config, datetime.now(UTC)
    record = RunRecord.read(home, config, task, run)
    record.prices = Prices(config.prices)
    record_last_words(home, config, task, run, record.spec.id)
    record.stream.finish(now)
    ended = ExitedRun(
        record=record,
        process_end=_process_end(run),
        stop_reason=stop_reason.read(run) or Stopped(by=by),
        cut_off=record.tools.at_work,
        said=agent_claim.read(run.path, by=record.spec.id),
    )
    outcome = outcome_of(ended)
    found = due_inspection(ended, outcome)
    if isinstance(found, InspectedRun):
        found = inspect_run(found, threading.Event())
    end = end_of(ended, outcome, found, config, now, fence=task.fence, jitter=0.0)
    DayLedger(home, keeps=True).record(end.receipt, now)
    note_end(record, end.ending, now)
    end.write(record)


def _process_end(run: Run) -> ProcessEnd:
    """How the processes of a run ended that does not live any more."""
    try:
        state, started = keeper_client.glance(run), run.started()
    except InvalidTask as error:
        return Vanished(None, why=error.message)
    if isinstance(state, Ended):
        return state
    return Vanished(started) if started is not None else NeverStarted()
