"""Folds a candidate onto the line of a branch: as a merge, or as one commit.

Nothing but objects in fleet's own git directory is written. The same candidate on the same line
gives the same commit, whenever it is folded.

An agent writes the history of a candidate. A history that names a later commit of the line as a
parent says that the work has what that commit brought, and a merge by this history would take off
the line whatever the work lacks. A history that was set back lacks what the work removes. So the
merge starts from a commit that fleet gave the agent.
"""

from typing import Literal

from msgspec import Struct

from fleet.git.commit_object import read_commits, write_commit
from fleet.git.commit_words import FLEET, Author
from fleet.git.git_command import Git
from fleet.git.land.merge_trees import TreeConflict, merge_commits, merge_over
from fleet.git.refs import merge_base, tree_of

How = Literal["merge", "squash"]


class Candidate(Struct, frozen=True, kw_only=True):
    """Accepted work of a task that is to land."""

    task_id: str
    commit: str
    message: str
    how: How = "merge"
    author: Author = FLEET
    #: The commit that fleet gave the work to start from, or had it merge last; empty: the history
    #: is believed.
    base: str = ""


class Folded(Struct, frozen=True, kw_only=True):
    """The line with the candidate folded onto it."""

    #: The line's commit if the line held the candidate already.
    commit: str
    tree: str
    parents: tuple[str, ...]


def fold(git: Git, onto: str, candidate: Candidate) -> Folded | TreeConflict:
    """Fold a candidate onto a commit of the line. `git` is that of a LandRepository. Raises
    GitFailed if an object is missing, the disk is full, or the time is over.
    """
    line, work = read_commits(git, onto, candidate.commit)
    base = merge_base(git, onto, candidate.commit)
    if base == candidate.commit:
        return Folded(commit=onto, tree=line.tree, parents=line.parents)
    # With the time of the newer side, the same fold is the same commit whenever it is made.
    at = max(line.at, work.at)
    start = other_start(git, onto, candidate.commit, candidate.base)
    if start:
        merged = merge_over(git, tree_of(git, start), line.tree, work.tree)
    else:
        merged = merge_commits(git, onto, candidate.commit, base)
    if isinstance(merged, TreeConflict):
        return merged
    parents = (onto, candidate.commit) if candidate.how == "merge" else (onto,)
    author = candidate.author
    commit = write_commit(git, merged, *parents, message=candidate.message, author=author, at=at)
    return Folded(commit=commit, tree=merged, parents=parents)


def other_start(git: Git, line: str, commit: str, given: str) -> str:
    """Where to merge a work from, if not where its history says; empty: there, or nothing is given.

    `given` is the commit that fleet gave the work. Raises GitFailed.
    """
    if not given:
        return ""
    related, found = git.judge("merge-base", "--all", line, commit)
    shared = found.decode().split() if related else []
    if shared in ([], [given]):
        return ""
    start = merge_base(git, line, given)
    return "" if shared == [start] else start
