"""The clone of a task: `worktrees/<id>` in the home, on the branch `fleet/<id>`.

The clone is made once, from the commit that the caller names (`supervisor/start/reach_code.py`) or
that the task's directory stands at, and kept over all runs of the task. It is made beside its place
and moved there when it is complete, so that a killed supervisor leaves either no clone or a whole
one.
"""

import os
import time
from pathlib import Path

from msgspec import structs

from fleet.errors import FleetError
from fleet.git import repository
from fleet.git.clone import clone_place
from fleet.git.clone.agent_git_dir import is_git_dir
from fleet.git.clone.source_facts import make_git_dir
from fleet.git.clone.task_refs import TaskRefs
from fleet.git.git_command import Git
from fleet.git.own.fresh_git_dir import git_in
from fleet.git.refs import commit_of
from fleet.git.repository import Repository
from fleet.home import Home
from fleet.home.clone_record import FOLDER, CloneRecord, put_aside_setup, read, write

#: Seconds to check out a large repository.
LIMIT = 300.0
#: In the task's directory: a git directory that an agent broke, put aside.
_FOUND = "git.found"
#: Lock files that a killed git leaves behind, and that stop every later git.
_LOCKS = ("index.lock", "HEAD.lock", "ORIG_HEAD.lock", "packed-refs.lock", "config.lock")


def ensure_clone(home: Home, task_id: str, cwd: str, commit: str = "") -> CloneRecord:
    """The task's clone, made if there is none, from `commit` or from the commit that is checked out
    in the task's directory. Raises FleetError if the clone cannot be made.
    """
    record = read(home, task_id)
    repo = _repository(record.repository if record is not None else cwd)
    until = time.monotonic() + LIMIT
    refs = TaskRefs(Git(repo, until), task_id)
    if record is None:
        record = _planned(refs, commit)
        refs.hold_base(record.commit)
        write(home, task_id, record)
    refs.check_record(record)
    refs.hold_base(record.commit)
    clone_place.clear_making(home, task_id)
    making = clone_place.making_place(home, task_id)
    making.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    place = home.clone(task_id)
    if clone_place.is_there(home, task_id) and any(place.iterdir()):
        _mend(home, refs, place, making, until, record.shared)
        return record if record.made else write(home, task_id, structs.replace(record, made=True))
    put_aside_setup(home.task(task_id) / FOLDER)
    making.mkdir(mode=0o700)
    make_git_dir(making / ".git", refs.git, refs.branch_ref, refs.latest() or record.commit)
    git_in(making / ".git", making, until).ask("reset", "--quiet", "--hard")
    making.rename(place)
    return write(home, task_id, structs.replace(record, made=True, set_up=False, shared=()))


def _repository(cwd: str) -> Repository:
    repo = repository.find(cwd)
    if repo is not None:
        return repo
    if repository.is_bare(cwd):
        raise FleetError(f"{cwd} is a bare repository; a clone is made from a checkout of it")
    raise FleetError(
        f"the task wants a clone of its own, and {cwd} is in no git repository"
        " (--work-in directory runs the task in the directory itself)"
    )


def _planned(refs: TaskRefs, wanted: str) -> CloneRecord:
    """The clone to make for a task that has none."""
    git = refs.git
    commit = commit_of(git, f"{wanted or 'HEAD'}^{{commit}}")
    if not commit:
        what = f"lacks the commit {wanted}" if wanted else "has no commit yet"
        way = "" if wanted else " (make one: git commit --allow-empty -m start)"
        raise FleetError(f"no clone can be made: {git.repo.root} {what}{way}")
    if commit_of(git, refs.branch_ref):
        raise FleetError(
            f"{git.repo.root} has a branch {refs.branch} already, and it is not this task's;"
            f" rename or delete it: git branch -m {refs.branch} …"
        )
    branch = repository.checked_out_branch(git.repo)
    return CloneRecord(repository=git.repo.root, commit=commit, branch=branch)


def _mend(
    home: Home, refs: TaskRefs, place: Path, making: Path, until: float, shared: tuple[str, ...]
) -> None:
    """Make a clone fit for the next run: files that are there stay, whatever became of `.git`."""
    dot = place / ".git"
    if is_git_dir(dot):
        for name in _LOCKS:  # the caller holds the lease, and no run is at work
            (dot / name).unlink(missing_ok=True)
        return
    if os.path.lexists(dot):
        _put_aside(dot, home.task(refs.task_id) / FOLDER)
    commit = refs.latest() or commit_of(refs.git, refs.base_ref)
    make_git_dir(making, refs.git, refs.branch_ref, commit, shared)
    git_in(making, place, until).ask("read-tree", commit)
    making.rename(dot)


def _put_aside(dot: Path, folder: Path) -> None:
    number = 1
    while os.path.lexists(kept := folder / f"{_FOUND}.{number}"):
        number += 1
    dot.rename(kept)
