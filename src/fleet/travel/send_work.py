"""Pushes what a run left to the repository, before the queue is told how the run ended.

So the next host, and the one that lands the work, can fetch it. A host whose own directory the task
was made in need not push what it lands itself.
"""

import os

from msgspec import Struct

from fleet.git.clone.task_refs import task_refs
from fleet.git.clone.task_work import brought_commit
from fleet.git.mirror.result_refs import ResultPushed, push_result
from fleet.git.remote.push import RemoteRefused
from fleet.git.remote.remote_git import RemoteSilent
from fleet.git.remote.trusted_remotes import is_trusted
from fleet.home import Home
from fleet.home.landing_json import Landing


class Unsent(Struct, frozen=True, kw_only=True):
    """The work of a run could not be pushed."""

    why: str
    #: The repository did not answer: the same may go well later.
    is_silent: bool = False


def send_work(
    home: Home, task_id: str, run: int, url: str, *, title: str, landing: Landing | None
) -> ResultPushed | Unsent | None:
    """Push the work of a run. Of accepted work that is the commit with the tree that was verified.
    None: the run changed nothing, or worked in no clone.

    Raises FleetError and OSError if the work cannot be read.
    """
    refs = task_refs(home, task_id)
    if refs is None:
        return None
    repo = refs.git.repo
    if not is_trusted(home.path, os.path.realpath(repo.common_dir), url):
        return Unsent(why=f"{url} is not confirmed on this host: fleet trust --remote {url}")
    tree = landing.tree if landing is not None else ""
    commit = brought_commit(home, refs, title=title, tree=tree)
    if tree and not commit:
        why = f"its clone is gone, and {refs.branch} does not hold what was verified"
        return Unsent(why=why)
    if commit in ("", refs.base):
        return None
    answer = push_result(home, repo, url, task_id, str(run), commit)
    match answer:
        case ResultPushed():
            return answer
        case RemoteRefused(why=why):
            return Unsent(why=f"{url} refuses its work: {why}")
        case RemoteSilent(why=why):
            return Unsent(why=f"its work could not be pushed to {url}: {why}", is_silent=True)
