"""Has the line of a branch follow the remote branch, before and after a train pushes."""

from collections.abc import Sequence

from msgspec import structs

from fleet.errors import FleetError
from fleet.git.commit_words import author_in
from fleet.git.land.land_repository import LandRepository
from fleet.git.land.merge_trees import TreeConflict
from fleet.git.land.move_line import Held, Moved, move
from fleet.git.land.target import read_target
from fleet.git.refs import commit_of, is_ancestor
from fleet.git.remote.remote_git import RemoteSilent
from fleet.landing import train_words
from fleet.landing.fold.fold_checks import all_names, distinct
from fleet.landing.fold.fold_group import fold_group
from fleet.landing.remote.remote_line import RemoteLine, remote_line
from fleet.landing.train_state import RACES, ForPerson, TrainState
from fleet.landing.train_store import Train
from fleet.landing.waiting_work import WaitingWork


def catch_up(at: TrainState, commit: str, works: Sequence[WaitingWork]) -> str:
    """Have the line hold a commit of the remote branch; empty if done, else why not.

    Where the line has commits that the remote lacks, both are merged, and verified as these
    works are.
    """
    for _ in range(RACES):
        land = at.land()
        target = read_target(land, at.branch)
        if not target.tip:
            return train_words.no_branch(at.branch, at.repo.root)
        if is_ancestor(land.git, commit, target.line):
            return ""
        made = fold_group(land.git, target, (), author_in(at.repo), remote=commit)
        if isinstance(made, TreeConflict):
            return train_words.remote_conflicts(made, at.branch, at.repo.root)
        train = made.train
        if train.new != commit:
            checks = all_names(distinct([work.plan for work in works]))
            if not at.is_green(land, structs.replace(train, checks=checks), works):
                return at.left or train_words.remote_fails(at.branch, at.repo.root)
        moved = move(land, target, train.new, why="fleet: follow the remote")
        if isinstance(moved, Held):
            return moved.why
        if isinstance(moved, Moved):
            at.moved(moved)
            at.prover.learn()
            return ""
    return f"{at.branch} moves all the time"


def line_to_push(
    at: TrainState, land: LandRepository, part: Sequence[WaitingWork]
) -> RemoteLine | RemoteSilent | ForPerson | None:
    """The remote branch to push to, which the line holds by now; None: there is none to.

    A person is needed where it is not known or not confirmed where to push, or where the line
    cannot follow.
    """
    if not any(work.landing.to == "push" for work in part):
        return None
    remote = remote_line(at.home, land, at.branch)
    if isinstance(remote, str):
        return ForPerson(remote)
    if (silent := remote.read()) is not None:
        return RemoteSilent(why=train_words.silent(remote.shown, silent.why))
    if remote.commit:
        if why := catch_up(at, remote.commit, part):
            return ForPerson(why)
        remote.note(remote.commit)
        return remote
    known = remote.upstream.tracking
    is_gone = bool(known and commit_of(land.refs, known))
    return ForPerson(train_words.gone(remote.shown)) if is_gone else remote


def was_pushed(at: TrainState, land: LandRepository, train: Train) -> bool:
    """Whether the remote has what an earlier lander meant. Raises FleetError: it is silent."""
    remote = remote_line(at.home, land, at.branch)
    if isinstance(remote, str):
        raise FleetError(remote)
    if (silent := remote.read()) is not None:
        raise FleetError(train_words.silent(remote.shown, silent.why))
    return bool(remote.commit) and is_ancestor(land.git, train.new, remote.commit)
