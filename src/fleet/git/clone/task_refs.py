"""The refs of a task in the project's repository, and the rules by which fleet moves them.

`refs/fleet/<id>/base` holds the commit that the task's clone was made from, so that git does not
collect what the clone reads. `refs/fleet/<id>/tip` is the work that fleet brought last, and
`refs/heads/fleet/<id>` the same for people. A branch that a person moved or checked out is theirs.
"""

import os
import time
from collections.abc import Sequence

from msgspec import Struct

from fleet.errors import FleetError
from fleet.git import repository
from fleet.git.git_command import Git
from fleet.git.refs import BRANCHES, commit_of
from fleet.git.snapshot_names import ref_of
from fleet.home import Home, clone_record
from fleet.home.clone_record import CloneRecord, branch_of, ref_word

_LIMIT = 120.0
#: Between the name of a task's branch and that of a branch which its agent made.
_BESIDE = "+"


class BranchNow(Struct, frozen=True, kw_only=True):
    """The branch of a task in the project."""

    #: Empty: there is none.
    commit: str
    #: The working tree that has it checked out; empty if none has.
    checked_out: str


class RefMove(Struct, frozen=True, kw_only=True):
    """One ref, where the ref is to lead, and where it leads now; empty: there is none."""

    ref: str
    new: str
    old: str = ""

    @property
    def line(self) -> str:
        """The move as `git update-ref -z --stdin` reads it."""
        if not self.old:
            return f"create {self.ref}\0{self.new}\0"
        return f"update {self.ref}\0{self.new}\0{self.old}\0"


class TaskRefs:
    """The refs of one task in one repository."""

    def __init__(self, git: Git, task_id: str) -> None:
        self.git = git
        self.task_id = task_id
        #: Without `refs/heads/`.
        self.branch = branch_of(task_id)
        self.branch_ref = f"{BRANCHES}{ref_word(task_id)}"
        self.base_ref = ref_of(f"{task_id}/base")
        self.tip_ref = ref_of(f"{task_id}/tip")
        self.left_ref = ref_of(f"{task_id}/left")
        #: The commit of `base_ref`, once git was asked: only fleet moves that ref, and these refs
        #: live for one step of a task.
        self._base: str | None = None

    def hold_base(self, commit: str) -> None:
        """Keep the commit that the clone is made from, whatever becomes of the project's branches.

        Raises GitFailed.
        """
        if self.base != commit:
            self.git.ask("update-ref", "--no-deref", self.base_ref, commit)
            self._base = commit

    def check_record(self, record: CloneRecord) -> None:
        """Raise FleetError for a record that does not fit this repository, and so
        is not fleet's.
        """
        base = self.base
        held = base or commit_of(self.git, self.branch_ref)
        if self.git.repo.root == record.repository and held and base in ("", record.commit):
            return
        raise FleetError(
            f"the record of {self.task_id}'s clone does not fit {record.repository}, which knows"
            " nothing of this task: nothing was done"
        )

    @property
    def base(self) -> str:
        """The commit that the task's clone was made from; empty: none is held."""
        if self._base is None:
            self._base = commit_of(self.git, self.base_ref)
        return self._base

    def latest(self) -> str:
        """The latest commit of the task's work in the project; empty if there is none."""
        return commit_of(self.git, self.branch_ref) or commit_of(self.git, self.tip_ref)

    def branch_now(self) -> BranchNow:
        ask = "--format=%(objectname)%00%(worktreepath)"
        line = self.git.ask_patiently("for-each-ref", ask, self.branch_ref).decode(errors="replace")
        commit, _, place = line.rstrip("\n").partition("\0")
        return BranchNow(commit=commit, checked_out=place)

    def move(self, moves: Sequence[RefMove]) -> None:
        """Move refs, all or none: one that stands elsewhere by now stops all. Raises GitFailed."""
        lines = [each.line for each in moves if each.new != each.old]
        if lines:
            ask = ("update-ref", "--no-deref", "-m", "fleet: the work of a clone", "-z", "--stdin")
            self.git.ask(*ask, feed=os.fsencode("".join(lines)))

    def overtaken(self, moves: Sequence[RefMove]) -> bool:
        """Whether one of these refs leads elsewhere than the move expects."""
        return any(commit_of(self.git, each.ref) != each.old for each in moves)

    def forget(self) -> None:
        """Delete the refs of the clone and of the work that was brought last: the next clone is
        made like the first one. Raises GitFailed.
        """
        for ref in (self.tip_ref, self.base_ref):
            if commit := commit_of(self.git, ref):
                self.git.ask("update-ref", "--no-deref", "-d", ref, commit)
        self._base = None

    def beside(self, name: str) -> str:
        """The ref of the branch that stands for one which the agent made."""
        return f"{self.branch_ref}{_BESIDE}{name}"

    def all_beside(self) -> list[str]:
        """The branches that stand for those of the task's agents."""
        names = self.beside("*")
        ask = ("for-each-ref", "--format=%(refname)", names, f"{names}/**")
        return self.git.line(*ask).splitlines()


def task_refs(home: Home, task_id: str) -> TaskRefs | None:
    """The refs of a task with a clone in the project's repository; None: the task never had a
    clone, or the repository is gone. Raises FleetError for a record that does not fit the
    repository.
    """
    record = clone_record.read(home, task_id)
    repo = repository.find(record.repository) if record is not None else None
    if record is None or repo is None:
        return None
    refs = TaskRefs(Git(repo, time.monotonic() + _LIMIT), task_id)
    refs.check_record(record)
    return refs


def clone_refs(home: Home, key: str, root: str) -> TaskRefs | None:
    """The refs of the task of a run (the key is `<task>/<run>`) that works in its clone at `root`;
    None: `root` is another working tree. Raises FleetError for a record that does not fit the
    repository, and for a repository that is gone.
    """
    task_id = key.partition("/")[0]
    if root != os.path.realpath(home.clone(task_id)):
        return None
    refs = task_refs(home, task_id)
    if refs is None:
        raise FleetError(f"{root} is a clone whose project is gone")
    return refs


def why_not_moved(now: BranchNow, before: str, *, forward: bool) -> str:
    """Why the branch of a task is not moved to the new work; empty: the branch is moved. Pure.

    `before` is the work that fleet brought last; `forward`: the branch is a part of the new work.
    """
    if now.checked_out:
        return f"is checked out in {now.checked_out}"
    if now.commit and now.commit != before and not forward:
        return "was moved by another hand"
    return ""
