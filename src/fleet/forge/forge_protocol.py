"""What fleet asks of a forge: three verbs, with answers as values.

Branches are pushed and deleted by git, which can name the commit that a branch must stand at.
"""

from datetime import datetime
from typing import Protocol

from msgspec import Struct

from fleet.forge.pull_request import PullRequestFacts
from fleet.schemas.policy import LandHow


class PullRequestDraft(Struct, frozen=True, kw_only=True):
    """A pull request that is to be opened."""

    branch: str
    base: str
    title: str
    body: str


class Opened(Struct, frozen=True, kw_only=True):
    """A pull request that is open, just now or since an earlier try."""

    number: int
    page: str


class ForgeSilent(Struct, frozen=True, kw_only=True):
    """The forge gave no answer that fleet could use; the same may go well later."""

    why: str


class ForgeRefused(Struct, frozen=True, kw_only=True):
    """The forge understood and said no."""

    why: str


class Forge(Protocol):
    """One repository on a forge, with the operator's login."""

    def open(self, draft: PullRequestDraft) -> Opened | ForgeRefused | ForgeSilent:
        """Open a pull request, or find the one that is open for the same branch."""
        ...

    def facts(
        self, number: int, now: datetime, before: PullRequestFacts | None
    ) -> PullRequestFacts | ForgeRefused | ForgeSilent:
        """What the forge says of a pull request; `before` saves questions where possible."""
        ...

    def merge(
        self, number: int, *, head: str, how: LandHow, queue: bool
    ) -> ForgeRefused | ForgeSilent | None:
        """Merge a pull request if the head is this commit; `queue`: by the forge's merge queue.
        None: the forge merged or queued the pull request, and the facts tell which.
        """
        ...
