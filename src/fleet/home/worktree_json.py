"""`tasks/<id>/worktree/worktree.json`: the worktree that a task has, or shall have."""

from pathlib import Path

from msgspec import Struct

from fleet.files.json_record import JsonRecord
from fleet.home import Home

#: In the task's directory: the record, and what the set-up commands printed.
FOLDER = "worktree"
FILE = "worktree.json"
SETUP = "setup"
_SETUP_FAILED = "setup.failed"


class Worktree(Struct, frozen=True, kw_only=True):
    """A task's worktree as it was planned: the content of worktree.json."""

    path: str
    #: The top of the working tree that the task names, and the commit that it stood at.
    repository: str
    commit: str
    #: Without `refs/heads/`.
    branch: str
    #: The worktree was complete once.
    made: bool = False
    #: The project's set-up commands have succeeded in the worktree.
    set_up: bool = False
    #: The task is closed, all files are on the branch, and the worktree is about to be removed.
    removing: bool = False

    @property
    def ref(self) -> str:
        return f"refs/heads/{self.branch}"


_RECORD = JsonRecord(Worktree, limit=1 << 16)


def read(home: Home, task_id: str) -> Worktree | None:
    """The worktree that was made, or begun, for a task."""
    return _RECORD.read(_file(home, task_id))


def write(home: Home, task_id: str, worktree: Worktree) -> Worktree:
    file = _file(home, task_id)
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _RECORD.write(file, worktree)
    return worktree


def _file(home: Home, task_id: str) -> Path:
    return home.task(task_id) / FOLDER / FILE


def put_aside_setup(place: Path) -> None:
    """Rename the output of the set-up commands, so that the next set-up begins from nothing."""
    number = 1
    while (kept := place / f"{_SETUP_FAILED}.{number}").exists():
        number += 1
    if (place / SETUP).exists():
        (place / SETUP).rename(kept)
