"""Has a branch follow the line, where a checkout was in the way when something landed.

A branch that a person moved beside its line is merged with it, and verified by the commands of the
project before it moves.
"""

import threading
import time

from msgspec import structs

from fleet import config
from fleet.git.commit_words import author_in
from fleet.git.land.follow.follow_checkout import finish_follows
from fleet.git.land.land_repository import LandRepository
from fleet.git.land.merge_trees import TreeConflict
from fleet.git.land.move_line import Moved, move
from fleet.git.land.target import Target, read_target
from fleet.git.repository import Repository
from fleet.home import Home
from fleet.home.task_policy import policy_of
from fleet.landing import train_words
from fleet.landing.fold.fold_checks import check_plan, command_of
from fleet.landing.fold.fold_group import fold_group
from fleet.landing.fold.prove_fold import FoldProver, Unproved
from fleet.landing.fold.verify_fold import Fold
from fleet.landing.train_state import TrainEnd
from fleet.landing.train_store import TrainPlace
from fleet.schemas import Settings

_LIMIT = 120.0


def follow(home: Home, repo: Repository, branch: str, abandon: threading.Event) -> TrainEnd:
    """Move the branch to the line, if the branch is behind. Raises FleetError and OSError."""
    place = TrainPlace(home, repo.common_dir, branch)
    learnt = place.learnt()
    if not learnt.behind:
        return TrainEnd()
    land = LandRepository(home.path, repo, time.monotonic() + _LIMIT)
    target = read_target(land, branch)
    if not target.tip:  # for the next train, or for a person
        return TrainEnd(behind=learnt.behind)
    new = _merged(home, land, target, place, abandon) if target.beside else target.line
    learnt = place.learnt()
    if not new:
        return TrainEnd(behind=learnt.behind)
    moved = move(land, target, new, why="fleet: follow what landed")
    if not isinstance(moved, Moved):
        return TrainEnd(behind=learnt.behind)
    if moved.behind != learnt.behind:
        place.learn(structs.replace(learnt, behind=moved.behind))
    return TrainEnd(behind=moved.behind, sentences=moved.sentences)


def _merged(
    home: Home, land: LandRepository, target: Target, place: TrainPlace, abandon: threading.Event
) -> str:
    """The line merged with the branch beside it, verified; empty: there is no such commit, and the
    reason is stored. Raises FleetError and OSError.
    """
    learnt, root = place.learnt(), land.repo.root
    made = fold_group(land.git, target, (), author_in(land.repo))
    if isinstance(made, TreeConflict):
        why = train_words.beside_conflicts(made, target.branch, root).partition(", and then")[0]
        place.learn(structs.replace(learnt, behind=why))
        return ""
    if learnt.behind.startswith(train_words.beside_fails(target)):
        return ""  # these two were tried
    policy = policy_of(config.load(home.config), Settings(cwd=root), root).policy
    plan = check_plan(policy, repository=root, clone=root, cwd=root)
    prover = FoldProver(home, place, learnt, abandon)
    fold = Fold(branch=target.branch, commit=made.train.new, tree=made.train.tree)
    found = prover.passes(land, fold, [plan], plan.names)
    why = learnt.behind
    if isinstance(found, Unproved):
        why = found.trouble or why
    elif not found:
        failed = command_of(prover.failing(fold.tree, plan.names))
        why = train_words.beside_fails(target, prover.command(fold.tree) or failed, root)
    prover.end_train()
    passed = {tree: tuple(sorted(each)) for tree, each in prover.passed.items()}
    place.learn(structs.replace(learnt, passed=passed, behind=why))
    return fold.commit if found is True else ""


def finish_followed(home: Home, repo: Repository) -> tuple[str, ...]:
    """Complete what a killed lander began in the checkouts of a repository; returns what a person
    should know. Raises FleetError and OSError.
    """
    return finish_follows(LandRepository(home.path, repo, time.monotonic() + _LIMIT))
