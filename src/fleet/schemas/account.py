"""Accounts, their windows, and the chain of accounts, models and coders to fall back on. Pure."""

from datetime import datetime
from typing import Annotated, Literal, cast, get_args

from msgspec import Meta, Struct

from fleet.errors import BadInput
from fleet.schemas.event import LimitKind, LimitStatus

#: A moment that can be compared with any other.
Moment = Annotated[datetime, Meta(tz=True)]

#: The setting of a task that waits for its own accounts and falls back on nothing.
NO_CHAIN = "none"


class Account(Struct, frozen=True, kw_only=True):
    """One login or key of a coder."""

    name: str
    coder: str
    #: Where the CLI keeps its state for this account; empty: where the user's own state is.
    directory: str = ""
    #: Where the secret comes from: env:NAME, file:PATH, keyring:SERVICE/USER. Empty: the CLI is
    #: logged in, in the account's directory.
    secret: str = ""
    #: The variable that hands the secret to the CLI; empty: the coder's usual one.
    variable: str = ""
    #: The account's share of the coder's work; 0: only where a chain names the account.
    weight: int = 1
    #: How many agents may run on the account at once.
    max_concurrent: int = 1000
    #: A window that is so full (percent) gets no new work.
    stop_at: int = 100
    #: What may be spent on the account in a day; empty: no budget.
    day_budget: str = ""
    enabled: bool = True

    @property
    def is_own(self) -> bool:
        """The user's own login, which exists without a table in runtime.toml."""
        return self.name == self.coder and not self.directory and not self.secret


class Window(Struct, frozen=True, kw_only=True):
    """One limit of an account, as last reported."""

    kind: LimitKind
    #: The model that last met the limit; an alias may lead to a window of one model.
    model: str = ""
    status: LimitStatus = "allowed"
    used_percent: Annotated[float, Meta(ge=0, le=100)] | None = None
    #: None: the end of the window is not known.
    resets_at: Moment | None = None
    seen_at: Moment


class Step(Struct, frozen=True):
    """One step of a chain: where a task goes when the earlier steps have no room."""

    kind: Literal["account", "model", "coder"]
    name: str
    #: The model of another coder; empty: that coder's own.
    model: str = ""

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}" + (f"/{self.model}" if self.model else "")


_KINDS = get_args(Step.__annotations__["kind"])


def read_chain(text: str) -> tuple[Step, ...]:
    """`account:spare, model:haiku, coder:codex/gpt-5`, in this order. Raises BadInput."""
    if text.strip() == NO_CHAIN:
        return ()
    return tuple(_step(word.strip()) for word in text.split(","))


def _step(word: str) -> Step:
    kind, colon, name = word.partition(":")
    if not colon or kind not in _KINDS or not name.strip():
        raise BadInput(
            f"{word!r} is no step to fall back to",
            hint="Write account:NAME, model:NAME or coder:NAME[/MODEL], with commas between.",
        )
    model = ""
    if kind == "coder":
        name, _, model = name.partition("/")
    kind = cast('Literal["account", "model", "coder"]', kind)
    return Step(kind, name.strip(), model.strip())
