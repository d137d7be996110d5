"""`tasks/<id>/pull_request.json`: the pull request of a task. Sealed, as a lander acts on it."""

from fleet.files.seals import SealedRecord
from fleet.forge.pull_request import PullRequest
from fleet.home import Home

FILE = "pull_request.json"
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
