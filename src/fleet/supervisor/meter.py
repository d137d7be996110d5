"""The meter: what runs cost, as they live and once they are over, and what budgets say to it.

The rules are in `budgets`, the books in `spending`; here is who asks them and what is done: a
warning once, no start, or the end of a run.
"""

from collections.abc import Callable, Iterable
from datetime import datetime

from fleet.coders.prices import Prices
from fleet.config import Config
from fleet.errors import FleetError
from fleet.schemas import Policy, Receipt, Spend, Task
from fleet.schemas.budget import shown_runs
from fleet.supervisor import budgets
from fleet.supervisor.budgets import Payer, Standing
from fleet.supervisor.history import spent_before
from fleet.supervisor.live import Live
from fleet.supervisor.log import Log
from fleet.supervisor.settle import Decision
from fleet.supervisor.spending import Spending, entry_of
from fleet.taskdir import Home
from fleet.taskdir.place import place_of
from fleet.taskdir.rundir import began_at


class Meter:
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
        #: Living runs, each with the day it began on and what its task had used before.
        self._lives: dict[str, tuple[Live, str, Spend]] = {}
        #: Of which day and budget it was said that it is spent.
        self._rested = ""
        #: The budgets of today, for people.
        self.standings: tuple[Standing, ...] = ()

    def apply(self, config: Config) -> None:
        """Go by these settings from now on."""
        if config is self._config:
            return
        self._config, self._empty = config, budgets.of_days(config)
        self._payers.clear()
        if config.prices != self._own_prices:
            self._prices, self._own_prices = Prices(config.prices), config.prices

    def see(self, live: Live) -> None:
        """Let a run count by the prices in force."""
        live.prices = self._prices

    # What is over.

    def paid(self, live: Live, receipt: Receipt) -> None:
        """Write a run into the books. May raise OSError: then it is not settled yet."""
        began = receipt.started_at or began_at(live.run) or self._now()
        self._spending.paid(entry_of(receipt), began)
        self._mind(budgets.day_of(self._now()))

    # What lives.

    def look(self, lives: Iterable[Live]) -> list[tuple[Live, Standing]]:
        """Warn of budgets that are near; the runs that have to end as theirs is spent."""
        now = self._now()
        today = budgets.day_of(now)
        known, self._lives = self._lives, {}
        for live in lives:
            self.see(live)
            seen = known.get(live.task_id)
            if seen is None or seen[0] is not live:
                before = spent_before(live.run.task_dir, before=live.run.number)
                seen = (live, budgets.day_of(began_at(live.run) or now), before)
            self._lives[live.task_id] = seen
        self._mind(today)
        over: list[tuple[Live, Standing]] = []
        for live, day, before in self._lives.values():
            own = budgets.of_task(live.task_id, live.policy.budget, before + live.spend)
            if own is not None:
                self._warn(own, today, [live])
            mine = [own] if own is not None else []
            if day == today:
                payer = self._payer(live.project, live.account)
                mine += [each for each in self.standings if each.concerns(payer)]
            spent = next((each for each in mine if each.reached), None)
            if spent is not None and live.verdict is None and live.over is None:
                over.append((live, spent))
        return over

    # What would begin.

    def refusal(self, task: Task, policy: Policy, project: str) -> Decision | None:
        """What becomes of a task whose budget is spent; None: it may begin."""
        own = budgets.of_task(task.id, policy.budget, spent_before(self._home.task(task.id)))
        spent = own if own is not None and own.reached else self.spent(project)
        return None if spent is None else budgets.refused(spent, self._now())

    def spent(self, project: str, account: str = "") -> Standing | None:
        """The budget of today that is spent and that a run of these would spend from."""
        payer = self._payer(project, account)
        today = self._of_today(budgets.day_of(self._now()))
        return next((each for each in today if each.reached and each.concerns(payer)), None)

    def rests(self) -> bool:
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

    def waits(self, task: Task) -> bool:
        """Nothing but a budget that is spent keeps the task from running."""
        if task.not_before is None or not budgets.begins_a_day(task.not_before):
            return False
        try:
            return self.spent(place_of(self._home, self._config, task).cwd) is not None
        except FleetError:
            return False

    def put_off(self, task: Task) -> bool:
        """It was put off until a new day, for a budget that has room again."""
        day = task.not_before is not None and budgets.begins_a_day(task.not_before)
        return day and not self.waits(task)

    # How all that is known.

    def _of_today(self, today: str) -> tuple[Standing, ...]:
        if not self._empty:
            return ()
        day = self._spending.day(today)
        spends = [
            (self._payer(project, account), spend)
            for (project, account), spend in day.sums().items()
        ]
        spends += [
            (self._payer(live.project, live.account), live.spend)
            for live, began, _ in self._lives.values()
            if began == today and (live.task_id, live.run.number) not in day.entries
        ]
        return tuple(budgets.standing(empty, spends) for empty in self._empty)

    def _mind(self, today: str) -> None:
        """See how the budgets of the day stand, and warn of those that are near."""
        self.standings = self._of_today(today)
        for standing in self.standings:
            self._warn(standing, today, self._of_day(today, standing))

    def _of_day(self, today: str, standing: Standing) -> list[Live]:
        return [
            live
            for live, began, _ in self._lives.values()
            if began == today and standing.concerns(self._payer(live.project, live.account))
        ]

    def _payer(self, project: str, account: str) -> Payer:
        key = (project, account)
        if key not in self._payers:
            self._payers[key] = Payer(self._config.project(project).path, account)
        return self._payers[key]

    def _warn(self, standing: Standing, today: str, lives: list[Live]) -> None:
        """Say once a day that a budget is near, or cannot see all."""
        key = f"{standing.scope}:{standing.name}:{standing.budget}"
        if standing.near and self._spending.tell_once(today, f"near:{key}"):
            facts = {"scope": standing.scope, "percent": standing.percent, "why": str(standing)}
            for live in lives:
                live.note("fleet_budget_near", self._now(), **facts)
            self._say(standing, "budget_near", f"{standing}")
        if standing.blind and self._spending.tell_once(today, f"blind:{key}"):
            text = (
                f"{standing.title} counts dollars and cannot see all: nobody knows what"
                f" {shown_runs(standing.spent.unpriced)} cost. Give their models a price in"
                ' runtime.toml: [prices."pattern"]; see fleet usage --by model'
            )
            self._say(standing, "budget_blind", text)

    def _say(self, standing: Standing, action: str, text: str) -> None:
        task_dir = self._home.task(standing.name) if standing.scope == "task" else None
        self._log.say(action, text, task_dir=task_dir, scope=standing.scope, of=standing.name)
