"""The work of a task with a worktree of its own: as one commit, as a diff, and its removal.

What is removed stays reachable by `refs/fleet/<task>/branch`, as long as the task's snapshots.
"""

import io
import os
import time
from collections.abc import Generator
from contextlib import contextmanager

from msgspec import Struct, structs

from fleet.files.file_lock import Lock, locked
from fleet.git import repository, snapshot_index, tree_snapshot, worktree
from fleet.git.git_command import Git
from fleet.git.own.kept_objects import give_objects
from fleet.git.own.own_repository import key_of, repository_at
from fleet.git.refs import commit_of, is_ancestor
from fleet.git.run_baseline import AFTER, kept_ref, ref_of
from fleet.git.tree_difference import MOST_DIFF, file_changes
from fleet.git.tree_snapshot import TreeSnapshot
from fleet.home import Home, worktree_json
from fleet.home.worktree_json import Worktree
from fleet.runs import receipt_json
from fleet.runs.run_directory import Run, all_runs, newest_first
from fleet.schemas import FileChange

_LIMIT = 120.0
#: Seconds to wait for the lock of a task's runs.
_PATIENCE = 5.0
_CUT = b"\n[the rest is cut]\n"


class Tip(Struct, frozen=True, kw_only=True):
    """The latest state of a task's work."""

    #: The latest commit, and the tree with what is not committed.
    head: str
    tree: str
    #: What the worktree holds that the tree does not; empty if nothing.
    beyond: str = ""


class PutAway(Struct, frozen=True, kw_only=True):
    """What became of a task's worktree and branch."""

    task_id: str
    #: The ref that holds what was there; empty if there was nothing.
    ref: str = ""
    #: Why something had to stay; empty if nothing did.
    stays: str = ""


class TaskBranch:
    """The branch and worktree of one task, in the repository that they belong to."""

    def __init__(self, home: Home, task_id: str, tree: Worktree, git: Git) -> None:
        self._home, self._id = home, task_id
        self.tree, self._git = tree, git

    def tip(self) -> Tip | None:
        """The latest state: from the worktree, the branch, or the refs that fleet keeps."""
        if self._is_there():
            return _tip_in(self.tree)
        commit = commit_of(self._git, self.tree.ref) or commit_of(
            self._git, kept_ref(self.tree.ref)
        )
        on_branch = Tip(head=commit, tree=self._tree_of(commit)) if commit else None
        if commit and commit != self.tree.commit:
            return on_branch
        # The agent may have committed to a branch of its own: the last run's snapshot has that.
        return self._last_snapshot() or on_branch

    def hold(self, tip: Tip) -> tuple[str, str]:
        """Make a commit of all the work and a ref to it; returns both. No branch is moved."""
        commit, ref = tip.head, kept_ref(self.tree.ref)
        if tip.tree != self._tree_of(commit):
            message = f"What {self._id} left uncommitted"
            ask = ("commit-tree", "--no-gpg-sign", "-p", commit, "-m", message, tip.tree)
            commit = self._git.line(*ask)
        snapshot_index.note(self._home, self._id, self.tree.path, self.tree.repository)
        self._git.ask("update-ref", "--no-deref", ref, commit)
        return commit, ref

    def changes(self, tip: Tip, since: str) -> list[FileChange]:
        """The files that differ from the commit `since`."""
        return list(file_changes(self._git, self._tree_of(since), tip.tree))

    def patch(self, tip: Tip, since: str) -> bytes:
        """The diff from the commit `since`, cut at MOST_DIFF."""
        out = io.BytesIO()
        ask = ("diff-tree", "-r", "-p", "--no-renames", "--no-ext-diff", "--no-textconv")
        whole = self._git.write(out, MOST_DIFF, *ask, "--no-color", since, tip.tree)
        return out.getvalue() if whole else out.getvalue() + _CUT

    def put_away(self, *, force: bool = False) -> PutAway:
        """Remove the worktree and the branches of the task, files that git ignores included.

        Work that is nowhere else stays, unless `force`.
        """
        # No run of the task begins while its lock is held.
        with _locked(self._home, self._id) as lock:
            if lock is None:
                return PutAway(task_id=self._id, stays="its agent is still running")
            tip = self.tip()
            if tip is None:
                return PutAway(task_id=self._id)
            kept, ref = self.hold(tip)
            if tip.beyond and not force:
                why = f"{self.tree.path} holds {tip.beyond}"
                return PutAway(task_id=self._id, ref=ref, stays=why)
            self._remove()
            return PutAway(task_id=self._id, ref=ref, stays=self._drop_branches(kept))

    def _remove(self) -> None:
        """Remove the worktree. `removing` is recorded first, so that no agent is blamed for it."""
        if not os.path.lexists(self.tree.path):
            return
        going = structs.replace(self.tree, removing=True)
        self.tree = worktree_json.write(self._home, self._id, going)
        worktree.remove(self._git, self.tree)
        gone = structs.replace(self.tree, removing=False, set_up=False)
        self.tree = worktree_json.write(self._home, self._id, gone)

    def _drop_branches(self, kept: str) -> str:
        """Delete the task's branch and those its agents made; returns why some stay, or nothing."""
        stay: list[str] = []
        ask = "--format=%(objectname) %(refname)%00%(worktreepath)"
        own = _commits(self._home, self._id)
        for line in self._git.ask_patiently("for-each-ref", ask, "refs/heads/").splitlines():
            place, _, elsewhere = os.fsdecode(line).partition("\0")
            commit, _, name = place.partition(" ")
            if name != self.tree.ref and (commit not in own or name in own[commit]):
                continue
            if elsewhere:
                stay.append(f"{name} is checked out in {elsewhere}")
            elif name != self.tree.ref and not is_ancestor(self._git, commit, kept):
                stay.append(f"{name} holds commits that are not in {kept[:12]}")
            else:
                self._git.ask("update-ref", "-d", name, commit)
        return "; ".join(stay)

    def _is_there(self) -> bool:
        return self.tree.made and not self.tree.removing and worktree.exists(self.tree)

    def _last_snapshot(self) -> Tip | None:
        """The snapshot that fleet took when the last run ended."""
        for run in newest_first(self._home.task(self._id)):
            receipt = receipt_json.read(run)
            if receipt is None or receipt.changes is None:
                continue
            head = receipt.changes.commits[0] if receipt.changes.commits else _head(run)
            if head and commit_of(self._git, f"{head}^{{commit}}"):
                after = self._after(run, head)
                if after:
                    return Tip(head=head, tree=self._tree_of(after))
        return None

    def _after(self, run: Run, head: str) -> str:
        """The snapshot of a run's end, brought into the repository; empty if there is none."""
        ref = f"{ref_of(f'{self._id}/{run.number}')}{AFTER}"
        key = key_of(os.path.realpath(self.tree.path))
        own = Git(
            repository_at(self._home.path, key, self._git.repo.root), time.monotonic() + _LIMIT
        )
        after = commit_of(own, ref) if os.path.isdir(own.repo.git_dir) else ""  # noqa: PTH112
        if after:
            give_objects(own, self._git.repo, after, head)
        # Earlier versions kept snapshots in the repository itself.
        return after or commit_of(self._git, ref)

    def _tree_of(self, commit: str) -> str:
        return self._git.line("rev-parse", "--verify", f"{commit}^{{tree}}")


def task_branch_of(home: Home, task_id: str) -> TaskBranch | None:
    """None: the task never had a worktree, or its repository is gone."""
    tree = worktree_json.read(home, task_id)
    origin = repository.find(tree.repository) if tree is not None else None
    if tree is None or origin is None:
        return None
    return TaskBranch(home, task_id, tree, Git(origin, time.monotonic() + _LIMIT))


@contextmanager
def _locked(home: Home, task_id: str) -> Generator[Lock | None]:
    """The lock of a task's runs; None if it is still taken after _PATIENCE.

    A run that was just stopped, or a supervisor that cleans up, holds the lock for a moment.
    """
    end = time.monotonic() + _PATIENCE
    while True:
        with locked(home.task(task_id) / "run.lock") as lock:
            if lock is not None or time.monotonic() >= end:
                yield lock
                return
        time.sleep(0.05)


def _tip_in(tree: Worktree) -> Tip:
    repo = repository.find(tree.path)
    assert repo is not None
    until = time.monotonic() + _LIMIT
    git = Git(repo, until)
    head = git.line("rev-parse", "--verify", "HEAD^{commit}")
    with tree_snapshot.copied_index(repo) as index:
        now = tree_snapshot.take_snapshot(Git(repo, until, str(index)))
    return Tip(head=head, tree=now.id, beyond=_beyond(git, now))


def _beyond(git: Git, now: TreeSnapshot) -> str:
    if now.no_new or now.left_out:
        return "files that are too large to be kept"
    if os.path.isdir(f"{git.repo.git_dir}/modules"):  # noqa: PTH112
        return "submodules"
    # Git lists a repository inside of this one as its directory, without its files.
    new = git.ask("ls-files", "-z", "--others", "--exclude-standard").split(b"\0")
    return "another repository" if any(name.endswith(b"/") for name in new) else ""


def _commits(home: Home, task_id: str) -> dict[str, set[str]]:
    """The commits of a task's runs, each with the refs that existed before the first run."""
    runs = all_runs(home.task(task_id))
    found: list[str] = []
    for run in runs:
        receipt = receipt_json.read(run)
        if receipt is not None and receipt.changes is not None:
            found += receipt.changes.commits
    spec = runs[0].known_spec() if runs else None
    if spec is None:
        return {}
    before = {*spec.base.refs, spec.base.branch} if spec.base else set[str]()
    return dict.fromkeys(found, before)


def _head(run: Run) -> str:
    """The commit that was checked out when the run began."""
    spec = run.known_spec()
    return spec.base.head if spec and spec.base else ""
