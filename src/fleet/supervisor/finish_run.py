"""Finishes runs and settles leases: what a run came to is written first, then the queue is told."""

import random
import signal
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from msgspec import structs

from fleet.errors import FleetError, InvalidTask
from fleet.evidence.inspect_run import Inspection, inspect_run
from fleet.evidence.verify_place import InspectedRun
from fleet.files.machine_short import is_short, low_disk, words_of
from fleet.home import landing_json
from fleet.processes import process_identity
from fleet.processes.keeper_client import Ended, kill_trees
from fleet.queue.protocol import LeaseLost
from fleet.runs import stop_reason
from fleet.runs.outcome_history import Ending, believed_ending
from fleet.runs.run_directory import Run
from fleet.schemas import (
    Blocked,
    Closed,
    Failed,
    Lease,
    RateLimited,
    Released,
    Settlement,
    Stopped,
)
from fleet.schemas.decision import OURS, Decision
from fleet.settlement.end_run import RunEnd, due_inspection, end_of, note_end, outcome_of
from fleet.settlement.run_record import ExitedRun
from fleet.settlement.settle_table import damaged
from fleet.supervisor.assignments import ActiveRun, Assignment, Finishing, Inspecting, Sending
from fleet.supervisor.queue_io.plan_epics import close_epics, mark_end
from fleet.supervisor.queue_io.queue_thread import DueSettlement
from fleet.supervisor.queue_io.reopen_tasks import go_on_if_answered, undo_close
from fleet.supervisor.shortage import BACKOFF
from fleet.supervisor.state import SupervisorState, TaskSettled


def settle(
    state: SupervisorState,
    assignment: Assignment,
    decision: Decision,
    task_dir: Path | None = None,
    evidence: Callable[[], Decision | None] = lambda: None,
    ended: tuple[int, Ending] | None = None,
    *,
    logged: bool = True,
) -> None:
    """Take a task out of the table and end the lease. `evidence` is written before the queue is
    told; the decision that it returns, if any, is taken in place of the other one. `ended` is the
    run that the lease was for, with its number, if it came to an end. Not `logged`: the caller says
    why in the log, once for all tasks.
    """
    state.assignments.remove(assignment)
    lease, taken = counted(assignment, ended), [decision]

    def write() -> Settlement:
        taken[0] = evidence() or decision
        mark_end(state.home, lease.task)
        return taken[0].settlement

    def answered(lost: LeaseLost | None) -> None:
        _answered(state, lease, taken[0], task_dir, lost, logged=logged)

    state.queue.call(DueSettlement(lease, write), answered, owed=True)


def counted(assignment: Assignment, ended: tuple[int, Ending] | None) -> Lease:
    """The lease with the counts that the task has from now on: a claim that came to no run counts
    no run, and a run has the number of the run's directory. A task that is closed or blocked has no
    attempts any more: it may be put back by a person.
    """
    lease, run = assignment.lease, assignment.run
    task = lease.task
    number = ended[0] if ended else run.run.number if run else None
    if number is None:
        task = structs.replace(task, runs=max(0, task.runs - 1))
    else:
        task = structs.replace(task, runs=number, last_host=lease.owner)
    if ended is not None:
        ending = ended[1]
        failed = ending.attempts if isinstance(ending.settlement, Released) else 0
        task = structs.replace(task, attempts=failed)
    return structs.replace(lease, task=task)


def send_and_settle(
    state: SupervisorState,
    assignment: Assignment,
    ending: Ending,
    run: Run,
    evidence: Callable[[], Decision | None] = lambda: None,
) -> None:
    """Settle a task whose run is over; on a queue that hosts share, other hosts first get what the
    run left.
    """
    travel, lease, decision = state.travel, assignment.lease, ending.decision
    ended = (run.number, ending)
    if travel is None:
        settle(state, assignment, decision, run.task_dir, evidence, ended)
        return

    def sent(taken: Decision | None) -> None:
        if state.assignments.get(lease.task.id) is not assignment:
            return
        if taken is not None and assignment.lease.fence != lease.fence:
            # The lease ran out, and this host has claimed the task again: nothing was stored.
            send_and_settle(state, assignment, ending, run, evidence)
            return
        if taken is not None:
            settle(state, assignment, taken, run.task_dir, ended=ended)
            return
        text = f"{lease.task.id}: what run {run.number} left is sent by the next supervisor"
        state.log.say("left", text, task_dir=run.task_dir)
        state.assignments.remove(assignment)

    abandon = threading.Event()
    if state.shutdown.reason is not None:
        abandon.set()  # one try
    assignment.stage = Sending(run, abandon)
    state.inspections.submit(partial(travel.send, lease, run, decision, evidence, abandon), sent)


@contextmanager
def contained(
    state: SupervisorState, assignment: Assignment, short: Callable[[str], object] = str
) -> Generator[None]:
    """Keep the fault of one task's files from the others: the task is left to a person.

    A machine that is short of something damages nothing: `short` gets the reason. Without it the
    same is done again in a later turn.
    """
    try:
        yield
    except (FleetError, OSError) as error:
        if is_short(error):
            short(words_of(error, state.home.tasks))
        else:
            give_up(state, assignment, error)


def give_up(state: SupervisorState, assignment: Assignment, error: FleetError | OSError) -> None:
    """Leave a task to a person whose files cannot be worked with; the other tasks go on."""
    kill_all(assignment.lease)
    settle(state, assignment, damaged(error, assignment.task_id))


def kill_all(lease: Lease) -> None:
    """Kill every process that was started for a task, by the mark of the runs: also where records
    cannot be read.
    """
    found = process_identity.bearers(f"{lease.owner}.{lease.task.id}.")
    kill_trees([row.who for rows in found.values() for row in rows])


def _answered(
    state: SupervisorState,
    lease: Lease,
    decision: Decision,
    task_dir: Path | None,
    lost: LeaseLost | None,
    *,
    logged: bool,
) -> None:
    task_id, settlement = lease.task.id, decision.settlement
    kind, text = type(settlement).__name__.lower(), decision.why
    if lost is not None:
        kind, text = "lease_lost", f"not settled, the lease is lost: {lost.why}"
        if task_dir is not None and not isinstance(settlement, Closed):
            undo_close(state, lease, task_dir)
    elif isinstance(settlement, Closed):
        close_epics(state, [lease.task])
    elif isinstance(settlement, Blocked) and settlement.to_land:
        kind = "to land"
        landing = landing_json.believed(state.home, task_id)
        if landing is not None and landing.asks and landing.to != "pr":
            logged = False  # the lander logs that the work needs approval, and why
    elif isinstance(settlement, Blocked):
        go_on_if_answered(state, lease.task, task_dir)
    if logged or lost is not None:
        told = decision.told if lost is None and decision.told else f"{kind}: {text}"
        state.log.say(kind, f"{task_id}: {told}", task_dir=task_dir, task=task_id)
    state.events.append(TaskSettled(task_id, None if lost is not None else settlement))


def finish(state: SupervisorState, assignment: Assignment, stage: Finishing) -> None:
    """Inspect what the run left; once that is done, decide what follows and tell the queue.

    May raise OSError: then nothing is decided yet.
    """
    run, ended = stage.run, stage.ended
    findings = stage.findings
    if findings is None:
        known = believed_ending(run.run)
        if known is not None:  # decided before, and the queue was not told
            _settle_run(state, assignment, run, known)
            return
        run.stream.finish(state.now())
    outcome = _ended_with_us(state, ended) or outcome_of(ended)
    outcome = state.observers.exited(run, outcome)
    if findings is None:
        findings = due_inspection(ended, outcome)
        if isinstance(findings, InspectedRun):
            _inspect(state, assignment, stage, findings)
            return
    if findings.short:
        wait_for_machine(
            state, assignment, Finishing(run, ended, pause=stage.pause), findings.short
        )
        return
    if findings.abandoned:
        reason = ended.stop_reason or stop_reason.read(run.run)
        reason = reason or Stopped(by="the end of its verify command")
        if isinstance(reason, Stopped) and reason.by in OURS:
            _leave(state, assignment, run)
            return
        ended = structs.replace(ended, stop_reason=reason)
    now, jitter = state.now(), random.random()  # noqa: S311 - not a secret
    # Whether there is another seat is asked only where it matters.
    elsewhere = isinstance(outcome, RateLimited | Failed) and state.accounts.has_other_seat(
        state.config, assignment.lease.task, run.account
    )
    end = end_of(
        ended, outcome, findings, state.config, now,
        fence=assignment.lease.fence, jitter=jitter, elsewhere=elsewhere,
        attempts=assignment.lease.task.attempts if state.config.shares_queue else None,
        short=low_disk(state.home.path),
        own_outages=state.accounts.own_outages(run),
    )  # fmt: skip
    end = state.observers.ended(run, end)
    _settle_run(state, assignment, run, end.ending, end)


def _ended_with_us(state: SupervisorState, ended: ExitedRun) -> Stopped | None:
    """Why a run ended that was killed while the supervisor was to end; None: the run was not killed
    so.

    A scheduler that ends a job signals every process of it, agents as well as the supervisor.
    """
    end = ended.process_end
    if not isinstance(end, Ended) or ended.stop_reason not in (None, state.shutdown.reason):
        return None
    numbers = (signal.SIGTERM, signal.SIGKILL)
    killed = end.exit.signal in numbers or (end.exit.code or 0) - 128 in numbers
    return state.shutdown.reason if killed or end.exit.stop in ("graceful", "now") else None


def _write(end: RunEnd, run: ActiveRun) -> Decision | None:
    """Write the end of a run; where the directory is damaged, returns the decision that follows
    from that.

    A machine that is short of something raises OSError: the evidence is written once it is not.
    """
    try:
        run.run.check_directories()
        end.write(run)
    except InvalidTask as error:
        return damaged(error, run.task_id)
    except OSError as error:
        if is_short(error):
            raise
        return damaged(error, run.task_id)
    return None


def _inspect(
    state: SupervisorState, assignment: Assignment, stage: Finishing, case: InspectedRun
) -> None:
    def inspected(findings: Inspection) -> None:
        if isinstance(now := assignment.stage, Inspecting):
            assignment.stage = Finishing(now.run, now.ended, findings, pause=now.pause)

    abandon = threading.Event()
    assignment.stage = Inspecting(stage.run, stage.ended, abandon, stage.pause)
    commands = case.policy.verify if case.claimed else ()
    stage.run.stream.note("fleet_verifying", state.now(), commands=commands)
    state.inspections.submit(partial(inspect_run, case, abandon), inspected)


def wait_for_machine(
    state: SupervisorState, assignment: Assignment, stage: Finishing, why: str
) -> None:
    """Decide nothing about a run while the machine is short of something, and end the run again
    later. A supervisor that is to end leaves that to the next one.
    """
    task_dir = stage.run.run.task_dir
    if state.shutdown.reason is not None:
        text = f"{assignment.task_id}: left to the next supervisor: {why}"
        state.log.say("left", text, task_dir=task_dir)
        state.assignments.remove(assignment)
        return
    if not stage.pause:
        state.backoff.begin(why)
        text = f"{assignment.task_id}: its run ended, and waits for the machine: {why}"
        state.log.say("disk", text, task_dir=task_dir)
    pause = BACKOFF.after(stage.pause)
    again = time.monotonic() + pause
    assignment.stage = structs.replace(stage, retry_at=again, pause=pause)


def _leave(state: SupervisorState, assignment: Assignment, run: ActiveRun) -> None:
    """Decide nothing, and leave the run to the next supervisor."""
    text = f"{run.task_id}: left to be verified by the next supervisor"
    state.log.say("left", text, task_dir=run.run.task_dir)
    stop_reason.forget(run.run)
    state.assignments.remove(assignment)


def _settle_run(
    state: SupervisorState,
    assignment: Assignment,
    run: ActiveRun,
    ending: Ending,
    end: RunEnd | None = None,
) -> None:
    """Settle a run. Without an `end` its evidence is written already.

    The observers come first: an ending that is on disk has been observed, so a supervisor that
    finds the ending only has to settle the task.
    """
    note_end(run, ending, state.now())
    state.observers.settled(run, ending, end.receipt if end is not None else None)
    evidence = partial(_write, end, run) if end is not None else lambda: None
    send_and_settle(state, assignment, ending, run.run, evidence)
