"""Where other hosts get the code of a new task from, or why the task stays on the host that made
it.
"""

import os
import time
from typing import Literal

from msgspec import Struct, structs

from fleet.control import Control
from fleet.control.hosts.other_hosts import write_settings
from fleet.errors import BadInput, FleetError
from fleet.git import tree_snapshot
from fleet.git.commit_object import write_commit
from fleet.git.commit_words import author_in, message_of
from fleet.git.git_command import Git, GitFailed
from fleet.git.mirror.code_source import CodeSource, code_source
from fleet.git.mirror.result_refs import BASE, ResultPushed, push_result
from fleet.git.own.own_repository import own_repository
from fleet.git.remote.trusted_remotes import is_trusted
from fleet.home import owner_file
from fleet.home.task_json import settings_of
from fleet.home.task_policy import policy_of
from fleet.runs.run_directory import latest_run
from fleet.schemas import Settings, Task
from fleet.schemas.hosts.code_origin import CodeOrigin
from fleet.schemas.policy import LandRules

#: What `repository` says where a project's own remote counts.
_ORIGIN = "origin"
_LIMIT = 30.0


class PlacedCode(Struct, frozen=True, kw_only=True):
    """A new task's settings with the code's origin, and what a person is told about that."""

    settings: Settings
    #: Why the task stays on this host; empty: the task may run elsewhere, or the queue is not
    #: shared.
    stays: str = ""
    #: How many files are not committed, which other hosts do not get.
    left: int = 0


def place_code(fleet: Control, settings: Settings, *, with_changes: bool = False) -> PlacedCode:
    """Record where a task's code comes from. Nothing is fetched.

    `with_changes`: what is not committed is pushed once the task has an id (`push_changes`).
    """
    cwd = settings.cwd or ""
    rules = policy_of(fleet.config, settings, cwd).policy
    source = code_source(cwd, _address(fleet, cwd))
    if not fleet.is_shared:
        if with_changes:
            raise BadInput(
                "--with-changes is for a queue that hosts share",
                hint="Here a task begins from what is committed: git commit.",
            )
        if source is None or not source.url or not source.commit:
            return PlacedCode(settings=settings)
        return PlacedCode(settings=_recorded(settings, source, source.commit, rules.land))
    settings = structs.replace(settings, made_on=owner_file.read_or_make(fleet.home))
    if why := _why_bound(fleet, source, cwd, in_clone=rules.work_in == "clone"):
        return PlacedCode(settings=settings, stays=why)
    assert source is not None
    left = _uncommitted(fleet, source)
    if with_changes:
        return PlacedCode(settings=_recorded(settings, source, "", rules.land, changes="awaited"))
    if not _is_known_there(source):
        return PlacedCode(settings=settings, stays=_unpushed(source), left=left)
    return PlacedCode(settings=_recorded(settings, source, source.commit, rules.land), left=left)


def place_again(fleet: Control, task: Task) -> None:
    """Record anew where the code of a task comes from that is bound to this host and has not run:
    meanwhile its commit may have been pushed, or the address confirmed.
    """
    settings = settings_of(fleet.home, task)
    known = settings.repository
    bound = fleet.is_shared and settings.made_on == owner_file.read(fleet.home)
    if not bound or latest_run(fleet.home.task(task.id)) is not None:
        return
    if known is not None and known.changes == "awaited":
        push_changes(fleet, task, settings)
    elif known is None and (placed := place_code(fleet, settings).settings).repository:
        write_settings(fleet, task, placed)


def why_it_stays(fleet: Control, task_id: str, settings: Settings) -> str:
    """Why a task of this host's directory runs on no other host, as things are now."""
    cwd = settings.cwd or ""
    rules = policy_of(fleet.config, settings, cwd).policy
    source = code_source(cwd, _address(fleet, cwd))
    why = _why_bound(fleet, source, cwd, in_clone=rules.work_in == "clone")
    if not why and source is not None and not _is_known_there(source):
        why = _unpushed(source)
    return why or f"so it was when the task was made; to let it travel: fleet retry {task_id}"


def push_changes(fleet: Control, task: Task, settings: Settings) -> str:
    """Push the directory's files as they are, committed or not, and let the task begin from there.

    Returns why that could not be done, and lets the task run on this host alone then; or nothing.
    """
    if why := _push_snapshot(fleet, task, settings):
        write_settings(fleet, task, structs.replace(settings, repository=None))
    return why


def _push_snapshot(fleet: Control, task: Task, settings: Settings) -> str:
    cwd = settings.cwd or ""
    source = code_source(cwd, _address(fleet, cwd))
    if source is None:
        return f"{cwd} is in no git repository"
    try:
        commit = _snapshot(fleet, source, task)
        answer = push_result(fleet.home, source.repo, source.url, task.id, BASE, commit)
    except (FleetError, OSError) as error:
        return str(error)
    if not isinstance(answer, ResultPushed):
        return answer.why
    rules = policy_of(fleet.config, settings, cwd).policy
    write_settings(fleet, task, _recorded(settings, source, commit, rules.land, changes="pushed"))
    return ""


def _address(fleet: Control, cwd: str) -> str:
    """The address that the settings name for a directory; empty: the directory's own
    remote counts.
    """
    project = fleet.config.project(cwd)
    named = str(project.settings.get("repository", fleet.config.repository))
    return "" if named == _ORIGIN else named


def _recorded(
    settings: Settings,
    source: CodeSource,
    commit: str,
    land: LandRules,
    *,
    changes: Literal["", "awaited", "pushed"] = "",
) -> Settings:
    origin = CodeOrigin(
        url=source.url,
        commit=commit,
        subdirectory=source.subdirectory,
        land=land.mode,
        land_to=land.to,
        into=land.into,
        changes=changes,
    )
    return structs.replace(settings, repository=origin)


def _why_bound(fleet: Control, source: CodeSource | None, cwd: str, *, in_clone: bool) -> str:
    """Why no other host could run a task of this directory; empty: one could."""
    if source is None:
        return f"{cwd} is in no git repository"
    if not source.url:
        return f"{source.repo.root} has no remote that another host could reach"
    if not source.commit:
        return f"{source.repo.root} has no commit yet"
    if not in_clone:
        return "its agents work in the directory itself (work_in = directory)"
    common = os.path.realpath(source.repo.common_dir)
    if not is_trusted(fleet.home.path, common, source.url):
        root = source.repo.root
        return f"{source.url} is not confirmed: if that is right, run: fleet trust --remote {root}"
    return ""


def _unpushed(source: CodeSource) -> str:
    return f"{source.commit[:12]} is on no branch of {source.url} as known here: git push"


def _is_known_there(source: CodeSource) -> bool:
    """The commit is on a remote branch, as far as the repository knows without a fetch."""
    git = Git(source.repo, time.monotonic() + _LIMIT)
    try:
        ask = ("for-each-ref", "--count=1", "--format=%(refname)", "--contains", source.commit)
        return bool(git.line(*ask, "refs/remotes"))
    except GitFailed:
        return False


def _uncommitted(fleet: Control, source: CodeSource) -> int:
    """How many files differ from the commit that is checked out; new ones count too."""
    try:
        own = own_repository(fleet.home.path, source.repo)
        until = time.monotonic() + _LIMIT
        with tree_snapshot.opened(own, source.repo, until) as (git, _):
            return len(tree_snapshot.uncommitted(git, source.commit))
    except (GitFailed, OSError):
        return 0


def _snapshot(fleet: Control, source: CodeSource, task: Task) -> str:
    """A commit of all files of the working tree, on top of the one that is checked out."""
    own = own_repository(fleet.home.path, source.repo)
    with tree_snapshot.opened(own, source.repo, time.monotonic() + _LIMIT) as (git, _):
        tree = tree_snapshot.take_snapshot(git, commit=source.commit)
        message = message_of(f"Not committed when this task was made: {task.title}", task.id)
        author = author_in(source.repo)
        return write_commit(git, tree.id, source.commit, message=message, author=author)
