"""Watches the pull requests of one branch, with the forge that the remote leads to."""

from collections.abc import Sequence

from fleet import config
from fleet.errors import FleetError
from fleet.forge import pull_request_json
from fleet.forge.connect import connect
from fleet.forge.forge_protocol import Forge
from fleet.git.land.land_repository import LandRepository
from fleet.home import Home
from fleet.home.task_policy import forge_settings
from fleet.landing.remote.pull_requests import SOON, PullRequestRun
from fleet.landing.remote.remote_line import RemoteLine, remote_line
from fleet.landing.train_state import TrainEnd, TrainState
from fleet.landing.waiting_work import WaitingWork

#: Seconds for the git commands of one look at all pull requests of a branch.
_LIMIT = 900.0


def watch_pull_requests(at: TrainState, works: Sequence[WaitingWork]) -> TrainEnd:
    """Look after the pull requests of a branch, under the lock of the branch's landers; which of
    them are watched, and when the forge is asked again.
    """
    home, settler = at.home, at.settler
    mine = [work for work in works if work.landing.to == "pr" and work.landing.commit]
    mine = [work for work in mine if work.landing.state in ("waiting", "asks")]
    if not mine:
        return TrainEnd()
    land = at.land(_LIMIT)
    line = remote_line(home, land, at.branch)
    forge = line if isinstance(line, str) else _forge(home, land, line)
    if isinstance(line, str) or isinstance(forge, str):
        for work in mine:
            settler.ask(work, str(forge).replace("land ID", f"land {work.task_id}"))
        return TrainEnd()
    due = PullRequestRun(at, land.git, line, forge).look_after(mine)
    if due is None:
        return TrainEnd()
    open_ = [work.task_id for work in mine if pull_request_json.read(home, work.task_id)]
    gone = {*settler.closed, *settler.back}
    again_in = max(SOON.total_seconds(), (due - at.now()).total_seconds())
    watched = tuple(each for each in open_ if each not in gone)
    return TrainEnd(watched=watched, again_in=again_in)


def _forge(home: Home, land: LandRepository, line: RemoteLine) -> Forge | str:
    """The forge of a branch; a text for a person where fleet cannot connect."""
    try:
        settings = forge_settings(config.load(home.config), land.repo.root)
        return connect(line.upstream.url, *settings, land.own)
    except FleetError as error:
        return f"{error.message}. {error.hint}".rstrip() + " Then: fleet land ID"
