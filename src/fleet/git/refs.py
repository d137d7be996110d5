"""The refs of a repository."""

import hashlib
import threading
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager, suppress

from msgspec import Struct

from fleet.git.git_command import Git, GitFailed
from fleet.schemas import Base

#: Stands before the commit of a branch that another working tree has checked out: the run in
#: that tree moves the branch.
ELSEWHERE = "@"
#: Prefix of the branch of each task that has a worktree.
BRANCHES = "refs/heads/fleet/"
#: Prefix of fleet's own refs.
OURS = "refs/fleet/"
#: Prefix of refs that follow another repository. A fetch moves them as a push does, so they say
#: nothing about a run.
_REMOTE = "refs/remotes/"
_HEADS = "refs/heads/"
#: With more refs than this besides branches, each group like `refs/tags/*` is kept as one digest;
#: branches beyond the second number are not kept. So the record of a run stays small.
_MOST = 1000
_MOST_HEADS = 5000
GROUP = "*"
#: Locks for making a branch with its worktree, by the common git directory.
_MAKING: dict[str, threading.Lock] = {}


class BaseAfter(Base, frozen=True, kw_only=True):
    """The repository at the end of a run."""

    #: The branch of the start no longer contains the commit of the start.
    rewound: bool = False


class Refs(Struct, frozen=True, kw_only=True):
    """The refs of a repository, seen from one of its working trees."""

    #: The commit and the branch that are checked out; empty if there is none.
    head: str
    branch: str
    #: All other refs, without fleet's own and those that follow another repository.
    others: dict[str, str]


@contextmanager
def branch_lock(git: Git) -> Generator[None]:
    """Hold while a branch and its worktree are made: `read_refs` never sees only one of them."""
    with _MAKING.setdefault(git.repo.common_dir, threading.Lock()):
        yield


def read_refs(git: Git) -> Refs:
    head = branch = ""
    others: dict[str, str] = {}
    ask = "--format=%(HEAD)%(objectname) %(refname)%00%(worktreepath)"
    with branch_lock(git):
        listed = git.ask_patiently("for-each-ref", ask).decode(errors="backslashreplace")
    for line in listed.splitlines():
        place, _, elsewhere = line[1:].partition("\0")
        commit, _, name = place.partition(" ")
        if line.startswith("*"):
            head, branch = commit, name
        elif not name.startswith((OURS, _REMOTE)):
            others[name] = f"{ELSEWHERE if elsewhere else ''}{commit}"
    if not head:
        with suppress(GitFailed):  # no branch is checked out, or there is no commit yet
            head = git.line("rev-parse", "--quiet", "--verify", "HEAD^{commit}")
        with suppress(GitFailed):
            branch = git.line("symbolic-ref", "--quiet", "HEAD")
    return Refs(head=head, branch=branch, others=others)


def commit_of(git: Git, ref: str) -> str:
    """The commit of a ref; empty if there is no such ref."""
    try:
        return git.line("rev-parse", "--quiet", "--verify", ref)
    except GitFailed:
        return ""


def is_ancestor(git: Git, commit: str, other: str) -> bool:
    """Whether a commit is the same as another, or an ancestor of it."""
    try:
        git.ask("merge-base", "--is-ancestor", commit, other)
    except GitFailed:
        return False
    return True


def groups_of(refs: Mapping[str, str]) -> frozenset[str]:
    """The groups, like `refs/tags/*`, to be kept as a digest; none unless there are many refs."""
    names = [name for name in refs if not name.startswith(_HEADS)]
    return frozenset(map(_group, names)) if len(names) > _MOST else frozenset()


def condense(refs: Mapping[str, str], groups: Iterable[str]) -> dict[str, str]:
    """The refs by name, with each of these groups as one digest. Pure."""
    wanted = frozenset(groups)
    found = {name: commit for name, commit in refs.items() if _group(name) not in wanted}
    heads = sorted(name for name in found if name.startswith(_HEADS))
    for name in heads[_MOST_HEADS:]:
        del found[name]
    for group in wanted:
        members = sorted(f"{name} {refs[name]}" for name in refs if _group(name) == group)
        text = "\n".join(members).encode()
        found[group] = hashlib.sha256(text).hexdigest()
    return found


def _group(name: str) -> str:
    return "/".join((*name.split("/")[:2], GROUP))
