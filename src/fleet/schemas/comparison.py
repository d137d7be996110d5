"""One task worked on by several coders from the same commit: what was asked, and what each came
to. Pure.
"""

from datetime import datetime
from typing import Literal

from msgspec import Struct

from fleet.schemas.event import Usage
from fleet.schemas.task import Status
from fleet.schemas.waits import Waits

#: How an entry stands: over by itself, then over for want of a person, then not over.
EntryStanding = Literal[
    #: Closed by its evidence: a verify command passed, or nothing contradicts the claim.
    "checked",
    "unchecked",
    #: The entry claimed to be done and was not believed, in the last attempt that it has.
    "rejected",
    "out of scope",
    "failed",
    "asks",
    "stopped",
    #: Closed by a person, or not there any more.
    "closed",
    "gone",
    "waiting",
    "running",
    "verifying",
    #: An attempt failed, and the next one follows.
    "again",
]
OVER: frozenset[EntryStanding] = frozenset(
    {
        "checked", "unchecked", "rejected", "out of scope", "failed", "asks", "stopped",
        "closed", "gone",
    }
)  # fmt: skip
#: Closed by its evidence: may be picked without `--force`.
DONE: frozenset[EntryStanding] = frozenset({"checked", "unchecked"})

#: making: not all entries are in the queue yet. landing: one was picked, and not all is done.
ComparisonState = Literal["making", "running", "landing", "picked", "discarded"]


class Size(Struct, frozen=True, kw_only=True):
    """How much is different from the commit that all began at."""

    files: int = 0
    added: int = 0
    removed: int = 0


class Result(Struct, frozen=True, kw_only=True):
    """What one entry came to, over all runs."""

    standing: EntryStanding
    why: str = ""
    #: Runs that began.
    attempts: int = 0
    #: What is known of the time and the tokens, and of how many runs either is not known whole.
    seconds: float = 0.0
    untimed: int = 0
    usage: Usage = Usage()
    uncounted: int = 0
    #: Tokens of a run that goes on.
    tokens_so_far: int = 0
    #: What is known of the cost, how much of that fleet estimated, and how many runs have no known
    #: cost at all.
    cost_usd: float = 0.0
    estimated_usd: float = 0.0
    unpriced: int = 0
    #: None: not known, or not asked for.
    size: Size | None = None

    @property
    def is_over(self) -> bool:
        return self.standing in OVER

    @property
    def tokens(self) -> int | None:
        """None: no run told of any."""
        return self.usage.total + self.tokens_so_far or None

    @property
    def cost(self) -> float | None:
        """The whole cost; None where a part is not known."""
        return None if self.unpriced or not self.attempts else self.cost_usd


class Entry(Struct, frozen=True, kw_only=True):
    """One coder's try at the task: a separate task in the queue."""

    #: In the order in which they were made, from 1.
    number: int
    coder: str
    #: None: the coder's own choice, or the configured one.
    model: str | None = None
    #: Which of the repetitions it is, from 1.
    turn: int = 1
    #: Empty while it is not in the queue.
    task_id: str = ""
    #: Kept once the comparison is over.
    result: Result | None = None

    @property
    def label(self) -> str:
        return f"{self.coder}:{self.model}" if self.model else self.coder


class Comparison(Struct, frozen=True, kw_only=True):
    """The content of compare.json."""

    task_id: str
    #: The top of the working tree that the task names, and the commit that all begin at.
    repository: str
    commit: str
    at: datetime
    by: str = ""
    #: The task's status before.
    was: Status = "open"
    #: What the task was blocked for before; None: it was not blocked.
    waited: Waits | None = None
    state: ComparisonState = "making"
    entries: tuple[Entry, ...] = ()
    #: The entry that was picked, and the commit that the branch stood at when it had landed.
    picked: str = ""
    landed: str = ""
    branch: str = ""

    @property
    def is_open(self) -> bool:
        return self.state not in ("picked", "discarded")

    @property
    def turns(self) -> int:
        return max((entry.turn for entry in self.entries), default=1)

    def entry(self, task_id: str) -> Entry | None:
        return next((entry for entry in self.entries if entry.task_id == task_id), None)
