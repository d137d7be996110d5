"""Pushes what a run left to the repository, before the queue is told how the run ended.

So the next host, and the one that lands the work, can fetch it. A host whose own directory the task
was made in need not push what it lands itself.
"""

import os

from msgspec import Struct

from fleet.git.clone import clone_place
from fleet.git.clone.collect_work import kept_index, opened_work
from fleet.git.clone.task_refs import TaskRefs, task_refs
from fleet.git.commit_words import message_of
from fleet.git.mirror.result_refs import ResultPushed, push_result
from fleet.git.refs import commit_of
from fleet.git.remote.push import RemoteRefused
from fleet.git.remote.remote_git import RemoteSilent
from fleet.git.remote.trusted_remotes import is_trusted_address
from fleet.home import Home, clone_record
from fleet.home.landing_json import Landing


class NothingToSend(Struct, frozen=True):
    """The run changed nothing, or worked in no clone."""


class NotConfirmed(Struct, frozen=True, kw_only=True):
    """The operator has not confirmed the address on this host."""

    why: str


SendAnswer = ResultPushed | NothingToSend | NotConfirmed | RemoteRefused | RemoteSilent


def send_work(
    home: Home, task_id: str, run: int, url: str, *, title: str, landing: Landing | None
) -> SendAnswer:
    """Push the work of a run. Of verified work that is the commit with the tree that was verified.

    Raises FleetError and OSError if the work cannot be read.
    """
    record = clone_record.read(home, task_id)
    refs = task_refs(task_id, record) if record is not None else None
    if refs is None or record is None:
        return NothingToSend()
    repo = refs.git.repo
    if not is_trusted_address(home.path, os.path.realpath(repo.common_dir), url):
        return NotConfirmed(why=f"{url} is not confirmed on this host: fleet trust --remote {url}")
    commit = _brought(home, refs, title, landing.tree if landing is not None else "")
    if commit in ("", record.commit):
        return NothingToSend()
    answer = push_result(home, repo, url, task_id, str(run), commit)
    match answer:
        case ResultPushed() | RemoteRefused() | RemoteSilent():
            return answer
        case _:
            return RemoteSilent(why="the repository did not say what became of the push")


def _brought(home: Home, refs: TaskRefs, title: str, tree: str) -> str:
    """The commit of the work, which the project or mirror has by now."""
    if not clone_place.is_there(home, refs.task_id):
        return commit_of(refs.git, refs.tip_ref)
    with opened_work(home, refs) as cloned:
        if tree:
            commit = cloned.candidate(tree, title)
        else:
            cloned.take_snapshot(kept_index(home, refs.task_id))
            commit = cloned.committed(message_of(title, refs.task_id))
        cloned.bring(commit)
        return commit


def words_of(answer: SendAnswer, url: str) -> str:
    """Why the work could not be sent, for people; empty if sent, or there was none. Pure."""
    match answer:
        case ResultPushed() | NothingToSend():
            return ""
        case NotConfirmed(why=why):
            return why
        case RemoteRefused(why=why):
            return f"{url} refuses its work: {why}"
        case RemoteSilent(why=why):
            return f"its work could not be pushed to {url}: {why}"
