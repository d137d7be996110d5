"""The git worktree of a task: `worktrees/<id>` in the home, on the branch `fleet/<id>`.

The worktree is made once, from the commit that the task's directory stood at, and kept over all
runs of the task. `tasks/<id>/worktree/worktree.json` is written before each step, so that a new
supervisor can finish what a killed one began.
"""

import os
import shutil
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import structs

from fleet.errors import FleetError
from fleet.git import repository
from fleet.git.git_command import Git, GitFailed
from fleet.git.refs import branch_lock, commit_of
from fleet.git.repository import Repository
from fleet.git.run_baseline import ref_word
from fleet.home import Home
from fleet.home.worktree_json import FOLDER, Worktree, put_aside_setup, read, write

#: Seconds to check out a large repository.
LIMIT = 300.0
#: Locks for changing the worktrees of a repository, by its common git directory.
_BUSY: dict[str, threading.Lock] = {}
#: Lock files that a killed git leaves behind, and that stop every later git.
_LOCKS = ("index.lock", "HEAD.lock", "ORIG_HEAD.lock")


def ensure_worktree(home: Home, task_id: str, cwd: str, commit: str = "") -> Worktree:
    """The task's worktree, made if there is none, from `commit` or from the commit that is checked
    out in its directory. Raises FleetError if the worktree cannot be made.
    """
    worktree = read(home, task_id)
    repo = _repository(worktree.repository if worktree is not None else cwd)
    git = Git(repo, time.monotonic() + LIMIT)
    if worktree is None:
        worktree = write(home, task_id, _planned(home, git, task_id, commit))
    if not worktree.made:
        _clear(git, worktree)
        put_aside_setup(home.task(task_id) / FOLDER)
        _add(git, worktree)
        return write(home, task_id, structs.replace(worktree, made=True))
    if exists(worktree) and not worktree.removing:
        _unlock(worktree)
        return worktree
    if worktree.removing:  # the task was reopened before the removal was done
        remove(git, worktree)
    put_aside_setup(home.task(task_id) / FOLDER)
    _attach(git, worktree)
    return write(home, task_id, structs.replace(worktree, set_up=False, removing=False))


def exists(worktree: Worktree) -> bool:
    """The directory exists and is a working tree."""
    found = repository.find(worktree.path)
    return found is not None and found.root == os.path.realpath(worktree.path)


def _repository(cwd: str) -> Repository:
    repo = repository.find(cwd)
    if repo is not None:
        return repo
    if all(os.path.exists(f"{cwd}/{name}") for name in ("HEAD", "objects", "refs")):  # noqa: PTH110
        raise FleetError(f"{cwd} is a bare repository; a worktree is made from a checkout of it")
    raise FleetError(
        f"the task wants a worktree, and {cwd} is in no git repository"
        " (--isolation none runs the task in the directory itself)"
    )


def _planned(home: Home, git: Git, task_id: str, wanted: str) -> Worktree:
    """The worktree to make for a task that has none."""
    try:
        commit = git.line("rev-parse", "--quiet", "--verify", f"{wanted or 'HEAD'}^{{commit}}")
    except GitFailed:
        what = f"lacks the commit {wanted}" if wanted else "has no commit yet"
        raise FleetError(f"no worktree can be made: {git.repo.root} {what}") from None
    home.worktrees.mkdir(mode=0o700, parents=True, exist_ok=True)
    worktree = Worktree(
        path=str(home.worktrees.resolve() / task_id),
        repository=git.repo.root,
        commit=commit,
        branch=f"fleet/{ref_word(task_id)}",
    )
    if commit_of(git, worktree.ref):
        raise FleetError(
            f"{git.repo.root} has a branch {worktree.branch} already, and it is not this task's;"
            f" rename or delete it: git branch -m {worktree.branch} …"
        )
    return worktree


def _clear(git: Git, worktree: Worktree) -> None:
    """Remove a worktree that a supervisor began to make and did not finish."""
    remove(git, worktree)
    commit = commit_of(git, worktree.ref)
    if commit == worktree.commit:
        git.ask("update-ref", "-d", worktree.ref, commit)
    elif commit:
        raise FleetError(
            f"{worktree.repository} has a branch {worktree.branch} already, and it is not this"
            " task's; rename or delete it"
        )


def remove(git: Git, worktree: Worktree) -> None:
    """Remove the directory with all its files. The branch stays."""
    with _one_at_a_time(git):
        with suppress(GitFailed):
            git.ask_patiently("worktree", "remove", "--force", "--force", worktree.path)
        if Path(worktree.path).exists():
            shutil.rmtree(worktree.path)
        git.ask_patiently("worktree", "prune")


def _attach(git: Git, worktree: Worktree) -> None:
    """Make the worktree again on its branch, after its directory was deleted."""
    place = Path(worktree.path)
    if place.exists() and any(place.iterdir()):
        raise FleetError(
            f"{place} is no working tree any more, and holds files; move them away to go on"
        )
    with _one_at_a_time(git):
        git.ask_patiently("worktree", "prune")
    _add(git, worktree)


def _add(git: Git, worktree: Worktree) -> None:
    """Make the branch, if there is none, and the worktree on it."""
    with _one_at_a_time(git), branch_lock(git):
        if not commit_of(git, worktree.ref):
            git.ask("update-ref", worktree.ref, worktree.commit, "")
        what = (worktree.path, worktree.branch)
        git.ask_patiently("worktree", "add", "--quiet", "--force", "--no-checkout", *what)
    repo = repository.find(worktree.path)
    assert repo is not None
    git.at(repo).ask("reset", "--quiet", "--hard")  # writes the files, which takes the time


@contextmanager
def _one_at_a_time(git: Git) -> Generator[None]:
    """Hold while git changes worktrees: two such commands at once fail."""
    with _BUSY.setdefault(git.repo.common_dir, threading.Lock()):
        yield


def _unlock(worktree: Worktree) -> None:
    """Remove lock files of a killed git. The caller holds the lease, and no run is at work."""
    repo = repository.find(worktree.path)
    if repo is not None and repo.git_dir != repo.common_dir:
        for name in _LOCKS:
            Path(repo.git_dir, name).unlink(missing_ok=True)
