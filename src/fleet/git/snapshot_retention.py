"""Snapshots that nobody needs any more: their refs go, and git collects what they held."""

import os
import time
from datetime import datetime, timedelta

from fleet.git import repository, snapshot_index
from fleet.git.git_command import Git, GitFailed
from fleet.git.repository import Repository
from fleet.git.run_baseline import INDEX, ref_of
from fleet.git.snapshot_index import Held
from fleet.home import Home

#: Snapshots of so many runs of a task are kept, and for so long after the task was closed.
KEPT_RUNS = 10
KEPT_FOR = timedelta(days=7)
_LIMIT = 30.0


def drop_snapshots(repo: Repository, task_id: str, number: int | None = None) -> None:
    """Delete the snapshots of one run of a task, or of all of them."""
    git = Git(repo, time.monotonic() + _LIMIT)
    below = ref_of(f"{task_id}/{'' if number is None else number}")
    names = [below, f"{below}.after"] if number is not None else [below.rstrip("/")]
    found = git.ask("for-each-ref", "--format=delete %(refname)", *names)
    if found:
        git.ask("update-ref", "--stdin", feed=found)


def is_due(each: Held, closed_at: datetime | None, now: datetime) -> bool:
    """A task's snapshots may go. `closed_at` is None if there is no such task any more."""
    since = closed_at.timestamp() if closed_at else each.file.stat().st_mtime
    return now.timestamp() - since >= KEPT_FOR.total_seconds()


def prune(home: Home, each: Held) -> None:
    """Let go of all snapshots that a task has in one repository."""
    repo = repository.find(each.root) if os.path.isdir(each.root) else None  # noqa: PTH112
    if repo is not None:
        try:
            drop_snapshots(repo, each.task_id)
        except GitFailed:
            return  # another time
    (home.task(each.task_id) / INDEX).unlink(missing_ok=True)
    snapshot_index.forget(each)
