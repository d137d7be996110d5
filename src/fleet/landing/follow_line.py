"""Has a branch follow the line, where a checkout was in the way when something landed.

A branch that a person moved beside its line is merged with it, and verified by the commands of the
project before it moves.
"""

import time
from collections.abc import Sequence

from fleet import config
from fleet.git.commit_words import author_in
from fleet.git.land.fast_forward import finish_moves
from fleet.git.land.land_repository import LandRepository
from fleet.git.land.merge_trees import TreeConflict
from fleet.git.land.move_line import Moved, move
from fleet.git.land.target import Target, read_target
from fleet.git.refs import is_ancestor
from fleet.git.repository import Repository
from fleet.home import Home, landing_json
from fleet.home.task_policy import policy_of
from fleet.landing import train_words
from fleet.landing.fold.fold_checks import check_plan
from fleet.landing.fold.fold_group import fold_group
from fleet.landing.train_state import FoldProver, TrainEnd, TrainState, Unproved
from fleet.schemas import Settings, Task

_LIMIT = 120.0


def follow(prover: FoldProver) -> TrainEnd:
    """Move the branch to the line, if the branch is behind. Raises FleetError and OSError."""
    if not prover.learnt.behind:
        return TrainEnd()
    land = LandRepository(prover.home.path, prover.repo, time.monotonic() + _LIMIT)
    target = read_target(land, prover.branch)
    if not target.tip:  # for the next train, or for a person
        return TrainEnd(behind=prover.learnt.behind)
    new = _merged(land, target, prover) if target.beside else target.line
    if not new:
        return TrainEnd(behind=prover.learnt.behind)
    moved = move(land, target, new, why="fleet: follow what landed")
    if not isinstance(moved, Moved):
        return TrainEnd(behind=prover.learnt.behind)
    prover.note_behind(moved.behind)
    return TrainEnd(behind=moved.behind)


def _merged(land: LandRepository, target: Target, prover: FoldProver) -> str:
    """The line merged with the branch beside it, verified; empty: there is no such commit, and the
    reason is stored. Raises FleetError and OSError.
    """
    root = land.repo.root
    made = fold_group(land.git, target, (), author_in(land.repo))
    if isinstance(made, TreeConflict):
        prover.note_behind(train_words.beside_conflicts(made, target.branch, root))
        return ""
    if prover.learnt.beside == (target.tip, target.line):
        return ""  # these two were tried, and fail together
    policy = policy_of(config.load(prover.home.config), Settings(cwd=root), root).policy
    plan = check_plan(policy, repository=root, clone=root, cwd=root)
    train = made.train
    found = prover.passes(land, train, [plan], plan.names)
    why = prover.learnt.behind
    if isinstance(found, Unproved):
        why = found.trouble or why
    elif not found:
        check = prover.learnt.failing(train.tree, plan.names)
        command = prover.learnt.command(check, train.tree)
        why = train_words.beside_fails(target, command, root)
        prover.note(beside=(target.tip, target.line))
    prover.end_train()
    prover.note(behind=why)
    prover.learn()
    return train.new if found is True else ""


def settle_ahead(at: TrainState, tasks: Sequence[Task], behind: str) -> None:
    """Close the tasks whose work the branch has by now; for the others, say what is in the way. The
    work of a task that a person closed meanwhile lands all the same. Raises FleetError and OSError.
    """
    found = {task.id: landing_json.believed(at.home, task.id) for task in tasks}
    ahead = [each for each in tasks if (known := found[each.id]) and known.state == "ahead"]
    if not ahead:
        return
    land = at.land()
    target = read_target(land, at.branch)
    for task in at.settler.as_they_are(ahead):
        landing = found[task.id]
        if landing is None or landing.landed is None:
            continue
        if not task.waits_to_land and task.status != "closed":
            continue
        commit = landing.landed.commit
        if target.tip and is_ancestor(land.git, commit, target.tip):
            at.settler.arrived(task)
        elif target.line and is_ancestor(land.git, commit, target.line):
            at.settler.still_ahead(task, behind or landing.why)
        else:
            at.settler.off_line(task)


def finish_followed(home: Home, repo: Repository) -> None:
    """Complete what a killed lander began in the checkouts of a repository. Raises FleetError and
    OSError.
    """
    finish_moves(LandRepository(home.path, repo, time.monotonic() + _LIMIT))
