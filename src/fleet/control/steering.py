"""A person's hand on one task: stop its run, try it again, put it back into the queue."""

import os
import time
from collections.abc import Mapping
from datetime import UTC, datetime

from msgspec import Struct

from fleet.control import Control
from fleet.control.tasks import known_owner, read_progress
from fleet.errors import InvalidTask, Refused
from fleet.queue.bd.actor import actor
from fleet.schemas import Status, Stopped, Task
from fleet.supervisor import process
from fleet.supervisor.history import Ending, forgive, read_ending, write_ending
from fleet.supervisor.process import Running
from fleet.supervisor.settle import Facts, decide
from fleet.supervisor.sole import supervisor_of
from fleet.taskdir import said
from fleet.taskdir.rundir import Run, latest_run
from fleet.taskdir.watch import Watch

#: What a stop may take beyond the grace that the run was given.
STOP_MARGIN = 5.0
#: How often the queue is asked once a run has ended. Its bell is the supervisor's to hear.
_ASK_AGAIN = 0.05


class StopEnd(Struct, frozen=True, kw_only=True):
    """How it went with a stop."""

    task_id: str
    #: The run is over. False: it withstands, or nobody knows yet.
    ended: bool
    #: What became of the run, in a sentence; empty if nobody has decided it.
    why: str = ""
    #: The task's status now.
    status: Status = "in_progress"
    #: False: no supervisor runs, so the task is settled when one starts.
    supervised: bool = True


def stop(fleet: Control, task: Task, *, now: bool, env: Mapping[str, str] = os.environ) -> StopEnd:
    """End a task's run for certain, and wait until it has ended or its grace is over."""
    run = latest_run(fleet.home.task(task.id))
    lives = run is not None and isinstance(process.glance(run), Running)
    if task.status != "in_progress" and not lives:
        raise Refused(f"{task.id} is not running: it is {task.status}", hint=_way_on(task))
    if task.status == "in_progress" and task.lease_owner is None and not lives:
        raise Refused(
            f"{task.id} is not run by fleet: {task.assignee or 'somebody'} has taken it",
            hint=f"To give it back to the queue: fleet bd unclaim {task.id}",
        )
    patience = (0.0 if now else _grace(fleet, run)) + STOP_MARGIN
    by = actor(env)
    ours = task.lease_owner in (None, known_owner(fleet.home))
    if ours and supervisor_of(fleet.home) is None:
        return _stop_alone(fleet, task, run, by=by, now=now, patience=patience)
    fleet.queue.request(task.id, "stop", text="now" if now else "", asked_by=by)
    return _watch_the_end(fleet, task, patience)


def _grace(fleet: Control, run: Run | None) -> float:
    try:
        return run.spec().grace if run else float(fleet.config.grace_s)
    except InvalidTask:
        return float(fleet.config.grace_s)


def _stop_alone(
    fleet: Control, task: Task, run: Run | None, *, by: str, now: bool, patience: float
) -> StopEnd:
    """Without a supervisor: tell the keeper, and leave word of it for the next supervisor."""
    state = process.glance(run) if run else None
    if run is None or not isinstance(state, Running) or state.started is None:
        raise Refused(
            f"nothing of {task.id} is running, and no supervisor is there to settle it",
            hint="A supervisor does, as soon as it starts: fleet run",
        )
    keeper = process.adopt(state.started)
    process.stop(run, now=now)
    ended = keeper is None or keeper.wait(patience)
    if keeper is not None:
        keeper.close()
    if ended and read_ending(run) is None and supervisor_of(fleet.home) is None:
        _leave_word(fleet, run, by)
    ending = read_ending(run)
    return StopEnd(task_id=task.id, ended=ended, why=ending.why if ending else "", supervised=False)


def _leave_word(fleet: Control, run: Run, by: str) -> None:
    """The next supervisor settles by this, as by what an earlier one decided before it died."""
    seen = read_progress(run)
    facts = Facts(
        run=run.number,
        started=True,
        said=said.read(run.path),
        tool_calls=seen.tool_calls if seen else 0,
        attempts=0,
        retry_limit=fleet.config.retry_limit,
        full_contexts=0,
        progress=False,
        jitter=0.0,
    )
    outcome, moment = Stopped(by=by), datetime.now(UTC)
    decision = decide(outcome, facts, moment)
    ending = Ending(
        outcome=outcome,
        settlement=decision.settlement,
        counts=decision.counts,
        why=decision.why,
        progress=False,
        at=moment,
        tokens=seen.tokens if seen else 0,
        cost_usd=seen.cost_usd if seen else None,
        tool_calls=facts.tool_calls,
    )
    write_ending(run, ending)


def _watch_the_end(fleet: Control, task: Task, patience: float) -> StopEnd:
    """Wait until the supervisor has settled the task; it writes the outcome first."""
    end = time.monotonic() + patience
    run = latest_run(fleet.home.task(task.id))
    watch = Watch()
    if run is not None:
        watch.add(run.path)
    try:
        while run is not None and (left := end - time.monotonic()) > 0:
            if read_ending(run) is not None:
                break
            watch.changed(min(left, 0.5))
    finally:
        watch.close()
    while (seen := fleet.get(task.id)).status == "in_progress" and seen.fence == task.fence:
        if time.monotonic() >= end:
            break
        time.sleep(_ASK_AGAIN)
    run = latest_run(fleet.home.task(task.id))
    ending = read_ending(run) if run else None
    settled = seen.status != "in_progress" or seen.fence != task.fence
    return StopEnd(
        task_id=task.id,
        ended=settled and not _lives(fleet, task),
        why=ending.why if ending else "",
        status=seen.status,
    )


def retry(fleet: Control, task: Task, *, env: Mapping[str, str] = os.environ) -> Task:
    """Try a task again, with all its attempts before it. Refused where it cannot be tried."""
    check_reopenable(fleet, task)
    forgive(fleet.home.task(task.id))
    return reopen_task(fleet, task, by=actor(env))


def check_reopenable(fleet: Control, task: Task) -> None:
    """Refuse to put back what is at work, is done, or was put aside by a person."""
    if task.status in ("blocked", "open") and not _lives(fleet, task):
        return
    if task.status in ("blocked", "open", "in_progress"):
        by = "" if task.lease_owner else f" by {task.assignee}" if task.assignee else ""
        raise Refused(f"{task.id} is being worked on{by}", hint=_way_on(task))
    raise Refused(f"{task.id} is {task.status}", hint=_way_on(task))


def _lives(fleet: Control, task: Task) -> bool:
    run = latest_run(fleet.home.task(task.id))
    return run is not None and isinstance(process.glance(run), Running)


def _way_on(task: Task) -> str:
    """What a person can do with a task in this state."""
    match task.status:
        case "closed":
            return f"Open it again first: fleet bd reopen {task.id}"
        case "deferred":
            return f"It was put off. To have it now: fleet bd undefer {task.id}"
        case "blocked":
            return f"See why: fleet show {task.id}. To try it again: fleet retry {task.id}"
        case "open":
            return "It waits for its turn. To keep new runs from starting: fleet pause"
        case "in_progress":
            if task.lease_owner is None:
                return f"To give it back to the queue: fleet bd unclaim {task.id}"
            return f"Stop it first: fleet stop {task.id}"
        case _:
            return f"Set it free first: fleet bd update {task.id} --status open"


def reopen_task(fleet: Control, task: Task, *, by: str) -> Task:
    """Back to the queue on any queue: open, unassigned, and without a wait.

    Refused if the task was changed since it was read, so that nobody's claim is undone.
    """
    if fleet.config.queue == "beads":
        from fleet.queue.beads.queue import BeadsQueue
        from fleet.queue.beads.reopening import reopen

        assert isinstance(fleet.queue, BeadsQueue)
        return reopen(fleet.queue, task, by=by)
    from fleet.queue.sql.edits import Change, edit

    change = Change(
        status="open",
        assignee="",
        fields={"not_before": None},
        if_status=task.status,
        if_fence=task.fence,
    )
    return edit(fleet.tracker, task.id, change, actor=by).after
