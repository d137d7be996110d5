"""Removal of old snapshots: their refs are deleted, and git collects the objects."""

import shutil
import time
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

from fleet.git import repository, snapshot_index
from fleet.git.git_command import Git, GitFailed
from fleet.git.own.own_repository import key_of, own_repository, repository_at
from fleet.git.own.project_refs import write_refs
from fleet.git.repository import Repository
from fleet.git.run_baseline import AFTER, CHECKED, INDEX, LEFT, ref_of
from fleet.git.snapshot_index import SnapshotEntry
from fleet.home import Home

#: How many runs of a task keep their snapshots, and how long after the task was closed.
KEPT_RUNS = 10
KEPT_FOR = timedelta(days=7)
_LIMIT = 30.0


def drop_snapshots(home: Home, repo: Repository, task_id: str, number: int | None = None) -> None:
    """Delete the snapshots of one run of a task, or of all runs, and the refs that
    hold their base.
    """
    until = time.monotonic() + _LIMIT
    below = ref_of(f"{task_id}/{'' if number is None else number}")
    ends = ("", AFTER, LEFT, CHECKED)
    names = [f"{below}{end}" for end in ends] if number is not None else [below.rstrip("/")]
    own = own_repository(home.path, repo)
    write_refs(own, repo, until, delete=_found(Git(repo, until), names))
    _drop(own, until, names)


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
    snapshot_index.forget(each)


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
