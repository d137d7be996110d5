"""`tasks/<id>/pull_request.json`: the pull request of a task. Sealed, as a lander acts on it."""

from datetime import datetime

from msgspec import Struct, field

from fleet.files.seals import SealedRecord
from fleet.forge.forge_protocol import PullRequestFacts
from fleet.home import Home

FILE = "pull_request.json"


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


_RECORD = SealedRecord(FILE, PullRequest, limit=4 << 20)


def read(home: Home, task_id: str) -> PullRequest | None:
    """The record, to be shown; None if missing or damaged."""
    return _RECORD.read(home.task(task_id))


def believed(home: Home, task_id: str) -> PullRequest | None:
    """The record if fleet wrote it; else None. To be acted on."""
    return _RECORD.believed(home.task(task_id))


def write(home: Home, task_id: str, pr: PullRequest) -> PullRequest:
    """Write the record, durably. Raises OSError."""
    _RECORD.write(home.task(task_id), pr)
    return pr


def set_aside(home: Home, task_id: str, pr: PullRequest) -> None:
    """Keep the record under another name: the next pull request of the task is another one."""
    file = home.task(task_id) / FILE
    file.rename(file.with_name(f"{FILE}.{pr.number}"))
