"""What fleet asks of a forge: three verbs, with answers as values. Pure.

Branches are pushed and deleted by git, which can name the commit that a branch must stand at.
"""

from datetime import datetime
from typing import Literal, Protocol

from msgspec import Struct

from fleet.schemas.policy import LandHow

ForgeKind = Literal["github", "gitea"]
PullRequestState = Literal["open", "closed", "merged"]
#: What a forge says of one check of a commit.
CheckState = Literal["running", "passed", "failed"]
#: What the reviews of a pull request come to.
ReviewState = Literal["none", "required", "approved", "changes_requested"]


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


class ForgeCheck(Struct, frozen=True, kw_only=True):
    """A check that the forge ran on a commit."""

    name: str
    state: CheckState
    #: What the check says, and where the output is.
    text: str = ""
    url: str = ""


class ReviewThread(Struct, frozen=True, kw_only=True):
    """A remark of a reviewer that is not resolved."""

    #: Changes when another remark joins the thread.
    id: str
    author: str
    text: str
    #: The file and line that the remark is about; empty: the whole.
    path: str = ""
    line: int = 0


class PullRequestFacts(Struct, frozen=True, kw_only=True):
    """A pull request as the forge showed it at one moment."""

    state: PullRequestState
    #: The commit that the checks and `mergeable` are about.
    head: str
    #: The commit on the base branch by which the pull request was merged; empty: not merged.
    merge_commit: str = ""
    #: None: the forge has not worked it out yet.
    mergeable: bool | None = None
    draft: bool = False
    checks: tuple[ForgeCheck, ...] = ()
    #: The remarks of people who may write to the repository; those of others reach no agent.
    threads: tuple[ReviewThread, ...] = ()
    review: ReviewState = "none"
    #: The base branch has a merge queue, and the pull request stands in it.
    has_queue: bool = False
    queued: bool = False
    #: The forge's own mark of the last change, for the next question.
    updated: str = ""
    at: datetime

    @property
    def failed(self) -> tuple[ForgeCheck, ...]:
        return tuple(check for check in self.checks if check.state == "failed")

    @property
    def running(self) -> tuple[ForgeCheck, ...]:
        return tuple(check for check in self.checks if check.state == "running")


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
