"""Ends a session whose context is too full to go on; the next run begins a fresh one."""

from collections.abc import Sequence

from fleet.extend import RunObserver
from fleet.schemas import ContextFull, Event
from fleet.supervisor.assignments import ActiveRun
from fleet.supervisor.state import SupervisorState


class ContextPressure(RunObserver):
    """Compares the context of each run with `context_pressure_threshold_pct`."""

    active_only = True

    def __init__(self, state: SupervisorState) -> None:
        self._state = state

    def events(self, run: ActiveRun, events: Sequence[Event]) -> ContextFull | None:
        state = self._state
        tokens, window = run.totals.tokens.context_tokens or 0, run.context_window
        if tokens * 100 < window * state.config.context_pressure_threshold_pct:
            return None
        run.stream.note("fleet_context", state.now(), tokens=tokens, window=window)
        text = f"{run.task_id}: context at {tokens} of {window}, ends this session"
        state.log.say("context_pressure", text, task_dir=run.run.task_dir)
        return ContextFull(tokens=tokens, window=window)
