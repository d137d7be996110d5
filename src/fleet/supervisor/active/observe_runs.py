"""Calls the observers of runs in their order, and stops the runs that one of them ends."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec import structs

from fleet.extend import AtOnce, RunObserver, Tick
from fleet.schemas import Event, Outcome, Receipt
from fleet.supervisor.assignments import Active, ActiveRun, Assignment, RunStart
from fleet.supervisor.stop_runs import stop_assignment

if TYPE_CHECKING:
    from fleet.runs.outcome_history import Ending
    from fleet.settlement.end_run import RunEnd


class Observers:
    """All observers of one supervisor. Those that leave out a method are not called for it."""

    def __init__(self, observers: Iterable[RunObserver]) -> None:
        found = tuple(observers)
        self._starting = _with(found, "starting")
        self._started = _with(found, "started")
        self._events = _with(found, "events")
        self._begin_tick = _with(found, "begin_tick")
        self._tick = _with(found, "tick")
        self._exited = _with(found, "exited")
        self._ended = _with(found, "ended")
        self._settled = _with(found, "settled")

    def starting(self, start: RunStart) -> None:
        for each in self._starting:
            each.starting(start)

    def started(self, run: ActiveRun) -> None:
        for each in self._started:
            each.started(run)

    def events(self, assignment: Assignment, run: ActiveRun, events: Sequence[Event]) -> None:
        """Pass on what a run has printed; stop the run if an observer ends it."""
        for each in self._events:
            if each.active_only and not isinstance(assignment.stage, Active):
                continue
            if (stop := each.events(run, events)) is not None:
                _stop(assignment, stop)

    def begin_tick(self, tick: Tick) -> None:
        for each in self._begin_tick:
            each.begin_tick(tick)

    def tick(self, assignment: Assignment, run: ActiveRun, tick: Tick) -> None:
        """Have a run checked; stop the run if an observer ends it."""
        for each in self._tick:
            if each.active_only and not isinstance(assignment.stage, Active):
                continue
            if (stop := each.tick(run, tick)) is not None:
                _stop(assignment, stop)

    def exited(self, run: ActiveRun, outcome: Outcome) -> Outcome:
        for each in self._exited:
            outcome = each.exited(run, outcome)
        return outcome

    def ended(self, run: ActiveRun, end: "RunEnd") -> "RunEnd":
        for each in self._ended:
            end = structs.replace(end, ending=each.ended(run, end))
        return end

    def settled(self, run: ActiveRun, ending: "Ending", receipt: Receipt | None) -> None:
        for each in self._settled:
            each.settled(run, ending, receipt)


def _with(observers: Sequence[RunObserver], method: str) -> tuple[RunObserver, ...]:
    """The observers that have a method of their own."""
    default = getattr(RunObserver, method)
    return tuple(each for each in observers if getattr(type(each), method) is not default)


def _stop(assignment: Assignment, stop: Outcome | AtOnce) -> None:
    if not isinstance(assignment.stage, Active):
        return
    if isinstance(stop, AtOnce):
        stop_assignment(assignment, stop.outcome, now=True)
    else:
        stop_assignment(assignment, stop)
