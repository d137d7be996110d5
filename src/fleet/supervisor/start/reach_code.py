"""Has the code of a task here, and says at which commit the task's clone begins.

Where work lands that is the line of the branch: a task finds what it waited for, and one that is
opened again after its work has landed begins with what landed since. A task that ran on another
host goes on from the work of its last run. Fetches, which may take as long as the line is slow:
beside the loop.
"""

import threading
import time

from fleet.git import repository
from fleet.git.clone import clone_place
from fleet.git.clone.task_refs import task_refs
from fleet.git.git_command import Git
from fleet.git.land.land_repository import LandRepository
from fleet.git.land.move_line import Moved, move
from fleet.git.land.target import read_target
from fleet.git.mirror.ensure_mirror import Unreached, ensure_mirror
from fleet.git.mirror.result_refs import BASE, bring_result
from fleet.git.refs import commit_of, is_ancestor
from fleet.git.remote.remote_git import RemoteSilent
from fleet.git.repository import Repository
from fleet.home import Home, clone_record, landing_json
from fleet.landing.follow_line import finish_followed
from fleet.landing.land_target import lander_lock
from fleet.landing.remote.remote_line import remote_line
from fleet.landing.train_state import FoldProver
from fleet.schemas import Policy
from fleet.schemas.hosts.code_origin import CodeOrigin
from fleet.schemas.policy import LandRules
from fleet.travel.continue_work import continue_work

#: Seconds to look a branch up, and to have a line follow its remote.
_LIMIT, _FOLLOW_LIMIT = 30.0, 300.0


def reach_code(
    home: Home,
    task_id: str,
    policy: Policy,
    *,
    cwd: str,
    origin: CodeOrigin | None,
    elsewhere: bool,
    title: str,
) -> str | Unreached:
    """Have the code here: in the task's directory, or in the mirror in its place where the
    directory is `elsewhere`. Raises FleetError and OSError.

    Returns the commit that the clone begins at; empty: that of the directory, or there is a clone.
    """
    begins_at: str | Unreached = ""
    if origin is not None:
        if elsewhere:
            found, begins_at = _mirror(home, task_id, origin)
        else:
            if origin.lands_on_remote:
                _follow_remote(home, cwd, policy.land)
            found = repository.find(cwd)
            begins_at = _changes(home, task_id, origin, found) if found is not None else ""
        if isinstance(begins_at, Unreached):
            return begins_at
        if found is not None:
            why = continue_work(home, task_id, found, origin.url, title=title)
            if why:
                return Unreached(why=why)
    return policy.commit or begins_at or _line(home, task_id, cwd, policy.land)


def _mirror(
    home: Home, task_id: str, origin: CodeOrigin
) -> tuple[Repository | None, str | Unreached]:
    """The mirror, and the commit that a first clone begins at."""
    begins_at = "" if _begins_at_branch(origin) else origin.commit
    found = ensure_mirror(home, origin.url, task_id, commit=begins_at)
    if isinstance(found, Repository) and not begins_at and not _has_branch(found, origin.into):
        begins_at = origin.commit  # the branch is on the host alone that made the task
        found = ensure_mirror(home, origin.url, task_id, commit=begins_at)
    return (None, found) if isinstance(found, Unreached) else (found, begins_at)


def _begins_at_branch(origin: CodeOrigin) -> bool:
    """A first clone begins where the branch stands in the repository, with what landed since."""
    return origin.lands_on_remote and bool(origin.into) and not origin.changes


def _has_branch(mirror: Repository, branch: str) -> bool:
    return bool(commit_of(Git(mirror, time.monotonic() + _LIMIT), f"refs/heads/{branch}"))


def _changes(home: Home, task_id: str, origin: CodeOrigin, repo: Repository) -> str | Unreached:
    """The commit with what was not committed, now in the project; empty: there is none."""
    if not origin.changes or clone_record.read(home, task_id) is not None:
        return ""
    brought = bring_result(home, repo, origin.url, task_id, BASE)
    if isinstance(brought, RemoteSilent):
        return Unreached(why=f"what was not committed cannot be fetched: {brought.why}")
    return brought


def _branch(repo: Repository, rules: LandRules) -> str:
    """The branch that work from a working tree lands on; empty: none, or a person names one."""
    return rules.into or ("" if rules.asks_branch else repository.checked_out_branch(repo))


def _follow_remote(home: Home, cwd: str, rules: LandRules) -> None:
    """Move the line of the branch forward to its remote branch, with what other hosts landed there.
    Beside it, or where the remote does not answer, the line stays, and the lander tells of it.
    """
    repo = repository.find(cwd)
    branch = _branch(repo, rules) if repo is not None else ""
    if repo is None or not branch:
        return
    with lander_lock(repo, branch) as held:
        if not held:
            return  # the lander that has it sees to the line
        finish_followed(home, repo)
        land = LandRepository(home.path, repo, time.monotonic() + _FOLLOW_LIMIT)
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


def _line(home: Home, task_id: str, cwd: str, rules: LandRules) -> str:
    """The commit of the line that a first clone is made from; empty: nothing lands, or the task has
    a clone.
    """
    repo = repository.find(cwd)
    if repo is None or not rules.lands:
        return ""
    _forget_landed(home, task_id)
    branch = _branch(repo, rules)
    if not branch or clone_record.read(home, task_id) is not None:
        return ""
    land = LandRepository(home.path, repo, time.monotonic() + _LIMIT)
    return read_target(land, branch).line


def _forget_landed(home: Home, task_id: str) -> None:
    """Forget the clone of a task whose work has landed and whose clone is gone."""
    landing = landing_json.believed(home, task_id)
    if landing is None or landing.state != "landed" or clone_place.is_there(home, task_id):
        return
    refs = task_refs(home, task_id)
    if refs is None or refs.branch_now().commit:  # a branch that stayed holds work of the task
        return
    refs.forget()
    clone_record.forget(home, task_id)
