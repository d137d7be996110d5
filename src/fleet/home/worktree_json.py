"""worktree.json: what was made, or is to be made, for a task that works in a tree of its own."""

from pathlib import Path

import msgspec
from msgspec import Struct

from fleet.errors import InvalidTask
from fleet.files.atomic_write import write_atomically
from fleet.files.safe_read import read_plain
from fleet.home import Home

#: In the task's directory: the record, and what the set-up commands printed.
FOLDER = "worktree"
FILE = "worktree.json"
SETUP = "setup"
_SETUP_FAILED = "setup.failed"
_LARGEST = 1 << 16


class Worktree(Struct, frozen=True, kw_only=True):
    """A task's worktree, as it was meant: the content of worktree.json."""

    path: str
    #: The top of the working tree that the task names, and the commit that it stood at.
    repository: str
    commit: str
    #: Without `refs/heads/`.
    branch: str
    #: It was made whole once.
    made: bool = False
    #: The project's set-up commands have succeeded in it.
    set_up: bool = False
    #: Its task is closed, all that it held is on its branch, and it is about to be removed.
    removing: bool = False

    @property
    def ref(self) -> str:
        return f"refs/heads/{self.branch}"


def read(home: Home, task_id: str) -> Worktree | None:
    """The worktree that was made, or begun, for a task."""
    try:
        data = read_plain(_file(home, task_id), _LARGEST)
        return msgspec.json.decode(data, type=Worktree) if data else None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        path = _file(home, task_id)
        raise InvalidTask(f"{path} is damaged: {error}", hint="Move it away to go on.") from error


def write(home: Home, task_id: str, worktree: Worktree) -> Worktree:
    file = _file(home, task_id)
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_atomically(file, msgspec.json.encode(worktree))
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
