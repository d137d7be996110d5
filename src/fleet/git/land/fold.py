"""Folds a candidate onto the line of a branch: as a merge, as one commit, or commit by commit.

Nothing but objects in fleet's own git directory is written. The same candidate on the same line
gives the same commit, whenever it is folded.

An agent writes the history of a candidate. A history that names a later commit of the line as a
parent says that the work has what that commit brought, and a merge by this history would take off
the line whatever the work lacks. A history that was set back lacks what the work removes. So the
merge starts from a commit that fleet gave the agent.
"""

from functools import partial
from typing import Literal

from msgspec import Struct

from fleet.git.commit_object import read_commit, read_commits, write_commit
from fleet.git.commit_words import FLEET, Author, marked
from fleet.git.git_command import Git
from fleet.git.land.merge_trees import TreeConflict, merge_commits, merge_over
from fleet.git.refs import merge_base, tree_of

How = Literal["merge", "squash", "rebase"]


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
    if candidate.how == "rebase" and not start:
        return _rebased(git, onto, candidate, at)
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


def _rebased(git: Git, onto: str, candidate: Candidate, at: int) -> Folded | TreeConflict:
    """The commits of the candidate one by one on the line, each marked with the task. None is left
    out, even one that changes nothing any more. A merge, and all below, becomes one commit: the
    parts may conflict with what the merge resolved.
    """
    by = partial(write_commit, git, author=candidate.author, at=at)
    merge, chain = _chain(git, onto, candidate.commit)
    line = read_commit(git, onto)
    head = Folded(commit=onto, tree=line.tree, parents=line.parents)
    if merge:
        merged = merge_commits(git, onto, merge)
        if isinstance(merged, TreeConflict):
            return merged
        commit = by(merged, onto, message=_with_parts(git, onto, merge, candidate))
        head = Folded(commit=commit, tree=merged, parents=(onto,))
    for commit in chain:
        facts = read_commit(git, commit)
        message = marked(facts.message, candidate.task_id)
        if facts.parents[0] == head.commit and message == facts.message:
            head = Folded(commit=commit, tree=facts.tree, parents=facts.parents)
            continue
        base = read_commit(git, facts.parents[0]).tree
        tree = merge_over(git, base, head.tree, facts.tree)
        if isinstance(tree, TreeConflict):
            return tree
        made = by(tree, head.commit, message=message, old=facts)
        head = Folded(commit=made, tree=tree, parents=(head.commit,))
    return head


def _chain(git: Git, onto: str, tip: str) -> tuple[str, list[str]]:
    """The merge nearest to the tip, or nothing, and the commits above that merge,
    the oldest first.
    """
    rows = git.ask("rev-list", "--parents", tip, f"^{onto}").decode().splitlines()
    parents = {commit: above for commit, *above in map(str.split, rows)}
    chain: list[str] = []
    at = tip
    while len(parents.get(at, ())) == 1:
        chain.append(at)
        at = parents[at][0]
    # A commit without a parent has no history in common with the line; merging says so.
    return (at if at in parents else ""), chain[::-1]


def _with_parts(git: Git, onto: str, merge: str, candidate: Candidate) -> str | bytes:
    """The message of a commit that stands for several: their subjects are kept."""
    listed = git.ask("rev-list", "--reverse", "--topo-order", "--no-merges", merge, f"^{onto}")
    parts = [
        f"- {read_commit(git, each).subject} ({each[:12]})" for each in listed.decode().split()
    ]
    if not parts:
        return candidate.message
    subject = candidate.message.partition("\n")[0]  # the trailer is the last paragraph again
    return marked("\n".join([subject, "", "Holds:", *parts]).encode(), candidate.task_id)
