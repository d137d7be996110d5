"""Clears away what closed tasks leave: worktrees whose work is on its branch, and old snapshots.

Work that is nowhere else stays. Worker threads do it when a task is closed, and once an hour.
"""

import os
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from msgspec import structs

from fleet.errors import FleetError
from fleet.files.file_lock import locked
from fleet.git import repository, snapshot_index, snapshot_retention, tree_snapshot, worktree
from fleet.git.git_command import Git
from fleet.git.tree_snapshot import keep_index
from fleet.home import Home, worktree_json
from fleet.home.worktree_json import Worktree
from fleet.schemas import Task
from fleet.supervisor.state import SupervisorState

#: Seconds between two rounds over all closed tasks, and how many tasks are looked at in one.
_ROUND = 3600.0
_MOST = 500
_LIMIT = 120.0
#: A worktree with files that git ignores (downloads, results, builds) stays so long after its
#: task was closed: a person may want them.
KEPT_FOR = timedelta(days=3)
#: Signs of work that git itself has not finished.
_UNFINISHED = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply")


class Cleanup:
    """Clears away what closed tasks left, one by one and once an hour all of them."""

    def __init__(self, state: SupervisorState) -> None:
        self._state = state
        self._next_round = 0.0
        #: How many answers are still to come.
        self.busy = 0

    def after_close(self, task_id: str) -> None:
        """Clear away what a task left that was just closed."""
        if (self._state.home.worktrees / task_id).exists():
            self._clean([task_id])

    def all_when_due(self) -> None:
        """Look through all closed tasks, once an hour."""
        if time.monotonic() >= self._next_round:
            self._next_round = time.monotonic() + _ROUND
            ids = _candidates(self._state.home)
            if ids:
                self._clean(ids[:_MOST])

    def _clean(self, ids: list[str]) -> None:
        self.busy += 1
        self._state.queue.named(tuple(ids), partial(self._look_at, ids))

    def _look_at(self, ids: Sequence[str], tasks: list[Task]) -> None:
        state = self._state
        state.pool.submit(partial(tidy, state.home, ids, tasks, state.now()), self._done)

    def _done(self, reports: list[str]) -> None:
        self.busy -= 1
        for text in reports:
            task_dir = self._state.home.task(text.partition(": ")[0])
            kept = task_dir if task_dir.is_dir() else None
            self._state.log.say("tidied", text, task_dir=kept)


def _candidates(home: Home) -> list[str]:
    found = {each.task_id for each in snapshot_index.all_entries(home)}
    if home.worktrees.is_dir():
        found |= set(os.listdir(home.worktrees))  # noqa: PTH208
    return sorted(found)


def tidy(home: Home, ids: Sequence[str], tasks: Sequence[Task], now: datetime) -> list[str]:
    """Clear away what the closed ones of these tasks left; `tasks` are those that still exist.

    Returns a sentence for each thing that was done.
    """
    known = {task.id: task for task in tasks}
    reports: list[str] = []
    for task_id in ids:
        task = known.get(task_id)
        if task is not None and task.status == "closed":
            try:
                reports += tidy_worktree(home, task, now)
            except (FleetError, OSError) as error:
                reports.append(f"{task_id}: its worktree stays: {error}")
    wanted = set(ids)
    for each in snapshot_index.all_entries(home):
        task = known.get(each.task_id)
        if each.task_id in wanted and (task is None or task.status == "closed"):
            closed_at = (task.closed_at or task.updated_at) if task is not None else None
            if snapshot_retention.may_go(each, closed_at, now):
                snapshot_retention.prune(home, each)
    return reports


def tidy_worktree(home: Home, task: Task, now: datetime) -> list[str]:
    """Put what a closed task left uncommitted on its branch, and remove its worktree."""
    tree = worktree_json.read(home, task.id)
    if tree is None or not tree.made:
        return []
    # The lock of the task's runs: a run that begins meanwhile waits.
    with locked(home.task(task.id) / "run.lock") as lock:
        if lock is None:
            return []
        reports: list[str] = []
        origin = repository.find(tree.repository)
        if origin is None:
            return [f"{task.id}: its worktree stays: {tree.repository} is no repository any more"]
        git = Git(origin, time.monotonic() + _LIMIT)
        if worktree.exists(tree) and not tree.removing:
            why, commit = _settled(tree, task, now)
            if commit:
                text = f"committed to {tree.branch} what was left uncommitted: {commit[:12]}"
                reports.append(f"{task.id}: {text}")
            if why:
                return reports
            tree = worktree_json.write(home, task.id, structs.replace(tree, removing=True))
        if tree.removing:
            worktree.remove(git, tree)
            reports.append(f"{task.id}: worktree removed, its work is on {tree.branch}")
            # The record stays: a task that is opened again goes on from its branch.
            gone = structs.replace(tree, removing=False, set_up=False)
            worktree_json.write(home, task.id, gone)
        return reports


def _settled(tree: Worktree, task: Task, now: datetime) -> tuple[str, str]:
    """Commit what is left; returns why the worktree has to stay (or "") and the commit (or "")."""
    repo = repository.find(tree.path)
    assert repo is not None
    git = Git(repo, time.monotonic() + _LIMIT)
    unfinished = [name for name in _UNFINISHED if os.path.exists(f"{repo.git_dir}/{name}")]  # noqa: PTH110
    if unfinished:
        return f"git has not finished: {unfinished[0]}", ""
    head = git.line("rev-parse", "--verify", "HEAD^{commit}")
    branches = git.ask("for-each-ref", "--contains", head, "--count=1", "refs/heads/")
    if not branches:
        return "what is checked out is on no branch", ""
    with tree_snapshot.copied_index(repo) as index:
        now_tree = tree_snapshot.take_snapshot(Git(repo, time.monotonic() + _LIMIT, str(index)))
        commit = ""
        if now_tree.id != git.line("rev-parse", "--verify", f"{head}^{{tree}}"):
            if not _on_branch(git):
                return "what is left would be on no branch", ""
            text = f"What fleet found uncommitted when {task.id} was closed\n\n{task.title}"
            commit = git.line("commit-tree", "--no-gpg-sign", "-p", head, "-m", text, now_tree.id)
            git.ask("update-ref", "-m", "fleet: closed", "HEAD", commit, head)
            keep_index(index, Path(repo.git_dir) / "index")
    if now_tree.left_out or now_tree.no_new:
        return "it holds files that are too large to be committed", commit
    if os.path.isdir(f"{repo.git_dir}/modules"):  # noqa: PTH112
        return "it holds submodules", commit
    listed = ("ls-files", "-z", "--others", "--exclude-standard", "--directory")
    if git.ask(*listed, "--no-empty-directory"):
        return "it holds another repository", commit
    ignored = git.ask(*listed, "--ignored")
    closed = task.closed_at or task.updated_at
    if ignored and now - closed < KEPT_FOR:
        return "it holds files that git ignores", commit
    return "", commit


def _on_branch(git: Git) -> bool:
    try:
        return bool(git.line("symbolic-ref", "--quiet", "HEAD"))
    except FleetError:
        return False
