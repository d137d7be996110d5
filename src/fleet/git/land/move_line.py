"""Moves the line of a branch from one verified commit to the next, by compare-and-swap.

The branch itself moves, with the working trees that have it checked out, unless one of them is in
the way. Then its line (`refs/fleet/land/<branch>`) goes ahead, and the branch follows later: `move`
to the same commit again. All refs move in one transaction or none does, and none of the project's
hooks runs. Call `finish_moves` first: an earlier process may have been killed while a working tree
moved.
"""

from contextlib import nullcontext

from msgspec import Struct

from fleet.git.git_command import GitFailed
from fleet.git.land.fast_forward import InTheWay, MovedTree, fast_forward
from fleet.git.land.land_repository import LandRepository
from fleet.git.land.target import Target, read_target
from fleet.git.own.copied_objects import give_objects
from fleet.git.own.project_refs import has_table
from fleet.git.refs import is_ancestor


class Moved(Struct, frozen=True, kw_only=True):
    """The line stands at the new commit."""

    commit: str
    #: Why the branch does not stand there yet, and what a person can do; empty if it does.
    behind: str = ""


class Raced(Struct, frozen=True, kw_only=True):
    """Another hand moved the branch or the line meanwhile; nothing was moved."""


class Held(Struct, frozen=True, kw_only=True):
    """Nothing can be moved, and trying again changes nothing: a person has to act."""

    why: str


def move(
    land: LandRepository, target: Target, new: str, *, why: str, asked: bool = False
) -> Moved | Raced | Held:
    """Move the line of `target`, unless line or branch changed since `target` was read, to `new`.
    `why` goes into the branch's log.

    `new` is a commit in fleet's own git directory or in the project; it holds the line. `asked`: a
    person wants it on the branch now, so a line does not go ahead. Raises OSError.
    """
    if reason := _never(land, target, new):
        return Held(why=reason)
    try:
        give_objects(land.git, land.common, new, target.tip, target.line)
    except GitFailed as error:
        return _failed(land, target, error)
    with land.hold_boxes() if target.checkouts else nullcontext():
        done = _move(land, target, new, why, asked=asked)
    if isinstance(done, Moved):
        land.tidy()
    return done


def _move(
    land: LandRepository, target: Target, new: str, why: str, *, asked: bool
) -> Moved | Raced | Held:
    trees: list[MovedTree] = []
    try:
        obstacle = _move_trees(land, target, new, trees)
        if obstacle and asked:
            return Held(why=obstacle.why)
        if not obstacle:
            land.move_refs(_branch_moves(target, new), why)
        elif new != target.held:
            land.move_refs(_line_moves(target, new), why)
    except GitFailed as error:
        _undo(trees)
        return _failed(land, target, error)
    for tree in trees:
        tree.keep()
    return Moved(commit=new, behind=obstacle.words if obstacle is not None else "")


def _failed(land: LandRepository, target: Target, error: GitFailed) -> Raced | Held:
    now = read_target(land, target.branch)
    if (now.tip, now.held) != (target.tip, target.held):
        return Raced()
    return Held(why=error.message)


def _move_trees(
    land: LandRepository, target: Target, new: str, trees: list[MovedTree]
) -> InTheWay | None:
    """Move every working tree with the branch; if one of them cannot, none."""
    for checkout in target.checkouts:
        found = fast_forward(land, checkout, target.ref, target.tip, new)
        if isinstance(found, InTheWay):
            _undo(trees)
            return found
        trees.append(found)
    return None


def _undo(trees: list[MovedTree]) -> None:
    while trees:
        trees.pop().undo()


def _never(land: LandRepository, target: Target, new: str) -> str:
    """Why a branch is not moved at all; empty: the branch may be moved."""
    if not target.tip:
        return f"{land.repo.root} has no branch {target.branch}, or no commit on it"
    if target.alias_of:
        return f"{target.branch} is another name of {target.alias_of}: land on that"
    if has_table(land.repo):
        return f"{land.repo.root} keeps its refs in a table, which fleet cannot write"
    for commit in (target.tip, target.line):
        if not is_ancestor(land.git, commit, new):
            return f"{new[:12]} does not hold {commit[:12]}, where {target.branch} stands"
    return ""


def _branch_moves(target: Target, new: str) -> list[str]:
    """The branch goes to the new commit, and a line that was ahead is deleted."""
    moves = [f"update {target.ref}\0{new}\0{target.tip}\0"]
    if target.held:
        moves.append(f"delete {target.line_ref}\0{target.held}\0")
    return moves


def _line_moves(target: Target, new: str) -> list[str]:
    """The line goes ahead, and the branch stays."""
    moves = [f"verify {target.ref}\0{target.tip}\0"]
    if target.held:
        moves.append(f"update {target.line_ref}\0{new}\0{target.held}\0")
    else:
        moves.append(f"create {target.line_ref}\0{new}\0")
    return moves
