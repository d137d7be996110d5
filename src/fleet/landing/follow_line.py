"""Has a branch follow its line, where a checkout was in the way when something landed."""

import time

from msgspec import structs

from fleet.git.land.follow.follow_checkout import finish_follows
from fleet.git.land.land_repository import LandRepository
from fleet.git.land.move_line import Moved, move
from fleet.git.land.target import read_target
from fleet.git.repository import Repository
from fleet.home import Home
from fleet.landing.train_state import TrainEnd
from fleet.landing.train_store import TrainPlace

_LIMIT = 120.0


def follow(home: Home, repo: Repository, branch: str) -> TrainEnd:
    """Move the branch to its line, if it is behind. Raises FleetError and OSError."""
    place = TrainPlace(home, repo.common_dir, branch)
    learnt = place.learnt()
    if not learnt.behind:
        return TrainEnd()
    land = LandRepository(home.path, repo, time.monotonic() + _LIMIT)
    target = read_target(land, branch)
    if not target.tip or target.beside:  # for the next train, or for a person
        return TrainEnd(behind=learnt.behind)
    moved = move(land, target, target.line, why="fleet: follow what landed")
    if not isinstance(moved, Moved):
        return TrainEnd(behind=learnt.behind)
    if moved.behind != learnt.behind:
        place.learn(structs.replace(learnt, behind=moved.behind))
    return TrainEnd(behind=moved.behind, told=moved.told)


def finish_followed(home: Home, repo: Repository) -> tuple[str, ...]:
    """Complete what a killed lander began in the checkouts of a repository; what a person should
    know of it. Raises FleetError and OSError.
    """
    return finish_follows(LandRepository(home.path, repo, time.monotonic() + _LIMIT))
