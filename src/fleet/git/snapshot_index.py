"""Which repositories have snapshots of which tasks: files `snapshots/<tree>/<task>` in the home.

The files tell which tasks worked in one tree, and which refs may go. Even an old home has no more
of them than tasks of the last week.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from fleet.files.atomic_write import write_atomically
from fleet.files.safe_read import read_bounded
from fleet.git.own.own_repository import key_of
from fleet.home import Home

FOLDER = "snapshots"
_LARGEST = 1 << 16


class SnapshotEntry(Struct, frozen=True, kw_only=True):
    """One task has snapshots in one repository."""

    task_id: str
    #: The key of the working tree that the snapshots are of.
    key: str
    #: The top of a working tree of the repository.
    root: str
    #: The file of this entry; its time is that of the latest snapshot.
    file: Path


def note(home: Home, task_id: str, root: str, repository: str = "") -> None:
    """Record that the task has, or gets, a snapshot of this tree. The snapshot is in `repository`,
    if the tree itself is going to be removed.
    """
    folder = home.path / FOLDER / key_of(root)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_atomically(folder / task_id, os.fsencode(repository or root), durable=False)


def tasks_in(home: Home, root: str) -> list[str]:
    """The tasks with snapshots of one tree."""
    try:
        return sorted(os.listdir(home.path / FOLDER / key_of(root)))  # noqa: PTH208
    except OSError:
        return []


def all_entries(home: Home) -> Iterator[SnapshotEntry]:
    for file in sorted((home.path / FOLDER).glob("*/*")):
        if not file.name.startswith("."):
            data = read_bounded(file, _LARGEST) or b""
            root, key = os.fsdecode(data), file.parent.name
            yield SnapshotEntry(task_id=file.name, key=key, root=root, file=file)


def forget(entry: SnapshotEntry) -> None:
    entry.file.unlink(missing_ok=True)
    with suppress(OSError):  # other tasks have snapshots there
        entry.file.parent.rmdir()
