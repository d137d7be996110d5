"""The work of a task with a clone: as one commit, as a diff, and the removal.

What is removed stays reachable by `refs/fleet/<task>/branch`, as long as the task's snapshots.
"""

import io
import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from datetime import timedelta

from msgspec import Struct

from fleet.errors import FleetError
from fleet.files.file_lock import Lock, run_locked
from fleet.git import snapshot_index
from fleet.git.clone import clone_place
from fleet.git.clone.collect_work import ClonedWork, cloned_work
from fleet.git.clone.task_refs import TaskRefs, task_refs
from fleet.git.commit_words import message_of
from fleet.git.refs import commit_of, is_ancestor, tree_of
from fleet.git.snapshot_names import kept_ref
from fleet.git.tree_difference import MOST_DIFF, PATCH, file_changes
from fleet.home import Home, clone_record
from fleet.schemas import FileChange

#: Seconds to wait for the lock of a task's runs.
_PATIENCE = 5.0
#: A clone with files that git ignores (downloads, results, builds) stays this long after its
#: task was closed: a person may want them.
KEPT_FOR = timedelta(days=3)
_CUT = b"\n[the rest is cut]\n"


class PutAway(Struct, frozen=True, kw_only=True):
    """What became of a task's clone and branch."""

    task_id: str
    #: The ref that holds what was there; empty if there was nothing.
    ref: str = ""
    #: Why something had to stay; empty if nothing did.
    stays: str = ""


class TaskWork:
    """The latest state of a task's work: in the clone, or in the project."""

    def __init__(
        self, home: Home, refs: TaskRefs, cloned: ClonedWork | None, commit: str, accepted: str
    ) -> None:
        self._home, self._refs, self._cloned = home, refs, cloned
        self._git = cloned.git if cloned is not None else refs.git
        self._commit = commit
        #: What a branch holds is what was brought: only a clone may have other files by now.
        self._accepted = accepted if cloned is not None else ""
        left = cloned.tree if cloned is not None else tree_of(self._git, commit)
        self._tree = self._accepted or left
        #: What the clone holds that no commit can; empty if nothing.
        self.beyond = cloned.beyond if cloned is not None else ""

    def hold(self, title: str) -> tuple[str, str]:
        """Make a commit of all the work, with the task's title, and a ref to the commit; returns
        both.
        """
        refs, commit = self._refs, self._commit
        if self._cloned is not None:
            work, message = self._cloned, message_of(title, refs.task_id)
            accepted = self._accepted
            commit = work.candidate(accepted, title) if accepted else work.committed(message)
            work.bring(commit)
        ref = kept_ref(refs.branch_ref)
        repo, place = refs.git.repo.root, os.path.realpath(self._home.clone(refs.task_id))
        snapshot_index.note(self._home, refs.task_id, place, repo)
        refs.git.ask("update-ref", "--no-deref", ref, commit)
        return commit, ref

    def changes(self, since: str) -> list[FileChange]:
        """The files that differ from the commit `since`."""
        return list(file_changes(self._git, tree_of(self._git, since), self._tree))

    def patch(self, since: str) -> bytes:
        """The diff from the commit `since`, cut at MOST_DIFF."""
        out = io.BytesIO()
        whole = self._git.write(out, MOST_DIFF, *PATCH, since, self._tree)
        return out.getvalue() if whole else out.getvalue() + _CUT


def task_work(home: Home, task_id: str, *, accepted: str = "") -> TaskWork | None:
    """The task's work; None: the task never had a clone, or everything is gone. `accepted` is the
    tree of accepted work, if the clone's files are not to be read as they stand. Raises
    FleetError.
    """
    refs = task_refs(home, task_id)
    if refs is None:
        return None
    cloned = _in_clone(home, refs)
    commit = "" if cloned else refs.latest() or commit_of(refs.git, kept_ref(refs.branch_ref))
    return TaskWork(home, refs, cloned, commit, accepted) if cloned or commit else None


def _in_clone(home: Home, refs: TaskRefs) -> ClonedWork | None:
    """The work of the task's clone; None if there is no clone."""
    if not clone_place.is_there(home, refs.task_id):
        return None
    try:
        cloned = cloned_work(home, refs)
        cloned.take_snapshot()
    except (FleetError, OSError):
        if clone_place.is_there(home, refs.task_id):
            raise
        return None  # a supervisor brought the work home and removed the clone meanwhile
    return cloned


def put_away(home: Home, task_id: str, *, title: str, force: bool = False) -> PutAway:
    """Remove the clone and the branches of a task, files that git ignores included.

    Work that is nowhere else stays, unless `force`.
    """
    # No run of the task begins while its lock is held.
    with _locked(home, task_id) as lock:
        if lock is None:
            return PutAway(task_id=task_id, stays="its agent is still running")
        refs = task_refs(home, task_id)
        work = task_work(home, task_id)
        if refs is None or work is None:
            return PutAway(task_id=task_id)
        kept, ref = work.hold(title)
        if work.beyond and not force:
            why = f"{home.clone(task_id)} holds {work.beyond}"
            return PutAway(task_id=task_id, ref=ref, stays=why)
        remove_clone(home, refs)
        return PutAway(task_id=task_id, ref=ref, stays=_drop_branches(refs, kept))


def forget_clone(home: Home, task_id: str, *, title: str) -> PutAway:
    """Put the clone and the branches of a task away, so that the next run begins anew, with a clone
    of the branch as it stands then. What was there stays reachable for a while.
    """
    if not home.task(task_id).is_dir():
        return PutAway(task_id=task_id)  # the task never ran
    away = put_away(home, task_id, title=title)
    if not away.stays and (refs := task_refs(home, task_id)) is not None:
        refs.forget()
        clone_record.forget(home, task_id)
    return away


def brought_commit(home: Home, refs: TaskRefs, *, title: str, tree: str = "") -> str:
    """The commit of a task's work, which the project has from now on: of all the work, or with the
    accepted `tree` alone. Empty: there is no such commit. Raises FleetError and OSError.
    """
    if not clone_place.is_there(home, refs.task_id):
        tip = commit_of(refs.git, refs.tip_ref)
        return tip if not tree or (tip and tree_of(refs.git, tip) == tree) else ""
    work = cloned_work(home, refs)
    if tree:
        commit = work.candidate(tree, title)
    else:
        work.take_snapshot()
        commit = work.committed(message_of(title, refs.task_id))
    work.bring(commit)
    return commit


def why_kept(work: ClonedWork, age: timedelta) -> str:
    """What a closed task's clone holds for which the clone stays; empty: it may go. `age`: the time
    since the task was closed. Take the snapshot first.
    """
    if not work.beyond and age < KEPT_FOR and work.ignored():
        return f"files that git ignores, and is kept for {KEPT_FOR.days} days"
    return work.beyond


def remove_clone(home: Home, refs: TaskRefs) -> None:
    """Remove the clone, whose work is in the project. The record stays: a task that is opened
    again goes on from its branch, with a new clone.
    """
    task_id, record = refs.task_id, clone_record.read(home, refs.task_id)
    # From now on the refs that hold its work are kept for a while.
    place = os.path.realpath(home.clone(task_id))
    snapshot_index.note(home, task_id, place, refs.git.repo.root)
    # Before the directory goes, so that no agent is blamed for that.
    if record is not None:
        clone_record.write(home, task_id, clone_record.gone(record))
    clone_place.throw_away(home, task_id)


def _drop_branches(refs: TaskRefs, kept: str) -> str:
    """Delete the task's branch and the branches of the task's agents; returns why some stay, or
    nothing.
    """
    stay: list[str] = []
    now = refs.branch_now()
    if now.checked_out:
        stay.append(f"{refs.branch} is checked out in {now.checked_out}")
    elif now.commit:
        refs.git.ask("update-ref", "-d", refs.branch_ref, now.commit)
    for name in refs.all_beside():
        commit = commit_of(refs.git, name)
        if is_ancestor(refs.git, commit, kept):
            refs.git.ask("update-ref", "-d", name, commit)
        else:
            stay.append(f"{name} holds commits that are not in {kept[:12]}")
    return "; ".join(stay)


@contextmanager
def _locked(home: Home, task_id: str) -> Generator[Lock | None]:
    """The lock of a task's runs; None if the lock is still taken after _PATIENCE.

    A run that was just stopped, or a supervisor that cleans up, holds the lock for a moment.
    """
    end = time.monotonic() + _PATIENCE
    while True:
        with run_locked(home.task(task_id)) as lock:
            if lock is not None or time.monotonic() >= end:
                yield lock
                return
        time.sleep(0.05)
