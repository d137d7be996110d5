"""Where the clones of a home are, and their removal.

A clone's place follows from the home and the task's id, and from nothing that is written in a
record. A clone is moved into `worktrees/.trash` in one step before its files are deleted: what
stands in its place is whole.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from fleet.errors import FleetError
from fleet.git.checkout.fresh_checkout import remove_tree
from fleet.home import Home

_TRASH = ".trash"
_MAKING = ".making"
_READING = ".reading"


def reading_place(home: Home) -> Path:
    """Where git directories of fleet's own are made for a moment."""
    return home.worktrees / _READING


def making_place(home: Home, task_id: str) -> Path:
    """Where a task's clone is made before the move to the final place."""
    return home.worktrees / _MAKING / home.clone(task_id).name


def is_there(home: Home, task_id: str) -> bool:
    """There is a directory in the place of a task's clone. Raises FleetError for anything else."""
    place = home.clone(task_id)
    if not os.path.lexists(place):
        return False
    if not (_is_plain_dir(home.worktrees) and _is_plain_dir(place)):
        raise FleetError(f"{place} is no directory that fleet made; move it away to go on")
    return True


def clones_in(home: Home) -> list[str]:
    """The tasks that have a clone."""
    with suppress(OSError):
        return sorted(name for name in os.listdir(home.worktrees) if not name.startswith("."))  # noqa: PTH208
    return []


def throw_away(home: Home, task_id: str) -> None:
    """Delete a clone with all files. Its work is elsewhere by now."""
    if is_there(home, task_id):
        _discard(home, home.clone(task_id))


def clear_making(home: Home, task_id: str) -> None:
    """Delete what a supervisor began to make and did not finish."""
    place = making_place(home, task_id)
    if _is_plain_dir(place.parent) and _is_plain_dir(place):
        _discard(home, place)


def empty_trash(home: Home) -> None:
    """Delete what an earlier process moved into the trash and did not delete."""
    for place in _trashed(home):
        remove_tree(place)


def _discard(home: Home, place: Path) -> None:
    trash = home.worktrees / _TRASH
    trash.mkdir(mode=0o700, exist_ok=True)
    gone = trash / f"{place.name}.{os.urandom(6).hex()}"
    place.rename(gone)
    remove_tree(gone)  # what cannot be deleted stays in the trash


def _trashed(home: Home) -> Iterator[Path]:
    trash = home.worktrees / _TRASH
    if _is_plain_dir(home.worktrees) and _is_plain_dir(trash):
        yield from (trash / name for name in os.listdir(trash))  # noqa: PTH208


def _is_plain_dir(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False
