"""How much of the disk the clones of a home take.

A clone is measured when a run in it has ended; the figures are kept, so that a new clone is refused
without a walk through all others.
"""

import os
from pathlib import Path

from fleet.files.atomic_write import write_atomically
from fleet.files.lenient_read import read
from fleet.git.clone.clone_place import clones_in
from fleet.home import Home
from fleet.home.clone_record import FOLDER

_FILE = "size"
#: How many files of one clone are counted.
_MOST = 2_000_000
#: The unit of `st_blocks`.
_BLOCK = 512


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
    write_atomically(folder / _FILE, f"{size}\n".encode(), durable=False)


def known_size(home: Home) -> int:
    """The bytes that all clones take, each by the last measurement."""
    return sum(_noted(home, name) for name in clones_in(home))


def _noted(home: Home, name: str) -> int:
    found = read(home.tasks / name / FOLDER / _FILE, 32)
    text = found.text.strip() if found else ""
    return int(text) if text.isdecimal() else 0
