"""The clone of a task whose last run was on another host goes on from what that host pushed.

A clone of this host that is older is put away; what it held stays reachable for a while.
"""

import time

from fleet.errors import FleetError
from fleet.git.clone import clone_place
from fleet.git.clone.task_refs import TaskRefs
from fleet.git.clone.task_work import forget_clone
from fleet.git.git_command import Git
from fleet.git.mirror.result_refs import bring_result, fetched_ref
from fleet.git.refs import commit_of
from fleet.git.remote.remote_git import RemoteSilent
from fleet.git.repository import Repository
from fleet.home import Home, clone_record
from fleet.home.clone_record import CloneRecord
from fleet.runs.run_directory import Run, newest_first
from fleet.travel.unpack_run import clone_of

_LIMIT = 120.0


def continue_work(home: Home, task_id: str, repo: Repository, url: str, *, title: str) -> str:
    """Have the task's next clone begin from the work of the last run, if that was elsewhere.

    Returns why the work cannot be had for now, or nothing. Raises FleetError.
    """
    last = next(newest_first(home.task(task_id)), None)
    if last is None or not last.host:
        return ""  # a clone of this host has the latest work, if there is any
    known = clone_record.read(home, task_id)
    made = clone_of(last)
    if made is None or (known is not None and _holds(task_id, repo, last)):
        return ""
    commit = _latest_work(home, task_id, repo, url)
    if isinstance(commit, RemoteSilent):
        return f"the work of run {last.number} cannot be fetched from {url}: {commit.why}"
    if known is not None and not commit:
        return ""
    record = CloneRecord(repository=repo.root, commit=made.commit, branch=made.branch)
    take_work(home, task_id, repo, record, commit, title=title)
    return ""


def take_work(
    home: Home, task_id: str, repo: Repository, record: CloneRecord, commit: str, *, title: str
) -> TaskRefs:
    """Have the task's work be a commit that another host pushed; empty: where the task began. An
    older clone of this host is put away. Raises FleetError.
    """
    if clone_place.is_there(home, task_id):
        away = forget_clone(home, task_id, title=title)
        if away.stays:
            raise FleetError(f"the clone of an earlier run cannot be put away: {away.stays}")
    refs = TaskRefs(Git(repo, time.monotonic() + _LIMIT), task_id)
    refs.hold_base(record.commit)
    if commit:
        refs.git.ask("update-ref", "--no-deref", refs.tip_ref, commit)
    clone_record.write(home, task_id, record)
    return refs


def _holds(task_id: str, repo: Repository, last: Run) -> bool:
    """The clone of this host has gone on from that run already."""
    refs = TaskRefs(Git(repo, time.monotonic() + _LIMIT), task_id)
    fetched = commit_of(refs.git, fetched_ref(task_id, str(last.number)))
    return bool(fetched) and commit_of(refs.git, refs.tip_ref) == fetched


def _latest_work(home: Home, task_id: str, repo: Repository, url: str) -> str | RemoteSilent:
    """The work of the latest run that left any, now in the repository; empty: none did."""
    for run in newest_first(home.task(task_id)):
        if not run.host:
            return ""
        commit = bring_result(home, repo, url, task_id, str(run.number))
        if commit:
            return commit
    return ""
