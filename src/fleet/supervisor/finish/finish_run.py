"""Finishes runs and settles leases: what a run came to is written first, then the queue is told."""

import random
import threading
from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path

from msgspec import structs

from fleet.accounts.breaker_store import Breaker
from fleet.accounts.circuit_breaker import Blamed, Note, RunNoted, fault_of, spare_probe
from fleet.config import Config
from fleet.evidence.inspect_run import InspectedRun, Inspection, inspect_run
from fleet.home import closed_by_hand
from fleet.home.journal import Log
from fleet.queue.protocol import LeaseLost
from fleet.runs import stop_reason
from fleet.runs.outcome_history import Ending, read_ending
from fleet.runs.run_directory import latest_run
from fleet.schemas import Closed, Failed, Lease, Outcome, RateLimited, Released, Stopped, Task
from fleet.schemas.decision import OURS, Decision
from fleet.schemas.units import shown_span
from fleet.settlement.end_run import case_of, end_of, note_end, outcome_of
from fleet.supervisor.active.active_run import ActiveRun
from fleet.supervisor.active.follow_runs import report_trips
from fleet.supervisor.active.message_receipts import MessageReceipts
from fleet.supervisor.assignments import Assignment, Assignments, Finishing, Inspecting
from fleet.supervisor.capacity import Capacity
from fleet.supervisor.events import AccountFreed, Happenings, TaskSettled
from fleet.supervisor.host.worker_pool import WorkerPool
from fleet.supervisor.queue_io.queue_requests import QueueRequests

#: Why a task was opened again.
_PAST_FLEET = (
    "it was closed past fleet while its agent was at work, and nothing shows that it is done;"
    " to close it all the same: fleet bd close"
)


class Settler:
    """Takes tasks out of the table: the queue is told what became of each."""

    def __init__(
        self, assignments: Assignments, queue: QueueRequests, events: Happenings, log: Log
    ) -> None:
        self._assignments, self._queue, self._events, self._log = assignments, queue, events, log

    def settle(
        self,
        assignment: Assignment,
        decision: Decision,
        task_dir: Path | None = None,
        evidence: Callable[[], None] = lambda: None,
    ) -> None:
        """End the lease of a task. `evidence` is written before the queue is told."""
        self._assignments.remove(assignment)
        lease = assignment.lease
        answered = partial(self._answered, lease, decision, task_dir)
        self._queue.settle(lease, decision.settlement, answered, evidence)

    def _answered(
        self, lease: Lease, decision: Decision, task_dir: Path | None, lost: LeaseLost | None
    ) -> None:
        task_id, settlement = lease.task.id, decision.settlement
        kind, text = type(settlement).__name__.lower(), decision.why
        event = TaskSettled(task_id)
        if lost is not None:
            kind, text = "lease_lost", f"not settled, the lease is lost: {lost.why}"
            if task_dir is not None and not isinstance(settlement, Closed):
                self._undo_close(lease, task_dir)
        elif isinstance(settlement, Closed):
            event = TaskSettled(task_id, closed=True)
        elif isinstance(settlement, Released):
            event = TaskSettled(task_id, not_before=settlement.not_before)
        self._log.say(kind, f"{task_id}: {kind}: {text}", task_dir=task_dir, task=task_id)
        self._events.post(event)

    def _undo_close(self, lease: Lease, task_dir: Path) -> None:
        """Open a task again that the tracker says is closed and the evidence does not."""
        run = latest_run(task_dir)
        began = run.started() if run is not None else None
        if run is None or began is None:
            return

        def reopened(task: Task | None) -> None:
            if task is not None:
                text = f"{task.id}: opened again ({task.status}): {_PAST_FLEET}"
                self._log.say("reopened", text, task_dir=task_dir, task=task.id)

        by_hand = partial(closed_by_hand.noted, task_dir, began.at)
        self._queue.undo_close(lease, _PAST_FLEET, by_hand, reopened)


class RunFinisher:
    """Takes a run from the end of its processes to its settlement."""

    def __init__(
        self,
        *,
        assignments: Assignments,
        settler: Settler,
        capacity: Capacity,
        breaker: Breaker,
        messages: MessageReceipts,
        pool: WorkerPool,
        events: Happenings,
        log: Log,
        clock: Callable[[], datetime],
    ) -> None:
        self._assignments, self._settler = assignments, settler
        self._capacity, self._breaker = capacity, breaker
        self._messages, self._pool, self._events = messages, pool, events
        self._log, self._now = log, clock

    def finish(self, assignment: Assignment, stage: Finishing, config: Config) -> None:
        """Inspect what the run left; once that is done, decide what follows and tell the queue.

        May raise OSError: then nothing is decided yet.
        """
        run, ended = stage.run, stage.ended
        self._messages.look(run)
        self._capacity.meter.apply_prices(run)
        findings = stage.findings
        if findings is None:
            known = read_ending(run.run)
            if known is not None:  # decided before, and the queue was not told
                self._settle(assignment, run, known, 0.0)
                return
            run.stream.finish(self._now())
        said = ended.said()
        outcome = outcome_of(ended, said)
        if findings is None:
            case = case_of(ended, said, outcome)
            if not case.is_short:
                self._inspect(assignment, stage, case)
                return
            findings = Inspection()
        if findings.abandoned:
            reason = ended.stop_reason or stop_reason.read(run.run)
            reason = reason or Stopped(by="the end of its verify command")
            if isinstance(reason, Stopped) and reason.by in OURS:
                self._leave(assignment, run)
                return
            ended = structs.replace(ended, stop_reason=reason)
            outcome = outcome_of(ended, said, abandoned=True)
        now, jitter = self._now(), random.random()  # noqa: S311 - not a secret
        end = end_of(
            ended, said, outcome, findings, config, now, fence=assignment.lease.fence,
            jitter=jitter, elsewhere=self._has_other_seat(assignment, run, outcome),
        )  # fmt: skip
        self._capacity.meter.record(run, end.receipt)
        ending = self._blame(run, end.ending, now, missing=ended.program_missing)
        end = structs.replace(end, ending=ending)
        self._settle(assignment, run, ending, end.receipt.seconds, partial(end.write, run.run))

    def _has_other_seat(self, assignment: Assignment, run: ActiveRun, outcome: Outcome) -> bool:
        """The task may go on with another account, model or coder. Asked only where it matters."""
        matters = isinstance(outcome, RateLimited | Failed)
        return matters and self._capacity.has_other_seat(assignment.lease.task, run.account)

    def _inspect(self, assignment: Assignment, stage: Finishing, case: InspectedRun) -> None:
        abandon = threading.Event()
        assignment.stage = Inspecting(stage.run, stage.ended, abandon)
        stage.run.stream.note("fleet_verifying", self._now(), commands=case.policy.verify)
        self._pool.submit(partial(inspect_run, case, abandon), partial(self._inspected, assignment))

    def _inspected(self, assignment: Assignment, findings: Inspection) -> None:
        stage = assignment.stage
        if isinstance(stage, Inspecting):
            assignment.stage = Finishing(stage.run, stage.ended, findings)

    def _leave(self, assignment: Assignment, run: ActiveRun) -> None:
        """Decide nothing: the next supervisor finds the run as this one found it."""
        text = f"{run.task_id}: left to be verified by the next supervisor"
        self._log.say("left", text, task_dir=run.run.task_dir)
        stop_reason.forget(run.run)
        self._assignments.remove(assignment)

    def _settle(
        self,
        assignment: Assignment,
        run: ActiveRun,
        ending: Ending,
        seconds: float,
        evidence: Callable[[], None] = lambda: None,
    ) -> None:
        now = self._now()
        if self._capacity.accounts.run_ended(run, ending, seconds, now):
            self._events.post(AccountFreed())
        note_end(run, ending, now)
        self._settler.settle(assignment, ending.decision, run.run.task_dir, evidence)
        self._messages.end(run)
        report_trips(self._log, run)

    def _blame(self, run: ActiveRun, ending: Ending, now: datetime, *, missing: bool) -> Ending:
        """Hold a coder that fails again and again; the ending, which spares a failed probe."""
        fault = fault_of(ending, missing=missing)
        coder, task_id = run.coder, run.task_id
        blamed = Blamed(coder=coder.name, model=coder.model, account=run.account)
        probe = self._breaker.probed(blamed, task_id)
        if fault == "unknown":
            self._breaker.give_up_probe(task_id, now)
            return ending
        note = Note(task_id, run.run.number, fault)
        noted = RunNoted(note=note, version=run.totals.version, why=ending.why)
        for name, held in self._breaker.note(blamed, noted, now):
            if held is None:
                self._log.say("breaker_closed", f"{name} works again and gets work")
                continue
            again = "still gets" if held.since < now else "gets"
            pause = shown_span((held.until - now).total_seconds())
            text = f"{name} {again} no work for {pause}: {held.text}"
            way = f"Then one task tries it. To go on at once: fleet resume --coder {held.coder}"
            self._log.say("breaker_open", f"{text}. {way}", coder=name)
            if probe:
                ending = spare_probe(ending, held)
        return ending
