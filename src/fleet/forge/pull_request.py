"""A task's pull request, and what the forge says. Pure."""

from datetime import datetime
from typing import Literal

from msgspec import Struct, field

ForgeKind = Literal["github", "gitea"]
PullRequestState = Literal["open", "closed", "merged"]
#: What a forge says of one check of a commit.
CheckState = Literal["running", "passed", "failed"]
#: What the reviews of a pull request come to.
ReviewState = Literal["none", "required", "approved", "changes_requested"]


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


class PullRequest(Struct, frozen=True, kw_only=True):
    """The pull request of a task, as fleet opened and followed it."""

    #: The repository that its branch was pushed to.
    url: str
    number: int
    #: The page of the pull request on the forge.
    page: str
    branch: str
    base: str
    #: The commits that fleet pushed to its branch, the latest last, and when that was.
    heads: tuple[str, ...]
    pushed_at: datetime
    #: What the forge said last; None: nothing yet.
    facts: PullRequestFacts | None = None
    #: What was sent back or asked already, as keys of reactions, and the rounds of each kind.
    done: tuple[str, ...] = ()
    rounds: dict[str, int] = field(default_factory=dict[str, int])
    #: The head that fleet asked the forge to merge; empty: none.
    merge_asked: str = ""
    #: Since when the facts say the same.
    changed_at: datetime | None = None
    #: When the forge is asked next, how often it gave no answer, and why.
    next_at: datetime
    failures: int = 0
    trouble: str = ""

    @property
    def head(self) -> str:
        return self.heads[-1]
