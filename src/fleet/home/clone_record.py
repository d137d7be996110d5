"""`tasks/<id>/worktree/worktree.json`: what a task's clone is made from, and how far the making
got.

The file keeps the name that it had when tasks had linked worktrees. It names no path of the
clone: that follows from the home and the task's id.
"""

from pathlib import Path

from msgspec import Struct, structs

from fleet.files.json_record import JsonRecord
from fleet.home import Home

#: In the task's directory: the record, and what the set-up commands printed.
FOLDER = "worktree"
FILE = "worktree.json"
SETUP = "setup"
_SETUP_FAILED = "setup.failed"


class CloneRecord(Struct, frozen=True, kw_only=True):
    """A task's clone as planned: the content of worktree.json."""

    #: The top of the working tree that the task names, and the commit that it stood at.
    repository: str
    commit: str
    #: The branch that was checked out there; empty: none was.
    branch: str = ""
    #: The clone was complete once.
    made: bool = False
    #: The project's set-up commands have succeeded in the clone.
    set_up: bool = False
    #: The paths below the clone where fleet put links to what the project shares.
    shared: tuple[str, ...] = ()


_RECORD = JsonRecord(CloneRecord, limit=1 << 16)


def ref_word(task_id: str) -> str:
    """A task's id as part of a ref, which may end neither with a dot nor with `.lock`."""
    word = f"{task_id[:-1]}-" if task_id.endswith(".") else task_id
    return f"{word.removesuffix('.lock')}-lock" if word.endswith(".lock") else word


def branch_of(task_id: str) -> str:
    """The branch of the project that a task's work comes home to."""
    return f"fleet/{ref_word(task_id)}"


def read(home: Home, task_id: str) -> CloneRecord | None:
    """The clone that was made, or begun, for a task."""
    return _RECORD.read(_file(home, task_id))


def write(home: Home, task_id: str, record: CloneRecord) -> CloneRecord:
    file = _file(home, task_id)
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _RECORD.write(file, record)
    return record


def gone(record: CloneRecord) -> CloneRecord:
    """The record of a clone that fleet removes: the next one is set up again."""
    return structs.replace(record, set_up=False)


def forget(home: Home, task_id: str) -> None:
    """Delete the record: the task's next clone is made like the first one."""
    _file(home, task_id).unlink(missing_ok=True)


def _file(home: Home, task_id: str) -> Path:
    return home.task(task_id) / FOLDER / FILE


def put_aside_setup(place: Path) -> None:
    """Rename the output of the set-up commands, so that the next set-up begins from nothing."""
    number = 1
    while (kept := place / f"{_SETUP_FAILED}.{number}").exists():
        number += 1
    if (place / SETUP).exists():
        (place / SETUP).rename(kept)
