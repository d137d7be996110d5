"""A git worktree of a task's own: `worktrees/<id>` in the home, on the branch `fleet/<id>`.

It is made once, from the commit that the task's directory stood at, and kept over all runs of the
task. What was meant is written to `tasks/<id>/worktree/worktree.json` before it is done, so that
a supervisor that dies half-way leaves nothing that the next one cannot tell.
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
from fleet.git.refs import whole
from fleet.git.repository import Repository
from fleet.git.run_baseline import ref_word
from fleet.home import Home
from fleet.home.worktree_json import FOLDER, Worktree, put_aside_setup, read, write

#: Seconds to check out a large repository.
LIMIT = 300.0
#: Held while git changes the worktrees of a repository, by the directory that it keeps.
_BUSY: dict[str, threading.Lock] = {}
#: What a git that was killed leaves behind, and no other git goes past.
_LOCKS = ("index.lock", "HEAD.lock", "ORIG_HEAD.lock")


def ready(home: Home, task_id: str, cwd: str, commit: str = "") -> Worktree:
    """The task's worktree, made if it is not there, from `commit` or from where its directory
    stands. Raises FleetError where that cannot be.
    """
    worktree = read(home, task_id)
    repo = _repository(worktree.repository if worktree is not None else cwd)
    git = Git(repo, time.monotonic() + LIMIT)
    if worktree is None:
        worktree = write(home, task_id, _meant(home, git, task_id, commit))
    if not worktree.made:
        _clear(git, worktree)
        put_aside_setup(home.task(task_id) / FOLDER)
        _add(git, worktree)
        return write(home, task_id, structs.replace(worktree, made=True))
    if exists(worktree) and not worktree.removing:
        _unlock(worktree)
        return worktree
    if worktree.removing:  # the task was opened again before it was gone
        remove(git, worktree)
    put_aside_setup(home.task(task_id) / FOLDER)
    _attach(git, worktree)
    return write(home, task_id, structs.replace(worktree, set_up=False, removing=False))


def exists(worktree: Worktree) -> bool:
    """Its directory is there, and is a working tree."""
    found = repository.find(worktree.path)
    return found is not None and found.root == os.path.realpath(worktree.path)


def _repository(cwd: str) -> Repository:
    repo = repository.find(cwd)
    if repo is not None:
        return repo
    if all(os.path.exists(f"{cwd}/{name}") for name in ("HEAD", "objects", "refs")):  # noqa: PTH110
        raise FleetError(f"{cwd} is a bare repository; a worktree is made from a checkout of it")
    raise FleetError(
        f"it wants a worktree of its own, and {cwd} is in no git repository"
        " (--isolation none runs it in the directory itself)"
    )


def _meant(home: Home, git: Git, task_id: str, wanted: str) -> Worktree:
    """What is to be made for a task that has none."""
    try:
        commit = git.line("rev-parse", "--quiet", "--verify", f"{wanted or 'HEAD'}^{{commit}}")
    except GitFailed:
        what = f"has not the commit {wanted}" if wanted else "has no commit yet"
        raise FleetError(f"{git.repo.root} {what} that a worktree could be made from") from None
    home.worktrees.mkdir(mode=0o700, parents=True, exist_ok=True)
    worktree = Worktree(
        path=str(home.worktrees.resolve() / task_id),
        repository=git.repo.root,
        commit=commit,
        branch=f"fleet/{ref_word(task_id)}",
    )
    if standing(git, worktree.ref):
        raise FleetError(
            f"{git.repo.root} has a branch {worktree.branch} already, and it is not this task's;"
            f" rename or delete it: git branch -m {worktree.branch} …"
        )
    return worktree


def _clear(git: Git, worktree: Worktree) -> None:
    """Remove what a supervisor that died while making it may have left. No agent was in it."""
    remove(git, worktree)
    commit = standing(git, worktree.ref)
    if commit == worktree.commit:
        git.ask("update-ref", "-d", worktree.ref, commit)
    elif commit:
        raise FleetError(
            f"{worktree.repository} has a branch {worktree.branch} already, and it is not this"
            " task's; rename or delete it"
        )


def remove(git: Git, worktree: Worktree) -> None:
    """Remove its directory, whatever is in it. Its branch stays."""
    with _one_at_a_time(git):
        with suppress(GitFailed):
            git.ask_patiently("worktree", "remove", "--force", "--force", worktree.path)
        if Path(worktree.path).exists():
            shutil.rmtree(worktree.path)
        git.ask_patiently("worktree", "prune")


def _attach(git: Git, worktree: Worktree) -> None:
    """Its directory was deleted: what was committed is still on its branch."""
    place = Path(worktree.path)
    if place.exists() and any(place.iterdir()):
        raise FleetError(
            f"{place} is no working tree any more, and holds files; move them away to go on"
        )
    with _one_at_a_time(git):
        git.ask_patiently("worktree", "prune")
    _add(git, worktree)


def _add(git: Git, worktree: Worktree) -> None:
    """Make the branch, if there is none, and the working tree on it."""
    with _one_at_a_time(git), whole(git):
        if not standing(git, worktree.ref):
            git.ask("update-ref", worktree.ref, worktree.commit, "")
        what = (worktree.path, worktree.branch)
        git.ask_patiently("worktree", "add", "--quiet", "--force", "--no-checkout", *what)
    repo = repository.find(worktree.path)
    assert repo is not None
    git.at(repo).ask("reset", "--quiet", "--hard")  # the files: this takes the time


@contextmanager
def _one_at_a_time(git: Git) -> Generator[None]:
    """Git's own commands on worktrees fail where they meet; elsewhere they may still."""
    with _BUSY.setdefault(git.repo.common_dir, threading.Lock()):
        yield


def _unlock(worktree: Worktree) -> None:
    """Whoever asks holds the task's lease, and no run of it lives: a lock is a dead git's."""
    repo = repository.find(worktree.path)
    if repo is not None and repo.git_dir != repo.common_dir:
        for name in _LOCKS:
            Path(repo.git_dir, name).unlink(missing_ok=True)


def standing(git: Git, ref: str) -> str:
    """Where a ref stands; empty if there is none."""
    try:
        return git.line("rev-parse", "--quiet", "--verify", ref)
    except GitFailed:
        return ""
