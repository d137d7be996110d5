"""Budgets: which are in force, how each stands, and what follows for a run when one is spent. Pure.

A day is one of this machine's calendar. A run belongs to the day on which it began, whenever it
ends and however the clock goes meanwhile.
"""

from collections.abc import Iterable
from datetime import datetime, time, timedelta
from typing import cast

from fleet.config import Config
from fleet.schemas import Budget, LimitExceeded, LimitName, Spend
from fleet.schemas.budget import BudgetStatus, Payer, read_budget


def of_days(config: Config) -> tuple[BudgetStatus, ...]:
    """The budgets of a day that are in force, with nothing spent yet."""
    projects = [
        BudgetStatus(scope="project", name=path, budget=read_budget(str(text)))
        for path, project in sorted(config.projects.items())
        if (text := project.settings.get("day_budget"))
    ]
    own = [
        BudgetStatus(scope="account", name=name, budget=read_budget(account.day_budget))
        for name, account in sorted(config.accounts.items())
        if account.day_budget
    ]
    whole = BudgetStatus(scope="day", budget=read_budget(config.day_budget))
    return tuple(each for each in (whole, *projects, *own) if each.budget)


def status_of(empty: BudgetStatus, spends: Iterable[tuple[Payer, Spend]]) -> BudgetStatus:
    """How a budget of a day stands; `spends` is what was spent, each with the payer."""
    total = Spend()
    for payer, spend in spends:
        if empty.concerns(payer):
            total += spend
    return BudgetStatus(scope=empty.scope, name=empty.name, budget=empty.budget, spent=total)


def of_task(task_id: str, budget: Budget, spent: Spend) -> BudgetStatus | None:
    """How a task's own budget stands; None: the task has none."""
    return BudgetStatus(scope="task", name=task_id, budget=budget, spent=spent) if budget else None


def ended(status: BudgetStatus, now: datetime) -> LimitExceeded:
    """The outcome of an active run whose budget is spent."""
    until = None if status.scope == "task" else next_day(now)
    limit = cast("LimitName", f"{status.scope}_budget")
    return LimitExceeded(limit=limit, detail=spent_words(status), until=until)


def spent_words(status: BudgetStatus) -> str:
    """A sentence for people: the budget is spent, and the way out."""
    return f"{status.title} is spent: {status.figures}; {status.way_out}"


def day_of(moment: datetime) -> str:
    """The day of this machine's calendar that a moment falls on."""
    return moment.astimezone().date().isoformat()


def next_day(now: datetime) -> datetime:
    """When the next day of this machine's calendar begins."""
    tomorrow = now.astimezone().date() + timedelta(days=1)
    return datetime.combine(tomorrow, time.min).astimezone()


def begins_a_day(moment: datetime) -> bool:
    """Whether a moment is midnight, or within the minutes over which retries are spread."""
    return moment.astimezone().time() < time(minute=10)
