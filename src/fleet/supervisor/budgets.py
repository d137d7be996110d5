"""What may be spent, held against what was: which budgets are in force, how each stands, whom one
that is spent concerns, and the way out. Pure.

A day is one of this machine's calendar. A run belongs to the day on which it began, whenever it
ends and however the clock goes meanwhile.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, time, timedelta
from math import ceil
from shlex import quote
from typing import Literal

from msgspec import Struct

from fleet.config import Config
from fleet.schemas import Budget, LimitExceeded, LimitName, Spend
from fleet.schemas.budget import MOST_TOKENS, read_budget, shown_runs
from fleet.supervisor.settle import Decision, blocked, released

#: From this share of a budget on a warning is given, in percent.
SOFT = 80

Scope = Literal["task", "project", "day", "account"]
LIMIT_OF: Mapping[Scope, LimitName] = {
    "task": "task_budget",
    "project": "project_budget",
    "day": "day_budget",
    "account": "account_budget",
}


class Payer(Struct, frozen=True):
    """On whose behalf a run spends: the project's directory as configured, and the account."""

    project: str = ""
    account: str = ""


class Purse(Struct, frozen=True, kw_only=True):
    """A budget, and what was spent of it."""

    scope: Scope
    #: The task's id, the project's directory or the account's name; empty for the whole day.
    name: str = ""
    budget: Budget
    spent: Spend = Spend()

    @property
    def percent(self) -> int:
        return int(100 * self.spent.share_of(self.budget))

    @property
    def reached(self) -> bool:
        return self.spent.share_of(self.budget) >= 1

    @property
    def near(self) -> bool:
        return self.percent >= SOFT

    @property
    def blind(self) -> bool:
        """It counts dollars, and there are runs whose cost nobody knows."""
        return self.budget.usd is not None and self.spent.unpriced > 0

    @property
    def title(self) -> str:
        match self.scope:
            case "task":
                return f"the budget of {self.name}"
            case "project":
                return f"the day's budget of {self.name}"
            case "account":
                return f"the day's budget of account {self.name}"
            case "day":
                return "the day's budget"

    @property
    def figures(self) -> str:
        """`~$12.40 of $20 (62 %)`, and what it does not hold."""
        more = f" and {shown_runs(self.spent.unpriced)} of unknown cost" if self.blind else ""
        return f"{self.spent.shown(self.budget)} of {self.budget} ({self.percent} %){more}"

    def __str__(self) -> str:
        return f"{self.title}: {self.figures}"

    def concerns(self, payer: Payer) -> bool:
        """Whoever spends for this payer spends from it."""
        match self.scope:
            case "day":
                return True
            case "project":
                return self.name == payer.project
            case "account":
                return self.name == payer.account
            case "task":
                return False

    @property
    def way_out(self) -> str:
        """What a person can do about one that is spent."""
        match self.scope:
            case "task":
                more = _more(self.budget, self.spent)
                return f"to go on: fleet retry {self.name} --budget '{more}'"
            case "project":
                word = f"fleet config set --project {quote(self.name)} day_budget='…'"
            case "account":
                word = f"a larger day_budget of [accounts.{self.name}] in runtime.toml"
            case "day":
                word = "fleet config set day_budget='…'"
        return f"to go on today: {word}"


def of_days(config: Config) -> tuple[Purse, ...]:
    """The budgets of a day that are in force, with nothing spent yet."""
    projects = [
        Purse(scope="project", name=path, budget=read_budget(str(text)))
        for path, project in sorted(config.projects.items())
        if (text := project.settings.get("day_budget"))
    ]
    own = [
        Purse(scope="account", name=name, budget=read_budget(account.day_budget))
        for name, account in sorted(config.accounts.items())
        if account.day_budget
    ]
    whole = Purse(scope="day", budget=read_budget(config.day_budget))
    return tuple(each for each in (whole, *projects, *own) if each.budget)


def purse(empty: Purse, spends: Iterable[tuple[Payer, Spend]]) -> Purse:
    """How a budget of a day stands, by what was spent for whom."""
    total = Spend()
    for payer, spend in spends:
        if empty.concerns(payer):
            total += spend
    return Purse(scope=empty.scope, name=empty.name, budget=empty.budget, spent=total)


def of_task(task_id: str, budget: Budget, spent: Spend) -> Purse | None:
    """How a task's own budget stands; None: it has none."""
    return Purse(scope="task", name=task_id, budget=budget, spent=spent) if budget else None


def ended(purse: Purse, now: datetime) -> LimitExceeded:
    """How a run ends that lives as a budget is spent."""
    until = None if purse.scope == "task" else next_day(now)
    return LimitExceeded(limit=LIMIT_OF[purse.scope], detail=spent_words(purse), until=until)


def refused(purse: Purse, now: datetime) -> Decision:
    """What becomes of a task that would begin on a budget that is spent."""
    if purse.scope == "task":
        return blocked(f"limit exceeded (task_budget): {spent_words(purse)}")
    return released(spent_words(purse), not_before=next_day(now))


def spent_words(purse: Purse) -> str:
    """That it is spent, and what can be done about it, in a sentence."""
    return f"{purse.title} is spent: {purse.figures}; {purse.way_out}"


def day_of(moment: datetime) -> str:
    """The day of this machine's calendar that a moment falls on."""
    return f"{moment.astimezone():%Y-%m-%d}"


def next_day(now: datetime) -> datetime:
    """When the next day begins here."""
    tomorrow = now.astimezone().date() + timedelta(days=1)
    return datetime.combine(tomorrow, time.min).astimezone()


def begins_a_day(moment: datetime) -> bool:
    """Midnight, or so soon after it as those come back who waited for the same account."""
    return moment.astimezone().time() < time(minute=10)


def _more(budget: Budget, spent: Spend) -> Budget:
    """A budget that leaves room: twice what it was, or half as much again as was spent."""
    if budget.usd is not None:
        return Budget(usd=min(max(2 * budget.usd, ceil(1.5 * spent.usd)), 999_999.0))
    return Budget(tokens=min(max(2 * (budget.tokens or 1), 3 * spent.tokens // 2), MOST_TOKENS))
