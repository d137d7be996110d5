"""A budget with the spend so far, and the words for both. Pure."""

from math import ceil
from shlex import quote
from typing import Literal

from msgspec import Struct

from fleet.schemas.budget import MOST_TOKENS, Budget, Spend, shown_runs

#: From this share of a budget on a warning is given, in percent.
SOFT = 80

Scope = Literal["task", "project", "day", "account"]


class Payer(Struct, frozen=True):
    """The project (its directory as configured) and the account that a run spends for."""

    project: str = ""
    account: str = ""


class BudgetStatus(Struct, frozen=True, kw_only=True):
    """A budget, and what was spent of the budget."""

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
        """The budget is in dollars, and there are runs of unknown cost."""
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
        """`~$12.40 of $20 (62 %)`, with the number of runs of unknown cost."""
        more = f" and {shown_runs(self.spent.unpriced)} of unknown cost" if self.blind else ""
        return f"{self.spent.shown(self.budget)} of {self.budget} ({self.percent} %){more}"

    def __str__(self) -> str:
        return f"{self.title}: {self.figures}"

    def concerns(self, payer: Payer) -> bool:
        """A run that spends for this payer spends from this budget."""
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
        """What a person can do once the budget is spent."""
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


def _more(budget: Budget, spent: Spend) -> Budget:
    """A budget that leaves room: twice what it was, or half as much again as was spent."""
    if budget.usd is not None:
        return Budget(usd=min(max(2 * budget.usd, ceil(1.5 * spent.usd)), 999_999.0))
    return Budget(tokens=min(max(2 * (budget.tokens or 1), 3 * spent.tokens // 2), MOST_TOKENS))
