"""Merges a commit onto the branch that a person has checked out, if nothing is in the way; else
nothing is changed.

The merge is made in fleet's own repository, so that no merge driver, filter or hook takes part.
Then the project gets its objects, files and index are brought up to date, and the branch moves.
"""

import os
import time
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from fleet.errors import Refused
from fleet.git import repository, tree_snapshot
from fleet.git.commit_words import author_in, commit_tree
from fleet.git.git_command import Git, GitFailed
from fleet.git.own.copied_objects import give_objects
from fleet.git.own.own_repository import own_repository
from fleet.git.own.project_refs import move_branch, refs_of
from fleet.git.refs import Refs, is_ancestor, read_refs
from fleet.git.repository import Repository, shown
from fleet.schemas.shown_text import some

_LIMIT = 120.0
_UNFINISHED = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply")
_FEW = 5


class Landed(Struct, frozen=True, kw_only=True):
    """A commit is on the branch."""

    branch: str
    #: What the branch stands at now.
    commit: str
    how: str


def land(home: Path, root: str, commit: str, *, ref: str, message: str, again: str) -> Landed:
    """Merge a commit onto the branch that is checked out at `root`.

    `ref` holds the commit, `again` is the command that tries once more. Raises Refused with the way
    out.
    """
    repo = repository.find(root)
    if repo is None:
        raise Refused(f"{root} is no git repository any more")
    until = time.monotonic() + _LIMIT
    own = own_repository(home, repo)
    git = Git(own, until)
    refs = read_refs(refs_of(own, repo, until), repo)
    by_hand = f"git -C {root} merge {ref}"
    branch = _branch(repo, refs, again)
    if is_ancestor(git, commit, refs.head):
        return Landed(branch=branch, commit=refs.head, how="was there already")
    _refuse_unfinished(repo, again)
    _refuse_changes(own, repo, refs.head, until, again, by_hand)
    how, new = "fast-forwarded", commit
    if not is_ancestor(git, refs.head, commit):
        tree = _merged(git, refs.head, commit, branch, again, by_hand)
        author = author_in(repo)
        new = commit_tree(git, tree, refs.head, commit, message=message, author=author)
        how = "merged"
    try:
        give_objects(git, repo, new, refs.head, commit)
        _move(own, repo, refs, new, until)
    except GitFailed as error:
        raise Refused(
            f"the commit cannot be put onto {branch}: {error.message}",
            hint=f"See for yourself: {by_hand}. Then, to finish: {again}",
        ) from error
    return Landed(branch=branch, commit=new, how=how)


def _branch(repo: Repository, refs: Refs, again: str) -> str:
    if not refs.branch or not refs.head:
        raise Refused(
            f"{repo.root} has no branch checked out",
            hint=f"Check one out (git switch BRANCH), and then: {again}",
        )
    return refs.branch.removeprefix("refs/heads/")


def _refuse_unfinished(repo: Repository, again: str) -> None:
    begun = [name for name in _UNFINISHED if os.path.exists(f"{repo.git_dir}/{name}")]  # noqa: PTH110
    if begun:
        raise Refused(
            f"git has not finished something in {repo.root}: {begun[0]}",
            hint=f"Finish it or leave it (git status says how), and then: {again}",
        )


def _refuse_changes(
    own: Repository, repo: Repository, head: str, until: float, again: str, by_hand: str
) -> None:
    with tree_snapshot.opened(own, repo, until) as (git, _):
        names = sorted(map(shown, tree_snapshot.uncommitted(git, head, new=False)))
    if names:
        raise Refused(
            f"{repo.root} has changes that are not committed: {some(names, _FEW)}",
            hint=f"Commit them or put them aside (git stash), and then: {again}\n"
            f"Or take it by hand: {by_hand}",
        )


def _merged(git: Git, head: str, commit: str, branch: str, again: str, by_hand: str) -> str:
    """The tree of both; Refused if they conflict."""
    try:
        return git.line("merge-tree", "--write-tree", head, commit).partition("\n")[0]
    except GitFailed:
        raise Refused(
            f"{branch} has commits since that conflict with it",
            hint=f"Merge it by hand: {by_hand}\nThen, to finish: {again}",
        ) from None


def _move(own: Repository, repo: Repository, refs: Refs, new: str, until: float) -> None:
    """Bring files and index from HEAD to a commit, and then the branch. Git checks first."""
    index = f"{repo.git_dir}/index"
    if os.path.islink(index):  # noqa: PTH114
        raise GitFailed(f"{index} leads elsewhere")
    git = Git(own, until, index)
    git.ask("update-index", "-q", "--refresh", "--ignore-submodules")
    git.ask("read-tree", "-m", "-u", refs.head, new)
    try:
        move_branch(own, repo, until, branch=refs.branch, old=refs.head, new=new, why="fleet: land")
    except GitFailed:
        with suppress(GitFailed):
            git.ask("read-tree", "-m", "-u", new, refs.head)
        raise
