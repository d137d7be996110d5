"""Where the refs of a repository stand. Asks git once."""

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
#: Refs that are fleet's own.
OURS = "refs/fleet/"
#: Refs that follow another repository's. A fetch moves them as a push does, so nothing is read
#: from it.
_REMOTE = "refs/remotes/"
_HEADS = "refs/heads/"
#: Beyond so many tags and the like whole groups are kept as one digest, and beyond so many
#: branches the rest is not kept at all: a record of a run has to stay small.
_MOST = 1000
_MOST_HEADS = 5000
GROUP = "*"
#: Held while a branch is made and checked out, by the directory that git keeps.
_MAKING: dict[str, threading.Lock] = {}


class Now(Base, frozen=True, kw_only=True):
    """The repository at the end of a run."""

    #: The branch that the run found no longer holds the commit that it stood at.
    rewound: bool = False


class Refs(Struct, frozen=True, kw_only=True):
    """The refs of a repository, seen from one of its working trees."""

    #: The commit and the branch that are checked out; empty where there is none.
    head: str
    branch: str
    #: Every other ref but fleet's own, and those that follow another repository's.
    others: dict[str, str]


@contextmanager
def whole(git: Git) -> Generator[None]:
    """Nobody meets a branch without its working tree, and takes it for one that nobody works on."""
    with _MAKING.setdefault(git.repo.common_dir, threading.Lock()):
        yield


def read_refs(git: Git) -> Refs:
    head = branch = ""
    others: dict[str, str] = {}
    ask = "--format=%(HEAD)%(objectname) %(refname)%00%(worktreepath)"
    with whole(git):
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


def groups_of(refs: Mapping[str, str]) -> frozenset[str]:
    """The groups, like `refs/tags/*`, that refs are to be kept as: none, unless they are many."""
    names = [name for name in refs if not name.startswith(_HEADS)]
    return frozenset(map(_group, names)) if len(names) > _MOST else frozenset()


def condensed(refs: Mapping[str, str], groups: Iterable[str]) -> dict[str, str]:
    """The refs by name, and these groups as a digest each. Pure."""
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
