"""What may be spent and what was: prices, budgets, sums, how a budget stands, in words. Pure."""

import re
from math import ceil
from shlex import quote
from typing import Annotated, Literal

from msgspec import Meta, Struct

from fleet.errors import BadInput
from fleet.schemas.shown_text import counted
from fleet.schemas.units import dollars

#: The text for "no budget".
NONE = "none"
#: No budget is larger, and no count of tokens that a CLI could mean.
MOST_TOKENS = 10**12

#: From this share of a budget on a warning is given, in percent.
SOFT = 80

Scope = Literal["task", "project", "day", "account"]

_TOKENS = r"(\d{1,12}(?:\.\d{1,6})?)\s*([kmb]?)\s*(?:tokens?)?"
_TIMES = {"": 1, "k": 1000, "m": 1_000_000, "b": 1_000_000_000}


class Price(Struct, frozen=True, kw_only=True):
    """What a model's tokens cost, in dollars for a million of them."""

    input: float
    output: float
    cache_read: float
    cache_write: float


class Budget(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How much may be spent: dollars or tokens. With neither there is no budget."""

    usd: Annotated[float, Meta(gt=0, lt=1_000_000)] | None = None
    tokens: Annotated[int, Meta(gt=0, le=MOST_TOKENS)] | None = None

    def __bool__(self) -> bool:
        return self.usd is not None or self.tokens is not None

    def __str__(self) -> str:
        if self.usd is not None:
            return shown_usd(self.usd)
        return NONE if self.tokens is None else f"{shown_tokens(self.tokens)} tokens"


class Spend(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What some runs used together."""

    runs: int = 0
    tokens: int = 0
    #: The known cost; how much of that fleet estimated from tokens and prices; and how many runs
    #: have an unknown cost.
    usd: float = 0.0
    estimated_usd: float = 0.0
    unpriced: int = 0

    def __add__(self, other: "Spend") -> "Spend":
        return Spend(
            runs=self.runs + other.runs,
            tokens=self.tokens + other.tokens,
            usd=self.usd + other.usd,
            estimated_usd=self.estimated_usd + other.estimated_usd,
            unpriced=self.unpriced + other.unpriced,
        )

    def share_of(self, budget: Budget) -> float:
        """The share of a budget that this is; 1 is all."""
        if budget.usd is not None:
            return self.usd / budget.usd
        return self.tokens / budget.tokens if budget.tokens is not None else 0.0

    def shown(self, budget: Budget) -> str:
        """Dollars or tokens, whichever the budget counts, for people."""
        if budget.usd is None:
            return shown_tokens(self.tokens)
        return f"{'~' if self.estimated_usd else ''}{shown_usd(self.usd, exact=True)}"

    def words(self) -> str:
        """Tokens and dollars, for people; a cost that is not known is said to be unknown."""
        usd = f"{'~' if self.estimated_usd else ''}{shown_usd(self.usd, exact=True)}"
        if self.unpriced:
            known = f"{usd} and " if self.usd else ""
            usd = f"{known}an unknown cost ({counted(self.unpriced, 'run')})"
        tokens = f"{shown_tokens(self.tokens)} tokens, " if self.tokens or not self.unpriced else ""
        return f"{tokens}{usd}"


def spend_of(
    *, tokens: int, reported: float | None, estimated: float | None, partial: bool = False
) -> Spend:
    """The spend of one run: at the cost that the CLI told, else the estimate, else unknown.

    `partial`: the run was cut off uncounted. What is known of it counts, and its cost is unknown.
    """
    known = reported if reported is not None else estimated
    return Spend(
        runs=1,
        tokens=tokens,
        usd=known or 0.0,
        estimated_usd=(estimated or 0.0) if reported is None else 0.0,
        unpriced=int(known is None or (partial and reported is None)),
    )


def read_budget(text: str) -> Budget:
    """`$20`, `50M`, `50M tokens`, `none`."""
    word = text.strip()
    if word.lower() == NONE:
        return Budget()
    if word.startswith("$"):
        return Budget(usd=dollars(word))
    found = re.fullmatch(_TOKENS, word, flags=re.IGNORECASE)
    tokens = round(float(found[1]) * _TIMES[found[2].lower()]) if found else 0
    plain = found is not None and not found[2] and "token" not in word.lower()
    # A bare 20 may mean dollars or tokens.
    if plain or not 0 < tokens <= MOST_TOKENS:
        raise BadInput(
            f"{text!r} is not a budget",
            hint="Write dollars like $20, tokens like 50M or 50M tokens, or none.",
        )
    return Budget(tokens=tokens)


def shown_usd(amount: float, *, exact: bool = False) -> str:
    """A sum in dollars; sums below a cent with two significant digits."""
    if 0 < amount < 0.01:
        return f"${amount:.2g}" if amount >= 0.0001 else "$0.0001"
    return f"${amount:,.2f}" if exact or amount % 1 else f"${amount:,.0f}"


def shown_tokens(count: int) -> str:
    """A number of tokens in short: `950`, `1.5k`, `50M`."""
    for unit, size in (("B", 10**9), ("M", 10**6), ("k", 1000)):
        if count >= size:
            return f"{count / size:.3g}{unit}" if count < 999.5 * size else f"{count // size}{unit}"
    return str(count)


class Payer(Struct, frozen=True):
    """The project (the directory as configured) and the account that a run spends for."""

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
        more = f" and {counted(self.spent.unpriced, 'run')} of unknown cost" if self.blind else ""
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
    """A budget that leaves room: twice the old one, or half as much again as was spent."""
    if budget.usd is not None:
        return Budget(usd=min(max(2 * budget.usd, ceil(1.5 * spent.usd)), 999_999.0))
    return Budget(tokens=min(max(2 * (budget.tokens or 1), 3 * spent.tokens // 2), MOST_TOKENS))
