"""Makes and fetches the mirror of a repository whose directory is on another host: a repository
without files, in which no branch is checked out. Clones are made from it, and work is folded in it,
as in a project of this host. May take as long as the line is slow: beside the
loop, and never on a connection of the queue.

Mirrors are fetched with the operator's logins, so only from addresses that the operator has
confirmed on this host. The git directory is one that fleet writes, as for clones: nothing that a
repository holds decides what git runs here.
"""

import os
import time
from pathlib import Path

from msgspec import Struct

from fleet.errors import FleetError
from fleet.files.file_lock import locked
from fleet.git.git_command import Git, GitFailed
from fleet.git.mirror.result_refs import fetched_ref
from fleet.git.own.fresh_git_dir import write_git_dir
from fleet.git.refs import commit_of
from fleet.git.remote.remote_git import FETCH, QUESTION, RemoteGit, RemoteSilent, why_failed
from fleet.git.remote.trusted_remotes import is_trusted
from fleet.git.remote.upstream import without_password
from fleet.git.repository import Repository
from fleet.home import Home
from fleet.processes.bounded_call import Exited

#: Seconds that one fetch may take: two gigabytes over a line of a megabyte a second.
FETCH_LIMIT = 3600.0
_LIMIT = 60.0
_LOCK = "fetch.lock"
_REMOTE = '[remote "origin"]\n\turl = "{url}"\n\tfetch = +refs/heads/*:refs/heads/*\n'
#: Branches and tags as they are there. Branches of fleet's own tasks are this host's.
_OWN = "refs/heads/fleet/"
_REFSPECS = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*", f"^{_OWN}*")
#: What git says of a branch whose name is a part of another's.
_IN_THE_WAY = "cannot lock ref"
_NO_SPACE = "No space left on device"


class Unreached(Struct, frozen=True, kw_only=True):
    """The code cannot be had on this host for now; on another host, or later, perhaps."""

    why: str
    #: Another task's fetch of the same mirror is under way: soon.
    soon: bool = False
    #: The host's disk is full, which says nothing about the repository.
    full: bool = False
    #: The repository, or the commit, is not there, so that no host can have it.
    gone: bool = False
    #: The operator of this host has not confirmed the address.
    unconfirmed: bool = False


def ensure_mirror(
    home: Home, url: str, task_id: str, *, commit: str = "", patience: float = FETCH_LIMIT
) -> Repository | Unreached:
    """The mirror of an address, fetched now, with what hosts pushed of the task's runs.

    `commit` has to be in it. What was fetched before counts where the remote does not answer.
    """
    place, shown = home.mirror(url), without_password(url)
    repo = mirror_repository(place)
    if not is_trusted(home.path, os.path.realpath(repo.common_dir), url):
        return Unreached(
            why=f"{shown} is not confirmed on this host: if fleet may fetch from there and push"
            f" work to it with your logins, run: fleet trust --remote {shown}",
            unconfirmed=True,
        )
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    with locked(place / _LOCK) as lock:
        if lock is None:
            return Unreached(why=f"{shown} is being fetched already", soon=True)
        _make(place, url)
        _clear(repo)  # of a machine that went down while it fetched
        silent = _fetch(repo, url, task_id, patience, lock.fd)
    git = Git(repo, time.monotonic() + _LIMIT)
    if silent and not (commit and _has(git, commit)):
        full = _NO_SPACE in silent
        return Unreached(why=f"{shown} cannot be fetched: {silent}", full=full)
    if commit and not _has(git, commit):
        return Unreached(
            why=f"{shown} does not have the commit {commit[:12]} that it begins"
            " from: push it there",
            gone=True,
        )
    return repo


def mirror_repository(place: Path) -> Repository:
    """The repository in a mirror's place."""
    git_dir = f"{place}/.git"
    return Repository(root=str(place), git_dir=git_dir, common_dir=git_dir)


def _fetch(repo: Repository, url: str, task_id: str, patience: float, lock: int) -> str:
    """Bring the mirror up to date; returns why that could not be done, or nothing.

    Git inherits the lock: a fetch that outlives its supervisor is waited for, not begun again.
    """
    remote = RemoteGit(repo, url, patience=patience)
    specs = (*_REFSPECS, f"+{fetched_ref(task_id, '*', there=True)}:{fetched_ref(task_id, '*')}")
    done = remote.judge(*FETCH, url, *specs, at_most=patience, stdin=lock)
    if isinstance(done, Exited) and _IN_THE_WAY in done.err and _clear_way(repo, remote, url):
        done = remote.judge(*FETCH, url, *specs, at_most=patience, stdin=lock)
    if isinstance(done, Exited) and not done.code:
        return ""
    _clear(repo)
    return done.why if isinstance(done, RemoteSilent) else why_failed(done)


def _clear(repo: Repository) -> None:
    """Delete what a git that was killed had fetched: git begins anew, and the disk may fill."""
    for left in Path(repo.common_dir, "objects").glob("*/tmp_*"):
        left.unlink(missing_ok=True)


def _clear_way(repo: Repository, remote: RemoteGit, url: str) -> bool:
    """Forget branches that the remote has no longer, and that keep new ones from coming: while `a`
    is there, git cannot make `a/b`. False: there is none.
    """
    done = remote.ask("ls-remote", "--quiet", "--heads", url, at_most=QUESTION)
    if isinstance(done, RemoteSilent):
        return False
    there = {line.partition("\t")[2] for line in done.text.splitlines()}
    above = {parent for ref in there for parent in _above(ref)}
    git = Git(repo, time.monotonic() + _LIMIT)
    known = git.ask("for-each-ref", "--format=%(refname)", "refs/heads/").decode().split()
    gone = [ref for ref in known if ref not in there and not ref.startswith(_OWN)]
    in_the_way = [ref for ref in gone if ref in above or there.intersection(_above(ref))]
    for ref in in_the_way:
        git.ask("update-ref", "--no-deref", "-d", ref)
    return bool(in_the_way)


def _above(ref: str) -> list[str]:
    """The names that a ref could not bear if this one is there."""
    parts = ref.split("/")
    return ["/".join(parts[:count]) for count in range(3, len(parts))]


def _make(place: Path, url: str) -> None:
    """Make the mirror's empty repository; one that was begun and not finished is made anew."""
    dot = place / ".git"
    if (dot / "HEAD").exists():
        return
    making = place / f".making-{os.urandom(6).hex()}"
    write_git_dir(making, sha256=False, config=_REMOTE.format(url=_escaped(url)))
    try:
        making.rename(dot)
    except OSError as error:
        raise FleetError(f"{dot} cannot be made: {error.strerror}; move it away to go on") from None


def _escaped(url: str) -> str:
    return url.replace("\\", "\\\\").replace('"', '\\"')


def _has(git: Git, commit: str) -> bool:
    """The mirror has a commit with all files: a fetch that broke off leaves some objects."""
    try:
        if commit_of(git, f"{commit}^{{commit}}"):
            git.ask("rev-list", "--objects", "--quiet", commit, "--not", "--all")
            return True
    except GitFailed:
        pass
    return False
