"""Which tasks could run now: what the budgets and the accounts have room for."""

from collections.abc import Callable
from datetime import datetime

from fleet.accounts.candidates import Place, place_of
from fleet.config import Config
from fleet.errors import FleetError
from fleet.home import Home
from fleet.runs.outcome_history import was_put_off
from fleet.schemas import Task
from fleet.supervisor.active.assign_account import AccountAssigner
from fleet.supervisor.active.budget_meter import BudgetMeter


class Capacity:
    """The budgets and accounts of one home, by the settings in force."""

    def __init__(
        self,
        home: Home,
        config: Config,
        *,
        coder: str | None,
        meter: BudgetMeter,
        accounts: AccountAssigner,
        clock: Callable[[], datetime],
    ) -> None:
        self._home, self._config, self._coder, self._now = home, config, coder, clock
        self.meter, self.accounts = meter, accounts

    def apply(self, config: Config) -> None:
        """Go by these settings from now on."""
        self._config = config
        self.meter.apply(config)

    def waits_for_person(self, task: Task) -> str:
        """What keeps the task from running, if only a person can change that; empty otherwise."""
        if self.meter.waits_for_budget(task):
            return "a budget is spent"
        place = self._place(task)
        if place is None:
            return ""
        return self.accounts.waits_for_person(self._config, place, task.id, self._now())

    def has_account_again(self, task: Task) -> bool:
        """The task was put off for want of an account, and there is one for it now."""
        if not was_put_off(self._home.task(task.id), task.not_before):
            return False
        place = self._place(task)
        if place is None or self.meter.spent(place.cwd) is not None:
            return False
        return self.accounts.has_room(self._config, place, task.id, self._now())

    def has_other_seat(self, task: Task, account: str) -> bool:
        """The task may go on with another account, model or coder."""
        place = self._place(task)
        return place is not None and self.accounts.has_other_seat(self._config, place, account)

    def _place(self, task: Task) -> Place | None:
        try:
            return place_of(self._home, self._config, task, coder=self._coder)
        except FleetError:
            return None
