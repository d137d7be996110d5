"""`tasks/<id>/pull_request.json`: the pull request of a task. Sealed, as a lander acts on it."""

from pathlib import Path

from fleet.errors import InvalidTask
from fleet.files import seals
from fleet.files.atomic_write import write_atomically
from fleet.files.json_record import JsonRecord
from fleet.files.safe_read import read_bounded
from fleet.forge.pull_request import PullRequest
from fleet.home import Home
from fleet.runs.sealed_record import encode

FILE = "pull_request.json"
_LIMIT = 4 << 20
_RECORD = JsonRecord(PullRequest, limit=_LIMIT)


def read(home: Home, task_id: str) -> PullRequest | None:
    """The record, to be shown; None if missing or damaged. To be shown."""
    return _RECORD.read_or_none(_file(home, task_id))


def believed(home: Home, task_id: str) -> PullRequest | None:
    """The record if fleet wrote it; else None. To be acted on."""
    path = _file(home, task_id)
    try:
        data = read_bounded(path, _LIMIT)
        if not data or seals.doubt(home.task(task_id), seals.OF_TASK, path, data):
            return None
        return _RECORD.decode(path, data)
    except InvalidTask:
        return None


def write(home: Home, task_id: str, pr: PullRequest) -> PullRequest:
    """Write the record, durably. Raises OSError."""
    data = encode(pr)
    seals.seal(home.task(task_id), seals.OF_TASK, {FILE: data})
    write_atomically(_file(home, task_id), data)
    return pr


def set_aside(home: Home, task_id: str, pr: PullRequest) -> None:
    """Keep the record under another name: the next pull request of the task is another one."""
    file = _file(home, task_id)
    file.rename(file.with_name(f"{FILE}.{pr.number}"))


def _file(home: Home, task_id: str) -> Path:
    return home.task(task_id) / FILE
