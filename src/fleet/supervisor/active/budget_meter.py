"""The meter: what runs cost, as they run and once they are over, and what budgets say.

The rules are in `budgets`, the books in `day_ledger`; here both are asked, and it is acted on: a
warning once, no start, or the end of a run.
"""

from collections.abc import Callable, Iterable
from datetime import datetime

from fleet.config import Config
from fleet.home import Home
from fleet.home.journal import Log
from fleet.runs.outcome_history import spent_before
from fleet.runs.run_directory import began_at
from fleet.schemas import LimitExceeded, Receipt, Spend
from fleet.schemas.budget import BudgetStatus, Payer
from fleet.schemas.shown_text import counted
from fleet.spending import budgets
from fleet.spending.day_ledger import DayLedger, SpendEntry
from fleet.spending.prices import LookedUpPrices
from fleet.supervisor.assignments import ActiveRun


class BudgetMeter:
    """What is spent in one home, by ended and by active runs."""

    def __init__(self, home: Home, config: Config, log: Log, clock: Callable[[], datetime]) -> None:
        self._home = home
        self._log = log
        self._now = clock
        self.ledger = DayLedger(home, keeps=True)
        self._config = config
        self._prices, self._own_prices = LookedUpPrices(config.prices), config.prices
        self._empty = budgets.of_days(config)
        self._payers: dict[tuple[str, str], Payer] = {}
        #: The runs in hand, each with the day it began on and what its task had used before.
        self._runs_seen: dict[str, tuple[ActiveRun, str, Spend]] = {}
        #: How the budgets of the day stood when the runs were counted.
        self._counted: tuple[BudgetStatus, ...] = ()

    def apply(self, config: Config) -> None:
        """Go by these settings from now on."""
        if config is self._config:
            return
        self._config, self._empty = config, budgets.of_days(config)
        self._payers.clear()
        if config.prices != self._own_prices:
            self._prices, self._own_prices = LookedUpPrices(config.prices), config.prices

    def apply_prices(self, run: ActiveRun) -> None:
        """Give a run the prices in force."""
        self._prices.begin(run.totals.model)
        run.prices = self._prices

    def count(self, runs: Iterable[ActiveRun]) -> None:
        """Count these runs; warns of budgets that are near."""
        now = self._now()
        known, self._runs_seen = self._runs_seen, {}
        for run in runs:
            self.apply_prices(run)
            seen = known.get(run.task_id)
            if seen is None or seen[0] is not run:
                before = spent_before(run.run.task_dir, before=run.run.number)
                day = budgets.day_of(began_at(run.run) or now)
                if run.adopted and not run.memory.recorded:  # an earlier supervisor died later
                    run.memory.recorded = self.ledger.has(day, run.task_id, run.run.number)
                seen = (run, day, before)
            self._runs_seen[run.task_id] = seen
        self._counted = self.announce_near()

    def over_budget(self, run: ActiveRun) -> LimitExceeded | None:
        """How a run that was counted ends, as a budget is spent; warns of its own that is near."""
        if not self._counted and not run.policy.budget:  # most homes have no budget
            return None
        now = self._now()
        today = budgets.day_of(now)
        _, day, before = self._runs_seen[run.task_id]
        own = budgets.of_task(run.task_id, run.policy.budget, before + run.spend)
        if own is not None:
            self._warn(own, today, [run])
        mine = [own] if own is not None else []
        if day == today:
            payer = self._payer(run.project, run.account)
            mine += [each for each in self._counted if each.concerns(payer)]
        spent = next((each for each in mine if each.reached), None)
        return self._over(run, spent, now) if spent is not None else None

    def record(self, run: ActiveRun, receipt: Receipt) -> tuple[str, SpendEntry]:
        """Write what a run spent that ended, in the ledger of the day on which the run began.
        Returns the day and what was written. Raises OSError.
        """
        again = run.adopted or run.memory.recorded
        written = self.ledger.record(receipt, receipt.started_at or self._now(), again=again)
        run.memory.recorded = True
        return written

    def statuses(self) -> tuple[BudgetStatus, ...]:
        """How the budgets of today stand."""
        if not self._empty:
            return ()
        today = budgets.day_of(self._now())
        day = self.ledger.day(today)
        spends = [
            (self._payer(project, account), spend)
            for (project, account), spend in day.sums().items()
        ]
        spends += [
            (self._payer(run.project, run.account), run.spend)
            for run, began, _ in self._runs_seen.values()
            if began == today and not run.memory.recorded
        ]
        return tuple(budgets.status_of(empty, spends) for empty in self._empty)

    def announce_near(self) -> tuple[BudgetStatus, ...]:
        """Warn of the budgets of today that are near, in the log and to the runs that spend from
        them; returns how all stand.
        """
        today, found = budgets.day_of(self._now()), self.statuses()
        for status in found:
            self._warn(status, today, self._of_day(today, status))
        return found

    def _over(self, run: ActiveRun, spent: BudgetStatus, now: datetime) -> LimitExceeded:
        passed = budgets.ended(spent, now)
        run.stream.note("fleet_budget", now, limit=passed.limit, why=passed.detail)
        text = f"{run.task_id}: stopping: {passed.detail}"
        self._log.say("budget", text, task_dir=run.run.task_dir, limit=passed.limit)
        return passed

    def spent_by(self, account: str) -> BudgetStatus | None:
        """The budget of an account, if that is spent."""
        reached = (each for each in self.statuses() if each.reached and each.scope == "account")
        return next((each for each in reached if each.name == account), None)

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
        """Log once a day that a budget is near, or that runs of unknown cost escape the budget."""
        key = f"{status.scope}:{status.name}:{status.budget}"
        if status.near and self.ledger.warn_once(today, f"near:{key}"):
            facts = {"scope": status.scope, "percent": status.percent, "why": str(status)}
            for run in runs:
                run.stream.note("fleet_budget_near", self._now(), **facts)
            self._say(status, "budget_near", f"{status}")
        if status.blind and self.ledger.warn_once(today, f"blind:{key}"):
            text = (
                f"{status.title} counts dollars and cannot see all: the cost of"
                f" {counted(status.spent.unpriced, 'run')} is unknown. Give their models a price in"
                ' runtime.toml: [prices."pattern"]; see fleet usage --by model'
            )
            self._say(status, "budget_blind", text)

    def _say(self, status: BudgetStatus, action: str, text: str) -> None:
        task_dir = self._home.task(status.name) if status.scope == "task" else None
        self._log.say(action, text, task_dir=task_dir, scope=status.scope, of=status.name)
