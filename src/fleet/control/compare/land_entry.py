"""Lands a picked entry on the branch that a person has checked out; or nothing is changed, and the
person is told what is in the way.

The entry goes the way of all work, folded onto the line and moved by compare-and-swap, but that the
branch moves now or not at all.
"""

import time
from pathlib import Path

from msgspec import Struct

from fleet.control import Control
from fleet.control.compare.results import entry_work
from fleet.errors import Refused
from fleet.git import repository
from fleet.git.commit_words import author_in, message_of
from fleet.git.land.fast_forward import finish_moves
from fleet.git.land.fold import Candidate, fold, other_start
from fleet.git.land.land_repository import LandRepository
from fleet.git.land.merge_trees import TreeConflict
from fleet.git.land.move_line import Held, Moved, move
from fleet.git.land.target import Target, read_target
from fleet.git.refs import is_ancestor, read_refs
from fleet.schemas import Task
from fleet.schemas.comparison import Comparison, Entry

_LIMIT = 120.0


class LandedEntry(Struct, frozen=True, kw_only=True):
    """The commit of an entry is on the branch."""

    branch: str
    #: What the branch stands at now.
    commit: str
    how: str


def land_entry(fleet: Control, task: Task, comparison: Comparison, entry: Entry) -> LandedEntry:
    """Land the work of an entry. Raises Refused with the way out."""
    work = entry_work(fleet.home, entry.task_id)
    if work is None:
        raise Refused(
            f"{entry.task_id} has no clone and no branch that could be landed",
            hint=f"See what is left: fleet task {entry.task_id} receipt",
        )
    if work.beyond:
        raise Refused(
            f"the clone of {entry.task_id} holds {work.beyond}, which cannot be landed",
            hint=f"See for yourself: {fleet.home.clone(entry.task_id)}",
        )
    commit, ref = work.hold(task.title)
    return land_commit(
        fleet.home.path,
        comparison.repository,
        commit,
        base=comparison.commit,
        ref=ref,
        message=message_of(task.title, entry.task_id),
        again=f"fleet compare {task.id} --pick {entry.task_id}",
    )


def land_commit(
    home: Path, root: str, commit: str, *, base: str, ref: str, message: str, again: str
) -> LandedEntry:
    """Land a commit on the branch that is checked out at `root`.

    The work began at `base`. `ref` holds the commit, `again` is the command that tries once more.
    """
    repo = repository.find(root)
    if repo is None:
        raise Refused(f"{root} is no git repository any more")
    land = LandRepository(home, repo, time.monotonic() + _LIMIT)
    by_hand = f"git -C {root} merge {ref}"
    finish_moves(land)
    target = _target(land, again)
    branch, how, new = target.branch, "fast-forwarded", commit
    if is_ancestor(land.git, commit, target.tip):
        return LandedEntry(branch=branch, commit=target.tip, how="was there already")
    follows = is_ancestor(land.git, target.line, commit)
    if not follows or other_start(land.git, target.line, commit, base):
        author = author_in(repo)
        work = Candidate(task_id="", commit=commit, message=message, author=author, base=base)
        made = fold(land.git, target.line, work)
        if isinstance(made, TreeConflict):
            raise Refused(
                f"{branch} has commits since that conflict with it",
                hint=f"Merge it by hand: {by_hand}\nThen, to finish: {again}",
            )
        how, new = "merged", made.commit
    moved = move(land, target, new, why="fleet: land", asked=True)
    if not isinstance(moved, Moved):
        why = moved.why if isinstance(moved, Held) else "it was moved meanwhile"
        raise Refused(
            f"the commit cannot be put onto {branch}: {why}",
            hint=f"Clear that away, and then: {again}\nOr take it by hand: {by_hand}",
        )
    return LandedEntry(branch=branch, commit=new, how=how)


def _target(land: LandRepository, again: str) -> Target:
    """Where the branch stands that is checked out. Raises Refused if none is."""
    root, refs = land.repo.root, read_refs(land.refs, land.repo)
    branch = refs.branch.removeprefix("refs/heads/")
    if not branch or not refs.head:
        raise Refused(
            f"{root} has no branch checked out",
            hint=f"Check one out (git switch BRANCH), and then: {again}",
        )
    target = read_target(land, branch)
    if target.beside:
        raise Refused(
            f"{branch} was moved beside what had landed ahead of it",
            hint=f"Merge it by hand: git -C {root} merge {target.line_ref}\nAnd then: {again}",
        )
    return target
