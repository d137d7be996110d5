"""How a run ended."""

from datetime import datetime
from typing import Literal

from msgspec import Struct

from fleet.schemas.event import RateLimit, Reason
from fleet.schemas.policy import LimitName
from fleet.schemas.shown_text import first_line

#: How much of a CLI's own words is kept of a refusal.
_MOST_WORDS = 200


class Finished(Struct, frozen=True, kw_only=True, tag=True):
    """The agent ended unasked. Whether the task is done is another question."""

    text: str = ""
    #: Tools that it wanted and was refused, with the command or file where that is known.
    denied: tuple[str, ...] = ()


class Failed(Struct, frozen=True, kw_only=True, tag=True):
    """The run broke."""

    reason: Reason
    #: The CLI's own words, for a person.
    detail: str = ""

    @property
    def is_account(self) -> bool:
        """Any other task would fail in the same way on this account."""
        return self.reason in ("auth", "billing", "no_key")

    @property
    def is_for_a_person(self) -> bool:
        """No retry helps: a person has to trust a directory or change the set-up."""
        return self.reason in ("wrong_account", "untrusted", "no_terminal")

    @property
    def said(self) -> str:
        """The first line of the CLI's own words; the reason where it had none."""
        said = first_line(self.detail).rstrip(". ")[:_MOST_WORDS]
        return said or self.reason.replace("_", " ")


class RateLimited(Struct, frozen=True, kw_only=True, tag=True):
    """The vendor refused to go on, or the vendor's service failed."""

    limit: RateLimit
    #: The CLI's own words at an outage, for a person.
    detail: str = ""


class ContextFull(Struct, frozen=True, kw_only=True, tag=True):
    """The model's context has no room left."""

    tokens: int | None = None
    window: int | None = None


class NeedsHuman(Struct, frozen=True, kw_only=True, tag=True):
    """The agent asked a question and left."""

    question: str = ""


#: Why a run counts as stalled.
Rung = Literal[
    #: No first event.
    "never_started",
    #: A server or a tool that the task needs is missing from the start.
    "degraded",
    #: No event, and neither processes nor files moved on a second look.
    "silent",
    #: The agent waits for typed input or a permission.
    "needs_input",
    #: The same call with the same error, again and again.
    "looping",
    #: Output and calls went on, and nothing of that was new.
    "repeating",
]


class Stalled(Struct, frozen=True, kw_only=True, tag=True):
    """The agent ran and made no progress."""

    rung: Rung = "silent"
    silent_seconds: float = 0.0
    detail: str = ""


class LimitExceeded(Struct, frozen=True, kw_only=True, tag=True):
    """The run used up a limit."""

    limit: LimitName
    detail: str = ""
    #: When the limit has room again; None if that does not come by itself.
    until: datetime | None = None


class Stopped(Struct, frozen=True, kw_only=True, tag=True):
    """A person, or a supervisor that shut down, ended the run."""

    by: str


class Lost(Struct, frozen=True, kw_only=True, tag=True):
    """The run has ended, and no record says how."""

    why: str = ""


#: How a run ended.
Outcome = (
    Finished
    | Failed
    | RateLimited
    | ContextFull
    | NeedsHuman
    | Stalled
    | LimitExceeded
    | Stopped
    | Lost
)


#: Failures that cut a run off in the middle of its work.
CUT_OFF = frozenset({"api_error", "killed", "aborted", "timeout", "stale_login"})
#: Failures from outside: they say nothing of what the agent did before.
_FROM_OUTSIDE = CUT_OFF | {"auth", "billing"}
#: Failures after which no work can be this task's.
_NEVER_WORKED = frozenset({"wrong_account", "untrusted", "no_terminal", "never_started"})


def leaves_claim(outcome: Outcome, *, provable: bool) -> bool:
    """Whether a claim that the run made before this end is judged: the end says nothing against the
    work.

    Not so where a person stopped the run, the agent asked a question, or the run was never one of
    this task and account. A stream that ends in no way that the CLI knows is left to those claims
    that a verify command can prove.
    """
    match outcome:
        case Failed(reason=reason):
            return reason in _FROM_OUTSIDE or (provable and reason not in _NEVER_WORKED)
        case Stalled(rung=rung):
            return rung not in ("never_started", "degraded")
        case Stopped() | NeedsHuman():
            return False
        case _:
            return True


def named(outcome: Outcome) -> str:
    """An outcome by name and reason: `Stalled (silent)`, `Failed (auth)`."""
    match outcome:
        case Failed(reason=detail) | Stalled(rung=detail) | LimitExceeded(limit=detail):
            return f"{type(outcome).__name__} ({detail})"
        case RateLimited(limit=limit):
            return f"RateLimited ({limit.kind})"
        case _:
            return type(outcome).__name__
