"""The refs of a repository."""

import hashlib
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress

from msgspec import Struct

from fleet.git.git_command import MISSING, Git, GitFailed
from fleet.git.repository import Repository, checked_out
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
#: What HEAD says in a repository that keeps its refs in a table.
_IN_TABLE = "refs/heads/.invalid"


class BaseAfter(Base, frozen=True, kw_only=True):
    """The repository at the end of a run."""

    #: The branch of the start no longer contains the commit of the start.
    rewound: bool = False
    #: There is no repository any more.
    gone: bool = False
    #: Why the repository cannot be read, which says nothing about the run; empty: it was read.
    damage: str = ""


class Refs(Struct, frozen=True, kw_only=True):
    """The refs of a repository, seen from one working tree."""

    #: The commit and the branch that are checked out; empty if there is none.
    head: str
    branch: str
    #: All other refs, without fleet's own and those that follow another repository.
    others: dict[str, str]


def read_refs(git: Git, repo: Repository) -> Refs:
    """The refs of a project; `git` sees only these (`own/project_refs.py`)."""
    listed = git.ask("for-each-ref", "--format=%(objectname) %(refname)")
    elsewhere = set(map(checked_out, _other_trees(repo)))
    lines = listed.decode(errors="backslashreplace").splitlines()
    found = {name: commit for commit, _, name in (line.partition(" ") for line in lines)}
    branch = checked_out(repo.git_dir)
    if branch == _IN_TABLE:
        with suppress(GitFailed):
            branch = git.line("symbolic-ref", "--quiet", "HEAD")
    is_ref = branch.startswith("refs/")
    others = {
        name: f"{ELSEWHERE if name in elsewhere else ''}{commit}"
        for name, commit in found.items()
        if name != branch and not name.startswith((OURS, _REMOTE))
    }
    head = found.get(branch, "") if is_ref else branch
    return Refs(head=head, branch=branch if is_ref else "", others=others)


def _other_trees(repo: Repository) -> list[str]:
    """The git directories of the repository's other working trees."""
    try:
        names = os.listdir(f"{repo.common_dir}/worktrees")  # noqa: PTH208
    except OSError:
        names = []
    places = [repo.common_dir, *(f"{repo.common_dir}/worktrees/{name}" for name in names)]
    return [place for place in places if place != repo.git_dir]


def commit_of(git: Git, ref: str) -> str:
    """The commit of a ref; empty if there is no such ref. Raises GitFailed if git cannot tell."""
    found, out = git.judge("rev-parse", "--quiet", "--verify", ref, no=MISSING)
    return out.decode().strip() if found else ""


def is_ancestor(git: Git, commit: str, other: str) -> bool:
    """Whether a commit is the same as another, or an ancestor of the other. One that is not there
    is none. Raises GitFailed if git cannot tell.
    """
    return git.judge("merge-base", "--is-ancestor", commit, other, no=MISSING)[0]


def merge_base(git: Git, ours: str, theirs: str) -> str:
    """A commit that two have in common; empty if there is none. Raises GitFailed."""
    related, found = git.judge("merge-base", ours, theirs)
    return found.decode().strip() if related else ""


def tree_of(git: Git, commit: str) -> str:
    """The tree of a commit. Raises GitFailed."""
    return git.line("rev-parse", "--verify", f"{commit}^{{tree}}")


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
