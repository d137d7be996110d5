"""The meter: what runs cost, as they run and once they are over, and what budgets say to it.

The rules are in `budgets`, the books in `spending`; here is who asks them and what is done: a
warning once, no start, or the end of a run.
"""

from collections.abc import Callable
from datetime import datetime

from fleet.accounts.candidates import place_of
from fleet.config import Config
from fleet.errors import FleetError
from fleet.home import Home
from fleet.home.journal import Log
from fleet.runs.outcome_history import spent_before, was_put_off
from fleet.runs.run_directory import began_at
from fleet.schemas import LimitExceeded, Policy, Receipt, Spend, Task
from fleet.schemas.budget import shown_runs
from fleet.schemas.budget_status import BudgetStatus, Payer
from fleet.schemas.decision import Decision
from fleet.spending import budgets
from fleet.spending.day_ledger import Spending, entry_of
from fleet.spending.prices import Prices
from fleet.supervisor.active.active_run import ActiveRun
from fleet.supervisor.assignments import Active, Assignment, Assignments


class BudgetMeter:
    """What is spent in one home."""

    def __init__(self, home: Home, config: Config, log: Log, clock: Callable[[], datetime]) -> None:
        self._home = home
        self._log = log
        self._now = clock
        self._spending = Spending(home, keeps=True)
        self._config = config
        self._prices, self._own_prices = Prices(config.prices), config.prices
        self._empty = budgets.of_days(config)
        self._payers: dict[tuple[str, str], Payer] = {}
        #: The runs in hand, each with the day it began on and what its task had used before.
        self._runs_seen: dict[str, tuple[ActiveRun, str, Spend]] = {}
        #: Of which day and budget it was said that it is spent.
        self._rested = ""
        #: The budgets of today, for people.
        self.statuses: tuple[BudgetStatus, ...] = ()

    def apply(self, config: Config) -> None:
        """Go by these settings from now on."""
        if config is self._config:
            return
        self._config, self._empty = config, budgets.of_days(config)
        self._payers.clear()
        if config.prices != self._own_prices:
            self._prices, self._own_prices = Prices(config.prices), config.prices

    def apply_prices(self, run: ActiveRun) -> None:
        """Let a run count by the prices in force."""
        run.prices = self._prices

    # What is over.

    def record(self, run: ActiveRun, receipt: Receipt) -> None:
        """Write a run into the books. May raise OSError: then it is not settled yet."""
        began = receipt.started_at or began_at(run.run) or self._now()
        self._spending.paid(entry_of(receipt), began)
        self._mind(budgets.day_of(self._now()))

    # What lives.

    def over_budget(self, assignments: Assignments) -> list[tuple[Assignment, LimitExceeded]]:
        """Warn of budgets that are near; the runs that have to end as theirs is spent."""
        now = self._now()
        today = budgets.day_of(now)
        known, self._runs_seen = self._runs_seen, {}
        for _, run in assignments.runs():
            self.apply_prices(run)
            seen = known.get(run.task_id)
            if seen is None or seen[0] is not run:
                before = spent_before(run.run.task_dir, before=run.run.number)
                seen = (run, budgets.day_of(began_at(run.run) or now), before)
            self._runs_seen[run.task_id] = seen
        self._mind(today)
        over: list[tuple[Assignment, LimitExceeded]] = []
        for assignment, run in assignments.runs():
            _, day, before = self._runs_seen[run.task_id]
            own = budgets.of_task(run.task_id, run.policy.budget, before + run.spend)
            if own is not None:
                self._warn(own, today, [run])
            mine = [own] if own is not None else []
            if day == today:
                payer = self._payer(run.project, run.account)
                mine += [each for each in self.statuses if each.concerns(payer)]
            spent = next((each for each in mine if each.reached), None)
            if spent is not None and isinstance(assignment.stage, Active):
                over.append((assignment, self._over(run, spent, now)))
        return over

    def _over(self, run: ActiveRun, spent: BudgetStatus, now: datetime) -> LimitExceeded:
        passed = budgets.ended(spent, now)
        run.stream.note("fleet_budget", now, limit=passed.limit, why=passed.detail)
        text = f"{run.task_id}: stopping: {passed.detail}"
        self._log.say("budget", text, task_dir=run.run.task_dir, limit=passed.limit)
        return passed

    # What would begin.

    def refusal(self, task: Task, policy: Policy, project: str) -> Decision | None:
        """What becomes of a task whose budget is spent; None: it may begin."""
        own = budgets.of_task(task.id, policy.budget, spent_before(self._home.task(task.id)))
        spent = own if own is not None and own.reached else self.spent(project)
        return None if spent is None else budgets.refused(spent, self._now())

    def spent(self, project: str) -> BudgetStatus | None:
        """The budget of today that is spent and that a task of this project would spend from."""
        payer = self._payer(project, "")
        today = self._of_today(budgets.day_of(self._now()))
        return next((each for each in today if each.reached and each.concerns(payer)), None)

    def spent_by(self, account: str) -> BudgetStatus | None:
        """The budget of an account, if it is spent."""
        today = self._of_today(budgets.day_of(self._now()))
        mine = (each for each in today if each.scope == "account" and each.name == account)
        return next((each for each in mine if each.reached), None)

    def day_is_spent(self) -> bool:
        """The budget of the whole day is spent: nothing is claimed, and that is said once."""
        today = budgets.day_of(self._now())
        found = (each for each in self._of_today(today) if each.reached and each.scope == "day")
        if (spent := next(found, None)) is None:
            return False
        if self._rested != (now := f"{today} {spent.budget}"):
            self._rested = now
            text = f"nothing new is started: {budgets.spent_words(spent)}"
            self._log.say("budget_spent", text, scope=spent.scope)
        return True

    def waits_for_budget(self, task: Task) -> bool:
        """Nothing but a budget that is spent keeps the task from running."""
        if not self._was_put_off(task):
            return False
        try:
            return self.spent(place_of(self._home, self._config, task).cwd) is not None
        except FleetError:
            return False

    def has_budget_again(self, task: Task) -> bool:
        """It was put off until a new day, for a budget that has room again."""
        return self._was_put_off(task) and not self.waits_for_budget(task)

    def _was_put_off(self, task: Task) -> bool:
        """It waits for a day to begin, and not since an attempt of its own failed."""
        if task.not_before is None or not budgets.begins_a_day(task.not_before):
            return False
        return was_put_off(self._home.task(task.id), task.not_before)

    # How all that is known.

    def _of_today(self, today: str) -> tuple[BudgetStatus, ...]:
        if not self._empty:
            return ()
        day = self._spending.day(today)
        spends = [
            (self._payer(project, account), spend)
            for (project, account), spend in day.sums().items()
        ]
        spends += [
            (self._payer(run.project, run.account), run.spend)
            for run, began, _ in self._runs_seen.values()
            if began == today and (run.task_id, run.run.number) not in day.entries
        ]
        return tuple(budgets.status_of(empty, spends) for empty in self._empty)

    def _mind(self, today: str) -> None:
        """See how the budgets of the day stand, and warn of those that are near."""
        self.statuses = self._of_today(today)
        for status in self.statuses:
            self._warn(status, today, self._of_day(today, status))

    def _of_day(self, today: str, status: BudgetStatus) -> list[ActiveRun]:
        return [
            run
            for run, began, _ in self._runs_seen.values()
            if began == today and status.concerns(self._payer(run.project, run.account))
        ]

    def _payer(self, project: str, account: str) -> Payer:
        key = (project, account)
        if key not in self._payers:
            self._payers[key] = Payer(self._config.project(project).path, account)
        return self._payers[key]

    def _warn(self, status: BudgetStatus, today: str, runs: list[ActiveRun]) -> None:
        """Say once a day that a budget is near, or cannot see all."""
        key = f"{status.scope}:{status.name}:{status.budget}"
        if status.near and self._spending.tell_once(today, f"near:{key}"):
            facts = {"scope": status.scope, "percent": status.percent, "why": str(status)}
            for run in runs:
                run.stream.note("fleet_budget_near", self._now(), **facts)
            self._say(status, "budget_near", f"{status}")
        if status.blind and self._spending.tell_once(today, f"blind:{key}"):
            text = (
                f"{status.title} counts dollars and cannot see all: nobody knows what"
                f" {shown_runs(status.spent.unpriced)} cost. Give their models a price in"
                ' runtime.toml: [prices."pattern"]; see fleet usage --by model'
            )
            self._say(status, "budget_blind", text)

    def _say(self, status: BudgetStatus, action: str, text: str) -> None:
        task_dir = self._home.task(status.name) if status.scope == "task" else None
        self._log.say(action, text, task_dir=task_dir, scope=status.scope, of=status.name)
