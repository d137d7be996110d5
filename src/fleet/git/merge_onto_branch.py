"""Merges a commit onto the branch that a person has checked out, if nothing is in the way; else
nothing is changed.
"""

import os
import time

from msgspec import Struct

from fleet.errors import Refused
from fleet.git import repository
from fleet.git.git_command import Git, GitFailed
from fleet.git.refs import is_ancestor
from fleet.git.repository import shown

_LIMIT = 120.0
_UNFINISHED = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply")
_FEW = 5
#: These override the repository's own settings for merges.
_PLAINLY = ("--no-edit", "--no-squash", "--commit", "--no-autostash", "--no-gpg-sign", "--no-stat")


class Landed(Struct, frozen=True, kw_only=True):
    """A commit is on the branch."""

    branch: str
    #: What the branch stands at now.
    commit: str
    how: str


def land(root: str, commit: str, *, ref: str, message: str, again: str) -> Landed:
    """Merge a commit onto the branch that is checked out at `root`.

    `ref` holds the commit, `again` is the command that tries once more. Raises Refused with the way
    out.
    """
    repo = repository.find(root)
    if repo is None:
        raise Refused(f"{root} is no git repository any more")
    git = Git(repo, time.monotonic() + _LIMIT)
    by_hand = f"git -C {root} merge {ref}"
    current = _branch(git, again)
    head = git.line("rev-parse", "--verify", "HEAD^{commit}")
    if is_ancestor(git, commit, head):
        return Landed(branch=current, commit=head, how="was there already")
    _refuse_unfinished(git, again, by_hand)
    try:
        if is_ancestor(git, head, commit):
            how = "fast-forwarded"
            git.ask("merge", "--ff-only", *_PLAINLY, commit)
        else:
            how = "merged"
            _refuse_conflict(git, current, commit, again, by_hand)
            git.ask("merge", "--no-ff", *_PLAINLY, "-m", message, commit)
    except GitFailed as error:  # git checks first, and has changed nothing
        raise Refused(
            f"the commit cannot be put onto {current}: {error.message}",
            hint=f"See for yourself: {by_hand}. Then, to finish: {again}",
        ) from error
    return Landed(branch=current, commit=git.line("rev-parse", "--verify", "HEAD"), how=how)


def _branch(git: Git, again: str) -> str:
    try:
        return git.line("symbolic-ref", "--quiet", "--short", "HEAD")
    except GitFailed:
        raise Refused(
            f"{git.repo.root} has no branch checked out",
            hint=f"Check one out (git switch BRANCH), and then: {again}",
        ) from None


def _refuse_unfinished(git: Git, again: str, by_hand: str) -> None:
    root = git.repo.root
    begun = [name for name in _UNFINISHED if os.path.exists(f"{git.repo.git_dir}/{name}")]  # noqa: PTH110
    if begun:
        raise Refused(
            f"git has not finished something in {root}: {begun[0]}",
            hint=f"Finish it or leave it (git status says how), and then: {again}",
        )
    changed = git.ask("status", "--porcelain", "-z", "--untracked-files=no", "--no-renames")
    names = [shown(entry[3:]) for entry in changed.split(b"\0") if entry]
    if names:
        more = f" and {len(names) - _FEW} more" if len(names) > _FEW else ""
        raise Refused(
            f"{root} has changes that are not committed: {', '.join(names[:_FEW])}{more}",
            hint=f"Commit them or put them aside (git stash), and then: {again}\n"
            f"Or take it by hand: {by_hand}",
        )


def _refuse_conflict(git: Git, current: str, commit: str, again: str, by_hand: str) -> None:
    try:
        git.ask("merge-tree", "--write-tree", "--name-only", "HEAD", commit)
    except GitFailed:
        raise Refused(
            f"{current} has commits since that conflict with it",
            hint=f"Merge it by hand: {by_hand}\nThen, to finish: {again}",
        ) from None
