"""Which repositories have snapshots of which tasks, and the removal of old ones: their refs are
deleted, and git collects the objects.

Files `snapshots/<tree>/<task>` in the home tell which tasks worked in one tree, and which refs may
go. Even an old home has no more of them than tasks of the last week.
"""

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

from msgspec import Struct

from fleet.files.atomic_write import write_atomically
from fleet.files.safe_read import read_bounded
from fleet.git import repository
from fleet.git.clone.task_refs import clone_refs
from fleet.git.git_command import Git, GitFailed
from fleet.git.own.own_repository import (
    key_of,
    known_repository,
    own_repository,
    repository_at,
)
from fleet.git.own.project_refs import write_refs
from fleet.git.repository import Repository
from fleet.git.snapshot_names import AFTER, CHECKED, INDEX, LEFT, ref_of
from fleet.home import Home

FOLDER = "snapshots"
_LARGEST = 1 << 16
#: How many runs of a task keep their snapshots, and how long after the task was closed.
KEPT_RUNS = 10
KEPT_FOR = timedelta(days=7)
_LIMIT = 30.0


class SnapshotEntry(Struct, frozen=True, kw_only=True):
    """One task has snapshots in one repository."""

    task_id: str
    #: The key of the working tree that the snapshots are of.
    key: str
    #: The top of a working tree of the repository.
    root: str
    #: The file of this entry; its time is that of the latest snapshot.
    file: Path


def note(home: Home, task_id: str, root: str, project: str = "") -> None:
    """Record that the task has, or gets, a snapshot of this tree. The snapshot is in `project`,
    if the tree itself is going to be removed.
    """
    folder = home.path / FOLDER / key_of(root)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_atomically(folder / task_id, os.fsencode(project or root), durable=False)


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


def drop_snapshots(home: Home, repo: Repository, task_id: str, number: int | None = None) -> None:
    """Delete the snapshots of one run of a task, or of all runs, and the refs that hold their base
    in a project. Raises FleetError.
    """
    until = time.monotonic() + _LIMIT
    below = ref_of(f"{task_id}/{'' if number is None else number}")
    ends = ("", AFTER, LEFT, CHECKED)
    names = [f"{below}{end}" for end in ends] if number is not None else [below.rstrip("/")]
    if clone_refs(home, task_id, repo.root) is None:
        own = own_repository(home.path, repo)
        write_refs(own, repo, until, delete=_found(Git(repo, until), names))
    _drop(known_repository(home.path, repo.root), until, names)


def _drop(own: Repository, until: float, names: list[str]) -> None:
    found = _found(Git(own, until), names)
    lines = "".join(f"delete {name} {commit}\n" for name, commit in found.items())
    if lines:
        Git(own, until).ask("update-ref", "--stdin", feed=lines.encode())


def _found(git: Git, names: list[str]) -> dict[str, str]:
    listed = git.ask("for-each-ref", "--format=%(objectname) %(refname)", *names)
    pairs = (line.split(" ", 1) for line in listed.decode().splitlines())
    return {name: commit for commit, name in pairs}


def may_go(each: SnapshotEntry, closed_at: datetime | None, now: datetime) -> bool:
    """Whether a task's snapshots may be deleted. `closed_at` is None for a deleted task.

    The time counts from the closing, or from what was noted last: a clone that stayed for long.
    """
    noted = each.file.stat().st_mtime
    since = max(noted, closed_at.timestamp()) if closed_at else noted
    return now.timestamp() - since >= KEPT_FOR.total_seconds()


def prune(home: Home, each: SnapshotEntry) -> None:
    """Delete all snapshots of a task in one repository."""
    repo = repository.find(each.root) if Path(each.root).is_dir() else None
    try:
        if repo is not None:
            drop_snapshots(home, repo, each.task_id)
        _tidy_own(home, each)
    except (GitFailed, OSError):
        return  # the next cleanup tries again
    (home.task(each.task_id) / INDEX).unlink(missing_ok=True)
    each.file.unlink(missing_ok=True)
    with suppress(OSError):  # other tasks have snapshots there
        each.file.parent.rmdir()


def _tidy_own(home: Home, each: SnapshotEntry) -> None:
    """Give back the space of a task's snapshots in fleet's own repository over the tree."""
    own = repository_at(home.path, each.key, each.root)
    if not Path(own.git_dir).is_dir():
        return
    until = time.monotonic() + _LIMIT
    _drop(own, until, [ref_of(f"{each.task_id}/").rstrip("/")])
    is_there = each.key == key_of(each.root) and Path(each.root).is_dir()
    if is_there:
        with suppress(GitFailed):  # too slow: tried again when the next task's snapshots go
            Git(own, until).ask("gc", "--quiet", "--prune=1.hour.ago")
    elif not _found(Git(own, until), ["refs/fleet/"]):
        shutil.rmtree(own.git_dir)
