"""A line that fails its own checks, without any candidate: no agent is to blame for that.

The work waits for a person to mend the branch, and is tried again as soon as the line has moved.
"""

import time
from collections.abc import Sequence

from fleet.git.commit_words import Author, author_in
from fleet.git.git_command import Git
from fleet.git.land.fold import Conflict
from fleet.git.land.land_repository import LandRepository
from fleet.git.land.target import Target, read_target
from fleet.git.repository import Repository
from fleet.home import Home, landing_json
from fleet.landing.fold.fold_group import fold_group
from fleet.landing.fold.verify_fold import Fold
from fleet.landing.settle_landing import LandingDesk
from fleet.schemas import Task

_LIMIT = 120.0
#: Seconds until a line that failed by itself is looked at again.
LOOK_AGAIN = 20.0


def line_alone(git: Git, target: Target, author: Author) -> Fold | None:
    """What a train would begin with, without any candidate; None: there is nothing such. Raises
    GitFailed.
    """
    made = fold_group(git, target, (), author) if target.tip else None
    if made is None or isinstance(made, Conflict):
        return None
    return Fold(branch=target.branch, commit=made.train.new, tree=made.train.tree)


def waiting_for_line(home: Home, tasks: Sequence[Task]) -> dict[str, str]:
    """The tasks whose work waits until the line passes by itself, each with the commit that it
    failed at.
    """
    found = {task.id: landing_json.believed(home, task.id) for task in tasks}
    return {
        task_id: landing.red_line
        for task_id, landing in found.items()
        if landing is not None and landing.state == "asks" and landing.red_line
    }


def try_again(
    home: Home, repo: Repository, branch: str, tasks: Sequence[Task], desk: LandingDesk
) -> None:
    """Have what waits for a red line wait for the next train, if the line has moved since. Raises
    FleetError and OSError.
    """
    waiting = waiting_for_line(home, tasks)
    if not waiting:
        return
    land = LandRepository(home.path, repo, time.monotonic() + _LIMIT)
    line = line_alone(land.git, read_target(land, branch), author_in(repo))
    for task_id, red in waiting.items():
        if line is not None and line.commit != red:
            desk.try_again(task_id, f"{branch} has moved: it is tried again")
