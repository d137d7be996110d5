"""Has the code of a task here, with the work of its last run if that was on another host.

Fetches, which may take as long as the line is slow: beside the loop.
"""

import time

from fleet.git import repository
from fleet.git.git_command import Git
from fleet.git.mirror.ensure_mirror import Unreached, ensure_mirror
from fleet.git.mirror.result_refs import BASE, bring_result
from fleet.git.refs import commit_of
from fleet.git.remote.remote_git import RemoteSilent
from fleet.git.repository import Repository
from fleet.home import Home, clone_record
from fleet.schemas.hosts.code_origin import CodeOrigin
from fleet.travel.continue_work import continue_work

#: Seconds to look a branch up.
_LIMIT = 30.0


def reach_code(
    home: Home, task_id: str, origin: CodeOrigin, *, cwd: str, title: str
) -> str | Unreached:
    """Have the code here: in the task's directory, or in a mirror where `cwd` is empty.

    Returns the commit that a first clone begins at; empty: where its branch stands.
    """
    if cwd:
        found = repository.find(cwd)
        begins_at = "" if found is None else _changes(home, task_id, origin, found)
    else:
        found, begins_at = _mirror(home, task_id, origin)
    if isinstance(begins_at, Unreached) or found is None:
        return begins_at
    why = continue_work(home, task_id, found, origin.url, title=title)
    return Unreached(why=why) if why else begins_at


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
