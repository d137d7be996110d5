"""Removal of old snapshots: their refs are deleted, and git collects the objects."""

import os
import time
from datetime import datetime, timedelta

from fleet.git import repository, snapshot_index
from fleet.git.git_command import Git, GitFailed
from fleet.git.repository import Repository
from fleet.git.run_baseline import INDEX, ref_of
from fleet.git.snapshot_index import SnapshotEntry
from fleet.home import Home

#: How many runs of a task keep their snapshots, and how long after the task was closed.
KEPT_RUNS = 10
KEPT_FOR = timedelta(days=7)
_LIMIT = 30.0


def drop_snapshots(repo: Repository, task_id: str, number: int | None = None) -> None:
    """Delete the snapshots of one run of a task, or of all its runs."""
    git = Git(repo, time.monotonic() + _LIMIT)
    below = ref_of(f"{task_id}/{'' if number is None else number}")
    names = [below, f"{below}.after"] if number is not None else [below.rstrip("/")]
    found = git.ask("for-each-ref", "--format=delete %(refname)", *names)
    if found:
        git.ask("update-ref", "--stdin", feed=found)


def may_go(each: SnapshotEntry, closed_at: datetime | None, now: datetime) -> bool:
    """Whether a task's snapshots may be deleted. `closed_at` is None for a deleted task."""
    since = closed_at.timestamp() if closed_at else each.file.stat().st_mtime
    return now.timestamp() - since >= KEPT_FOR.total_seconds()


def prune(home: Home, each: SnapshotEntry) -> None:
    """Delete all snapshots of a task in one repository."""
    repo = repository.find(each.root) if os.path.isdir(each.root) else None  # noqa: PTH112
    if repo is not None:
        try:
            drop_snapshots(repo, each.task_id)
        except GitFailed:
            return  # the next cleanup tries again
    (home.task(each.task_id) / INDEX).unlink(missing_ok=True)
    snapshot_index.forget(each)
