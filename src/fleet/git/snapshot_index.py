"""Which repositories hold snapshots of which tasks: `snapshots/<repository>/<task>` in the home.

It is all that has to be looked at to know who works in one tree, and whose refs can go; a home
with a long past has no more of these files than it has tasks of late.
"""

import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from fleet.files.atomic_write import write_atomically
from fleet.files.safe_read import read_bounded
from fleet.home import Home

FOLDER = "snapshots"
_LARGEST = 1 << 16


class Held(Struct, frozen=True, kw_only=True):
    """Snapshots of one task in one repository."""

    task_id: str
    #: The top of a working tree of the repository.
    root: str
    #: The file that says so; its time is that of the latest snapshot.
    file: Path


def note(home: Home, task_id: str, root: str, repository: str = "") -> None:
    """The task has, or is about to have, a snapshot of this tree; it is in `repository`, if the
    tree itself is not to stay.
    """
    folder = home.path / FOLDER / _name(root)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_atomically(folder / task_id, os.fsencode(repository or root), durable=False)


def tasks_in(home: Home, root: str) -> list[str]:
    """The tasks with snapshots of one tree."""
    try:
        return sorted(os.listdir(home.path / FOLDER / _name(root)))  # noqa: PTH208
    except OSError:
        return []


def all_held(home: Home) -> Iterator[Held]:
    for file in sorted((home.path / FOLDER).glob("*/*")):
        if not file.name.startswith("."):
            data = read_bounded(file, _LARGEST) or b""
            yield Held(task_id=file.name, root=os.fsdecode(data), file=file)


def forget(held: Held) -> None:
    held.file.unlink(missing_ok=True)
    with suppress(OSError):  # others are held there
        held.file.parent.rmdir()


def _name(root: str) -> str:
    return hashlib.sha256(os.fsencode(root)).hexdigest()[:16]
