"""Runs that an earlier supervisor started, or that this one lost sight of: adopted if they live,
finished if they are over, and looked at again as long as that is not known.
"""

import time

from fleet.config import Config
from fleet.home import Home
from fleet.home.journal import Log
from fleet.processes.keeper_client import Orphaned, Running, adopt
from fleet.runs import stop_reason
from fleet.runs.run_directory import Run
from fleet.schemas import Stopped
from fleet.schemas.decision import OURS
from fleet.supervisor.active.active_run import ActiveRun
from fleet.supervisor.active.follow_runs import FIRST_PAUSE, RunFollower, finishing, state_now
from fleet.supervisor.assignments import (
    Active,
    Assignment,
    Assignments,
    Stopping,
    Unknown,
    stop_assignment,
)

#: The longest pause between two looks, in seconds.
_LONGEST_PAUSE = 1.0


class Adoption:
    """Takes up old runs. Their tasks stay leased until it is known what became of each."""

    def __init__(
        self, home: Home, assignments: Assignments, follower: RunFollower, log: Log
    ) -> None:
        self._home, self._assignments, self._follower, self._log = home, assignments, follower, log

    @property
    def next_moment(self) -> float:
        """When a run is to be looked at again, on the monotonic clock."""
        stages = (each.stage for each in self._assignments)
        return min((s.due for s in stages if isinstance(s, Unknown)), default=float("inf"))

    def take_up(
        self, assignment: Assignment, run: Run, config: Config, stopping: Stopped | None
    ) -> None:
        """See to a run that was begun and has no ending. `stopping`: all runs are to end."""
        unknown = assignment.stage = Unknown(run, _account_of(run), FIRST_PAUSE)
        self._look(assignment, unknown, config, stopping)

    def look_again(self, config: Config, stopping: Stopped | None) -> None:
        """See whether it is known by now what became of a run."""
        now = time.monotonic()
        for assignment in self._assignments:
            stage = assignment.stage
            if isinstance(stage, Unknown) and now >= stage.due:
                try:
                    self._look(assignment, stage, config, stopping)
                except OSError:  # the machine is short of something, so nothing new is known
                    self._wait(assignment, stage, None)

    def _look(
        self, assignment: Assignment, stage: Unknown, config: Config, stopping: Stopped | None
    ) -> None:
        """Adopt the run if it lives, finish it if it is over, and else look again."""
        run, state = stage.run, state_now(stage.run)
        keeper = adopt(state.started) if isinstance(state, Running) and state.started else None
        if isinstance(state, Running | Orphaned) and keeper is None:
            self._wait(assignment, stage, state)
            return
        active = ActiveRun.read(self._home, config, assignment.lease.task, run)
        active.keeper = keeper
        if not isinstance(state, Running | Orphaned):
            assignment.stage = ending = finishing(assignment, active, state)
            reason = ending.ended.stop_reason
            if isinstance(reason, Stopped) and reason.by in OURS and ending.ended.ended_by_itself:
                # The earlier supervisor left the run as it was: this one judges it.
                stop_reason.forget(run)
                assignment.stage = finishing(assignment, active, state)
            self._follower.attend(assignment)
            return
        reason = stop_reason.read(run)
        if reason is None:
            assignment.stage = Active(active)
        else:
            again = time.monotonic() + config.grace_s + 1.0
            assignment.stage = Stopping(active, reason, tell_again_at=again)
        self._follower.attend(assignment)
        text = f"{assignment.task_id}: adopted run {run.number}"
        self._log.say("adopted", text, task_dir=run.task_dir)
        if reason is None and stopping is not None:
            stop_assignment(assignment, stopping)

    def _wait(
        self, assignment: Assignment, stage: Unknown, state: Running | Orphaned | None
    ) -> None:
        """Look again later: the run has no keeper that could be asked, or is just starting."""
        run, pause = stage.run, stage.pause
        if pause < _LONGEST_PAUSE <= pause * 2:
            pids = ", ".join(str(who.pid) for who in getattr(state, "survivors", ()))
            text = f"{assignment.task_id}: waits for what is left of run {run.number} {pids}"
            self._log.say("unclear", text.rstrip(), task_dir=run.task_dir)
        assignment.stage = Unknown(
            run, stage.account, min(pause * 2, _LONGEST_PAUSE), time.monotonic() + pause
        )


def _account_of(run: Run) -> str:
    spec = run.known_spec()
    return spec.account if spec else ""
