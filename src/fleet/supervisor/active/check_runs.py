"""Holds runs against what they may do: context, login, budgets, limits and the stall rules."""

from collections.abc import Callable
from datetime import datetime

from fleet.config import Config
from fleet.home.journal import Log
from fleet.schemas import ContextFull
from fleet.supervisor.active.active_run import ActiveRun
from fleet.supervisor.active.assign_account import AccountAssigner
from fleet.supervisor.active.budget_meter import BudgetMeter
from fleet.supervisor.active.watch_runs import Watchdog
from fleet.supervisor.assignments import Active, Assignment, Assignments, stop_assignment


class RunChecker:
    """Checks each run when it prints something, and all of them once a tick."""

    def __init__(
        self,
        watchdog: Watchdog,
        accounts: AccountAssigner,
        meter: BudgetMeter,
        log: Log,
        clock: Callable[[], datetime],
    ) -> None:
        self._watchdog, self._accounts, self._meter = watchdog, accounts, meter
        self._log, self._now = log, clock

    def check_output(self, assignment: Assignment, run: ActiveRun, config: Config) -> None:
        """Act on what a run has just printed."""
        report_trips(self._log, run)
        self._accounts.follow(run, config, self._now())
        if isinstance(assignment.stage, Active):
            self._check_context(assignment, run, config.context_pressure_threshold_pct)
        if isinstance(assignment.stage, Active):
            self._check_login(assignment, run, config)
        self._watchdog.check_output(assignment)

    def check_all(self, assignments: Assignments, now: float, awake: float) -> None:
        """Check every run. `awake` is `now` on a clock that counts while the machine sleeps."""
        for assignment, passed in self._meter.over_budget(assignments):
            stop_assignment(assignment, passed)
        self._watchdog.tick(now, awake)

    def _check_context(self, assignment: Assignment, run: ActiveRun, threshold_pct: int) -> None:
        """Stop a run whose context is too full to go on."""
        tokens, window = run.totals.tokens.context_tokens or 0, run.context_window
        if tokens * 100 < window * threshold_pct:
            return
        run.stream.note("fleet_context", self._now(), tokens=tokens, window=window)
        text = f"{run.task_id}: context at {tokens} of {window}, ends this session"
        self._log.say("context_pressure", text, task_dir=run.run.task_dir)
        stop_assignment(assignment, ContextFull(tokens=tokens, window=window))

    def _check_login(self, assignment: Assignment, run: ActiveRun, config: Config) -> None:
        """Stop a run that works with another login than the one that was chosen."""
        wrong = self._accounts.wrong_login(run, config)
        if wrong is not None:
            run.stream.note("fleet_wrong_account", self._now(), why=wrong.detail)
            text = f"{run.task_id}: stopped: {wrong.detail}"
            self._log.say("wrong_account", text, task_dir=run.run.task_dir)
            stop_assignment(assignment, wrong, now=True)


def report_trips(log: Log, run: ActiveRun) -> None:
    """Log the destructive commands that the tripwire met since the last report."""
    for trip, refusing in run.stream.tripwire.unreported:
        word = "refuses" if refusing else "met"
        text = f"{run.task_id}: tripwire {word} `{trip.command}`: it {trip.what}"
        log.say("tripwire", text, task_dir=run.run.task_dir, rule=trip.rule)
    run.stream.tripwire.unreported.clear()
