"""Has the line of a branch hold what other hosts landed on its remote, before a task begins from
there.

The lander does the same before it lands anything. A host that only runs a task would begin without
what the task waited for, or merge less than what its work conflicted with.
"""

import threading
import time

from fleet.git import repository
from fleet.git.land.land_repository import LandRepository
from fleet.git.land.move_line import Moved, move
from fleet.git.land.target import read_target
from fleet.git.refs import is_ancestor
from fleet.home import Home
from fleet.landing.follow_line import finish_followed
from fleet.landing.land_target import lander_lock
from fleet.landing.remote.remote_line import remote_line
from fleet.landing.train_state import FoldProver
from fleet.schemas.policy import LandRules

_LIMIT = 300.0


def follow_landed(home: Home, cwd: str, rules: LandRules) -> None:
    """Move the line forward to its remote branch; beside it, or where the remote does not answer,
    the line stays, and the lander tells of it. Raises FleetError and OSError.
    """
    repo = repository.find(cwd)
    if repo is None:
        return
    branch = rules.into or ("" if rules.asks_branch else repository.checked_out_branch(repo))
    if not branch:
        return
    with lander_lock(repo, branch) as held:
        if not held:
            return  # the lander that has it sees to the line
        finish_followed(home, repo)
        land = LandRepository(home.path, repo, time.monotonic() + _LIMIT)
        remote = remote_line(home, land, branch)
        if isinstance(remote, str) or remote.read() is not None or not remote.commit:
            return
        target = read_target(land, branch)
        is_behind = target.tip and target.line != remote.commit and not target.beside
        if not is_behind or not is_ancestor(land.git, target.line, remote.commit):
            return
        moved = move(land, target, remote.commit, why="fleet: follow the remote")
        if isinstance(moved, Moved):
            remote.note(remote.commit)
            FoldProver(home, repo, branch, threading.Event()).note_behind(moved.behind)
