"""One login or key of a coder, its windows, and the chain of those that may stand in. Pure."""

from datetime import datetime
from typing import Annotated, Literal, cast, get_args

from msgspec import Meta, Struct

from fleet.errors import BadInput
from fleet.schemas.event import LimitKind, LimitStatus

#: A moment that can be compared with any other.
Moment = Annotated[datetime, Meta(tz=True)]

#: The setting for a task that waits rather than goes to another model or coder.
NO_CHAIN = "none"


class Account(Struct, frozen=True, kw_only=True):
    """One login or key of a coder."""

    name: str
    coder: str
    #: Where its CLI keeps its state; empty: where the user's own is.
    directory: str = ""
    #: Where its secret comes from: env:NAME, file:PATH, keyring:SERVICE/USER. Empty: it is logged
    #: in, in its directory.
    secret: str = ""
    #: The variable that hands the secret to the CLI; empty: the coder's usual one.
    variable: str = ""
    #: Its share of the work beside others of the same coder; 0: only where a chain names it.
    weight: int = 1
    #: How many agents it serves at once.
    max_concurrent: int = 1000
    #: A window that is so full (percent) gets no new work.
    stop_at: int = 100
    #: What may be spent on it in a day; empty: whatever it gives.
    day_budget: str = ""
    enabled: bool = True

    @property
    def is_own(self) -> bool:
        """The user's own login, which nobody had to declare."""
        return self.name == self.coder and not self.directory and not self.secret


class Window(Struct, frozen=True, kw_only=True):
    """One of an account's limits, by the last word on it."""

    kind: LimitKind
    #: The model that met it last: where a window is one model's, an alias may lead there.
    model: str = ""
    status: LimitStatus = "allowed"
    used_percent: Annotated[float, Meta(ge=0, le=100)] | None = None
    #: None: its end is not known.
    resets_at: Moment | None = None
    seen_at: Moment


class Step(Struct, frozen=True):
    """Where a task goes when those before have no room."""

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
