"""Ends: what a run came to is written down first, and then the queue is told."""

import heapq
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
from fleet.runs import event_log, receipt_json, stop_reason
from fleet.runs.outcome_history import Ending, read_ending, write_ending
from fleet.runs.run_directory import Run, latest_run
from fleet.schemas import Closed, Lease, Released, Stopped, Task
from fleet.schemas.decision import OURS, Decision
from fleet.schemas.units import shown_span
from fleet.supervisor.active.active_run import Live, Over
from fleet.supervisor.active.assign_account import AccountAssigner
from fleet.supervisor.active.budget_meter import BudgetMeter
from fleet.supervisor.finish.decide_outcome import End, case_of, end_of, program_missing
from fleet.supervisor.host.worker_pool import WorkerPool
from fleet.supervisor.queue_io.queue_requests import Desk

#: Why a task was opened again.
_PAST_FLEET = (
    "it was closed past fleet while its agent was at work, and nothing shows that it is done;"
    " to close it all the same: fleet bd close"
)


class Settling:
    """Settles leases, and remembers what follows from it: who rests, and when tasks come back."""

    def __init__(
        self,
        assigner: AccountAssigner,
        elsewhere: Callable[[Live], bool],
        breaker: Breaker,
        meter: BudgetMeter,
        desk: Desk,
        aside: WorkerPool,
        log: Log,
        clock: Callable[[], datetime],
    ) -> None:
        self._assigner = assigner
        self._elsewhere = elsewhere
        self.breaker = breaker
        self._meter = meter
        self._aside = aside
        self._desk = desk
        self._log = log
        self._now = clock
        #: Something was settled, so there may be work and a slot for it.
        self.freed = False
        #: Tasks that were closed since somebody last looked.
        self.closed: list[str] = []
        #: The moments at which tasks that we put back may be claimed again.
        self._moments: list[datetime] = []

    def finish(self, live: Live, state: Over, config: Config) -> bool:
        """A run is over: look at what it left, decide what follows, and tell the queue.

        False: it is being looked at, and this is to be asked again.
        """
        if live.found is None and (known := read_ending(live.run)) is not None:
            self._assigner.run_ended(live, known, 0, self._now())
            self._tell(live, known, _nothing)
            return True
        if live.found is None:
            live.finish(self._now())
            case = case_of(live, state)
            if not case.is_short:
                self._look_at(live, case)
                return False
        found = live.found or Inspection()
        if found.abandoned and live.verdict is None:
            live.verdict = stop_reason.read(live.run) or Stopped(
                by="whoever ended its verify command"
            )
        if found.abandoned and isinstance(live.verdict, Stopped) and live.verdict.by in OURS:
            # Nothing was decided: the next supervisor finds the run as this one found it.
            text = f"{live.task_id}: left to be verified by the next supervisor"
            self._log.say("left", text, task_dir=live.run.task_dir)
            stop_reason.forget(live.run)
            return True
        end = end_of(
            live, state, config, found, self._now(), random.random(),  # noqa: S311
            elsewhere=self._elsewhere(live),
        )  # fmt: skip
        self._meter.record(live, end.receipt)
        missing = program_missing(state)
        ending = self._judge(live, end.ending, self._now(), missing=missing)
        self._assigner.run_ended(live, ending, end.receipt.seconds, self._now())
        self._tell(live, ending, partial(_write, live.run, structs.replace(end, ending=ending)))
        return True

    def _look_at(self, live: Live, case: InspectedRun) -> None:
        live.looking = threading.Event()
        live.note("fleet_verifying", self._now(), commands=case.policy.verify)
        inspection = partial(inspect_run, case, live.looking)
        self._aside.submit(inspection, partial(setattr, live, "found"))

    def _tell(self, live: Live, ending: Ending, evidence: Callable[[], None]) -> None:
        now = self._now()
        if not (live.adopted and event_log.ends_with(live.run, "fleet_ended")):
            facts = {"outcome": type(ending.outcome).__name__, "broke": ending.broke}
            live.note("fleet_ended", now, **facts, why=ending.why)
        self.settle(live.lease, ending.decision, live.run.task_dir, evidence)

    def _judge(self, live: Live, ending: Ending, now: datetime, *, missing: bool) -> Ending:
        """Hold a coder that fails again and again; the ending, which spares a failed probe."""
        fault = fault_of(ending, missing=missing)
        coder, task_id = live.coder, live.task_id
        blamed = Blamed(coder=coder.name, model=coder.model, account=live.account)
        probe = self.breaker.probed(blamed, task_id)
        if fault == "unknown":
            self.breaker.give_up_probe(task_id, now)
            return ending
        note = Note(task_id, live.run.number, fault)
        noted = RunNoted(note=note, version=live.reading.version, why=ending.why)
        news = self.breaker.note(blamed, noted, now)
        for name, held in news:
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

    def settle(
        self,
        lease: Lease,
        decision: Decision,
        task_dir: Path | None = None,
        evidence: Callable[[], None] = lambda: None,
    ) -> None:
        """Tell the queue what became of a task."""
        self._desk.settle(
            lease, decision.settlement, partial(self._heard, lease, decision, task_dir), evidence
        )

    def _heard(
        self, lease: Lease, decision: Decision, task_dir: Path | None, answer: Task | LeaseLost
    ) -> None:
        self.freed = True
        task_id, settlement = lease.task.id, decision.settlement
        kind, text = type(settlement).__name__.lower(), decision.why
        if isinstance(answer, LeaseLost):
            kind, text = "lease_lost", f"not settled, the lease is lost: {answer.why}"
            if task_dir is not None and not isinstance(settlement, Closed):
                self._undo_close(lease, task_dir)
        elif isinstance(settlement, Closed):
            self.closed.append(task_id)
        elif isinstance(settlement, Released) and settlement.not_before is not None:
            heapq.heappush(self._moments, settlement.not_before)
        self._log.say(kind, f"{task_id}: {kind}: {text}", task_dir=task_dir, task=task_id)

    def _undo_close(self, lease: Lease, task_dir: Path) -> None:
        """The tracker may say closed where the evidence does not."""
        run = latest_run(task_dir)
        began = run.started() if run is not None else None
        if run is None or began is None:
            return

        def told(task: Task | None) -> None:
            if task is not None:
                text = f"{task.id}: opened again ({task.status}): {_PAST_FLEET}"
                self._log.say("reopened", text, task_dir=task_dir, task=task.id)

        self._desk.undo_close(
            lease, _PAST_FLEET, partial(closed_by_hand.noted, task_dir, began.at), told
        )

    @property
    def next_moment(self) -> datetime | None:
        """When the next task comes back that we put off."""
        return self._moments[0] if self._moments else None

    def moment_came(self) -> bool:
        """A task may have come back since this was last asked."""
        came = False
        while self._moments and self._moments[0] <= self._now():
            heapq.heappop(self._moments)
            came = True
        return came


def _write(run: Run, end: End) -> None:
    """The receipt first: whoever finds an outcome finds the evidence for it."""
    receipt_json.write(run, end.receipt)
    write_ending(run, end.ending)


def _nothing() -> None:
    pass
