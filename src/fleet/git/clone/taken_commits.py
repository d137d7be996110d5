"""Takes the commits of a clone over into a store that no agent can write.

git does not hash what it reads from a pack, so the names of a clone's objects are its agent's word.
They are packed from links to the object files, and the indexer counts each name again from the
bytes. Everything after that reads fleet's own store, which borrows from the project alone.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct

from fleet.git.clone import agent_git_dir, clone_place
from fleet.git.git_command import Git, GitFailed
from fleet.git.own.copied_objects import copy_commits
from fleet.git.own.fresh_git_dir import git_in, scratch_git_dir, write_alternates
from fleet.git.repository import Repository, read_whole
from fleet.git.snapshot_names import ref_of
from fleet.home import Home

#: Below the refs of a task in fleet's own store: one for each commit that keeps what was taken.
_TAKEN = "taken"


class TakenCommits(Struct, frozen=True, kw_only=True):
    """The commits of a clone that fleet's own store has."""

    #: The commits that the clone itself stores: made or fetched there.
    stored: frozenset[str] = frozenset()
    #: The commits of these that the project's refs do not lead to, each with its parents.
    new: Mapping[str, list[str]] = {}
    #: Why commits other than the one that is checked out are missing; empty if none is.
    missing: str = ""


def take_commits(
    home: Home, task_id: str, git: Git, known: bytes, head: str, *, sha256: bool
) -> TakenCommits:
    """Copy the commits that a task's clone stores into fleet's own store, where `git` is.

    `known` has a line `^COMMIT` for each commit that the project holds; `head` is the commit that
    the clone says it has checked out. Raises GitFailed if `head` cannot be had with all its files.
    """
    with scratch_git_dir(clone_place.reading_place(home), sha256=sha256) as place:
        if not agent_git_dir.link_objects(home.clone(task_id) / ".git", place / "objects"):
            return TakenCommits()
        (place / "shallow").write_bytes(read_whole(f"{git.repo.git_dir}/shallow"))
        there = git_in(place, place, git.until)
        ask = ("cat-file", "--batch-all-objects", "--unordered")
        listed = there.ask(*ask, "--batch-check=%(objecttype) %(objectname)").split(b"\n")
        found = [line[7:].decode() for line in listed if line.startswith(b"commit ")]
        write_alternates(place, [f"{git.repo.git_dir}/objects"])
        taken = _Taking(there, git, ref_of(f"{task_id}/{_TAKEN}"), known)
        try:
            return taken.take(found)
        except GitFailed as error:
            if head not in found:
                return TakenCommits(missing=error.message)
            only = taken.take([head])
            return TakenCommits(stored=only.stored, new=only.new, missing=error.message)


class _Taking:
    """One transfer from the links to a clone's objects into fleet's own store."""

    def __init__(self, there: Git, own: Git, ref: str, known: bytes) -> None:
        self._there, self._own, self._ref, self._known = there, own, ref, known

    def take(self, commits: list[str]) -> TakenCommits:
        """Copy these commits and hold them by refs. Raises GitFailed."""
        if not commits:
            return TakenCommits()
        before = self._own.ask("for-each-ref", "--format=^%(objectname)", self._ref)
        store = f"{self._own.repo.git_dir}/objects"
        feed = "".join(f"{each}\n" for each in commits).encode() + self._known
        try:
            if not (before and self._has_all(feed)):
                copy_commits(self._there, commits, self._known + before, store)
                self._own.ask("rev-list", "--objects", "--quiet", "--stdin", feed=feed)
            rows = self._own.ask("rev-list", "--parents", "--stdin", feed=feed).decode()
        except GitFailed as error:
            why = "its commits need objects that are not there, or are not what their names say"
            raise GitFailed(f"{why}: {error.message}", errno=error.errno) from None
        new = {commit: parents for commit, *parents in map(str.split, rows.splitlines())}
        held = set(before.decode().replace("^", "").split())
        self._hold(heads_of(new) - held)
        return TakenCommits(stored=frozenset(commits), new=new)

    def _has_all(self, feed: bytes) -> bool:
        """Whether all objects are in fleet's own store since an earlier transfer."""
        try:
            self._own.ask("rev-list", "--objects", "--quiet", "--stdin", feed=feed)
        except GitFailed:
            return False
        return True

    def _hold(self, heads: Iterable[str]) -> None:
        lines = "".join(f"update {self._ref}/{each} {each}\n" for each in sorted(heads))
        if lines:
            self._own.ask("update-ref", "--no-deref", "--stdin", feed=lines.encode())


def heads_of(commits: Mapping[str, Iterable[str]]) -> set[str]:
    """The commits, given with their parents, that no other of them leads to. Pure."""
    return set(commits) - {parent for parents in commits.values() for parent in parents}


def own_git(own: Repository, until: float) -> Git:
    """Git in fleet's own repository, away from the working tree that it stands for: what was taken
    over stays readable when the clone goes.
    """
    return git_in(Path(own.git_dir), Path(own.git_dir), until)
