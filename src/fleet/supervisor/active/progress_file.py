"""Writes `progress.json` of each run: how the run stands, for every surface."""

import time

from fleet.extend import RunObserver, Tick
from fleet.files.machine_short import words_of
from fleet.runs import progress_json
from fleet.runs.progress_json import Progress
from fleet.runs.run_directory import Run
from fleet.schemas.event import step_line
from fleet.supervisor.assignments import ActiveRun
from fleet.supervisor.state import SupervisorState

#: Seconds between two lines about a disk that takes nothing.
_SAY_AGAIN = 60.0


class ProgressFile(RunObserver):
    """Writes the file if something changed."""

    def __init__(self, state: SupervisorState) -> None:
        self._state = state
        #: When a disk that takes nothing was logged last, on the monotonic clock.
        self._disk_logged = -_SAY_AGAIN

    def tick(self, run: ActiveRun, tick: Tick) -> None:
        assignment = self._state.assignments.get(run.task_id)
        progress = _progress(run, assignment.doing if assignment is not None else "")
        if progress == run.memory.published:
            return
        try:
            run.run.check_directories()
            progress_json.write(run.run, progress)
            run.memory.published = progress
        except OSError as error:
            self._log_disk(f"{run.task_id}: {words_of(error, run.run.path)}", run.run)

    def _log_disk(self, text: str, run: Run) -> None:
        """Log a disk that takes nothing: once a minute, whatever the number of runs."""
        if time.monotonic() >= self._disk_logged + _SAY_AGAIN:
            self._disk_logged = time.monotonic()
            self._state.log.say("disk", text, task_dir=run.task_dir)


def _progress(run: ActiveRun, doing: str) -> Progress:
    """How a run stands. `doing` is what fleet does about the run."""
    totals, memory = run.totals, run.memory
    return Progress(
        coder=run.coder.name,
        model=totals.model or run.coder.model,
        events=totals.events,
        tool_calls=totals.tools.count,
        context_tokens=totals.tokens.context_tokens or 0,
        context_peak=totals.tokens.context_peak,
        context_window=run.context_window,
        tokens=totals.tokens.usage.total,
        cost_usd=totals.tokens.cost_usd,
        estimated_usd=run.estimated_usd,
        last_event_at=run.stream.last_event_at,
        last_step=step_line(step) if (step := run.stream.last_step) else "",
        doing=doing,
        rung=memory.stall.rung,
        why=memory.stall.why,
        until=memory.waits_until,
        near=memory.near_limits,
    )
