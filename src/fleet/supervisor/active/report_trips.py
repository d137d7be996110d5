"""Logs the destructive commands that the tripwire met."""

from collections.abc import Sequence

from fleet.extend import RunObserver
from fleet.runs.outcome_history import Ending
from fleet.schemas import Event, Receipt
from fleet.supervisor.assignments import ActiveRun
from fleet.supervisor.state import SupervisorState


class TripReports(RunObserver):
    """Logs each command once, also those of a run's last output."""

    def __init__(self, state: SupervisorState) -> None:
        self._log = state.log

    def events(self, run: ActiveRun, events: Sequence[Event]) -> None:
        self._report(run)

    def settled(self, run: ActiveRun, ending: Ending, receipt: Receipt | None) -> None:
        self._report(run)

    def _report(self, run: ActiveRun) -> None:
        for trip, refusing in run.stream.tripwire.unreported:
            word = "refuses" if refusing else "met"
            text = f"{run.task_id}: tripwire {word} `{trip.command}`: it {trip.what}"
            self._log.say("tripwire", text, task_dir=run.run.task_dir, rule=trip.rule)
        run.stream.tripwire.unreported.clear()
