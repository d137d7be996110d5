"""Ends: what a run came to is written down first, and then the queue is told."""

import heapq
import random
from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path

from fleet.coders.base import Coder
from fleet.config import Config
from fleet.queue.base import LeaseLost
from fleet.schemas import Failed, Lease, RateLimited, Released, Task
from fleet.schemas.units import shown_span
from fleet.supervisor import events
from fleet.supervisor.breaker import Breaker, Note, fault_of, spared
from fleet.supervisor.cooling import Cooling
from fleet.supervisor.desk import Desk
from fleet.supervisor.ending import end_of, program_missing
from fleet.supervisor.history import Ending, read_ending, write_ending
from fleet.supervisor.live import Live, Over
from fleet.supervisor.log import Log
from fleet.supervisor.settle import UNDATED_LIMIT, Decision


class Settling:
    """Settles leases, and remembers what follows from it: who rests, and when tasks come back."""

    def __init__(
        self,
        cooling: Cooling,
        breaker: Breaker,
        desk: Desk,
        log: Log,
        clock: Callable[[], datetime],
    ) -> None:
        self.cooling = cooling
        self.breaker = breaker
        self._desk = desk
        self._log = log
        self._now = clock
        #: Something was settled, so there may be work and a slot for it.
        self.freed = False
        #: The moments at which tasks that we put back may be claimed again.
        self._moments: list[datetime] = []

    def finish(self, live: Live, state: Over, config: Config) -> None:
        """A run is over: decide what follows, and tell the queue."""
        now = self._now()
        known = read_ending(live.run)
        ending = known or end_of(live, state, config, now, random.random())  # noqa: S311
        self._cool(live.coder, ending, now)
        ending = self._judge(live, ending, now, missing=program_missing(state))
        if not (live.adopted and events.ends_with(live.run, "fleet_ended")):
            live.note("fleet_ended", now, outcome=type(ending.outcome).__name__, why=ending.why)
        evidence = partial(write_ending, live.run, ending) if known is None else _nothing
        self.settle(live.lease, ending.decision, live.run.task_dir, evidence)

    def _cool(self, coder: Coder, ending: Ending, now: datetime) -> None:
        """Leave a coder alone that any other task would meet the same wall with."""
        match ending.outcome, ending.settlement:
            case RateLimited(), Released(not_before=until) if until is not None:
                self.cooling.cool(coder.name, until, now)
            case Failed() as failed, _ if failed.is_account:
                self.cooling.cool(coder.name, now + UNDATED_LIMIT, now)
            case _:
                pass

    def _judge(self, live: Live, ending: Ending, now: datetime, *, missing: bool) -> Ending:
        """Hold a coder that fails again and again; the ending, which spares a failed probe."""
        fault = fault_of(ending, missing=missing)
        coder, task_id = live.coder, live.task_id
        probe = self.breaker.probed(coder.name, coder.model, task_id)
        if fault == "unknown":
            self.breaker.give_up_probe(task_id)
            return ending
        note = Note(task_id, live.run.number, fault)
        version = live.reading.version
        news = self.breaker.note(coder.name, coder.model, version, ending, note, now)
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
                ending = spared(ending, held)
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
        elif isinstance(settlement, Released) and settlement.not_before is not None:
            heapq.heappush(self._moments, settlement.not_before)
        self._log.say(kind, f"{task_id}: {kind}: {text}", task_dir=task_dir, task=task_id)

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


def _nothing() -> None:
    pass
