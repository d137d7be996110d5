"""Holds runs against budgets, and records what each has spent."""

from typing import TYPE_CHECKING

from fleet.extend import RunObserver, Tick
from fleet.schemas import LimitExceeded, Outcome
from fleet.spending.day_ledger import SpendEntry
from fleet.supervisor.assignments import ActiveRun
from fleet.supervisor.state import Happening, SupervisorState

if TYPE_CHECKING:
    from fleet.runs.outcome_history import Ending
    from fleet.settlement.end_run import RunEnd


class SpendRecorded(Happening, frozen=True):
    """What an ended run spent stands in the ledger of this day."""

    day: str
    entry: SpendEntry


class BudgetWatch(RunObserver):
    """Ends runs whose budget is spent."""

    active_only = True

    def __init__(self, state: SupervisorState) -> None:
        self._state = state

    def begin_tick(self, tick: Tick) -> None:
        self._state.meter.count([run for _, run in self._state.assignments.runs()])

    def tick(self, run: ActiveRun, tick: Tick) -> LimitExceeded | None:
        return self._state.meter.over_budget(run)

    def exited(self, run: ActiveRun, outcome: Outcome) -> Outcome:
        self._state.meter.apply_prices(run)
        return outcome

    def ended(self, run: ActiveRun, end: "RunEnd") -> "Ending":
        meter = self._state.meter
        self._state.events.append(SpendRecorded(*meter.record(run, end.receipt)))
        meter.announce_near()
        return end.ending
