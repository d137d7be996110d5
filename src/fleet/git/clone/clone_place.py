"""Where the clones of a home are, how much of the disk they take, and their removal.

A clone's place follows from the home and the task's id, and from nothing that is written in a
record. A clone is moved into `worktrees/.trash` in one step before its files are deleted: what
stands in its place is whole.

A clone is measured when a run in it has ended; the figures are kept, so that a new clone is refused
without a walk through all others.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from fleet.errors import FleetError
from fleet.files.atomic_write import write_atomically
from fleet.files.lenient_read import read
from fleet.git.checkout.fresh_checkout import remove_tree
from fleet.home import Home
from fleet.home.clone_record import FOLDER

_TRASH = ".trash"
_MAKING = ".making"
_READING = ".reading"
#: In the folder of the clone's record: the bytes that the clone takes.
_SIZE = "size"
#: How many files of one clone are counted, and the unit of `st_blocks`.
_MOST = 2_000_000
_BLOCK = 512


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


def measure(place: Path) -> int:
    """The bytes that a directory takes, links not followed; a file with two names counts once."""
    total, left = 0, _MOST
    seen: set[tuple[int, int]] = set()
    folders = [str(place)]
    while folders and left > 0:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    about = entry.stat(follow_symlinks=False)
                    left -= 1
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    elif about.st_nlink > 1:
                        if (about.st_dev, about.st_ino) in seen:
                            continue
                        seen.add((about.st_dev, about.st_ino))
                    total += about.st_blocks * _BLOCK
        except OSError:
            continue  # gone meanwhile, or not readable
    return total


def note_size(home: Home, task_id: str) -> None:
    """Measure a task's clone and keep the figure."""
    folder = home.task(task_id) / FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    size = measure(home.clone(task_id))
    write_atomically(folder / _SIZE, f"{size}\n".encode(), durable=False)


def known_size(home: Home) -> int:
    """The bytes that all clones take, each by the last measurement."""
    return sum(_noted(home, name) for name in clones_in(home))


def _noted(home: Home, name: str) -> int:
    found = read(home.tasks / name / FOLDER / _SIZE, 32)
    text = found.text.strip() if found else ""
    return int(text) if text.isdecimal() else 0


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
