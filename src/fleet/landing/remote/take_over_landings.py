"""Accepted work of another host comes to this host, which lands the work.

Where the branch is in a repository of the host that made the task, that host is the only one that
can. Where it is on a remote, the host that ran the task lands it; once that host is lost or
removed, the first one that has the code and the accepted tree takes the landing over.

What the other host says of the run is believed. What is executed here, the checks of the fold, is
by the settings of this host.
"""

import time
from collections.abc import Mapping
from functools import partial

import msgspec
from msgspec import Struct, structs

from fleet.config import Config
from fleet.errors import FleetError, InvalidTask
from fleet.files import seals
from fleet.files.atomic_write import write_atomically
from fleet.git import repository
from fleet.git.git_command import Git
from fleet.git.mirror.ensure_mirror import Unreached, ensure_mirror
from fleet.git.mirror.result_refs import bring_result
from fleet.git.refs import commit_of, tree_of
from fleet.git.remote.remote_git import RemoteSilent
from fleet.git.repository import Repository
from fleet.home import Home, landing_json
from fleet.home.clone_record import CloneRecord
from fleet.home.landing_json import Landing
from fleet.home.task_json import is_elsewhere, local_settings, settings_of
from fleet.home.task_policy import policy_of
from fleet.landing.land_target import LanderSetup, let_go
from fleet.queue.protocol import Filter
from fleet.queue.sql.hosts.host_table import decline, names_of_hosts
from fleet.queue.sql.travel.landers import left_landings, take_over_landing
from fleet.runs.run_directory import RUN_JSON, Run, latest_run
from fleet.schemas import Settings, Task
from fleet.schemas.hosts.code_origin import CodeOrigin
from fleet.travel.continue_work import take_work
from fleet.travel.shared_queue import SharedQueue
from fleet.travel.unpack_run import clone_of, take_landing, unpack_runs

_LIMIT = 120.0
#: Seconds for the fetch of a repository: this host's own landings wait meanwhile.
_FETCH_LIMIT = 300.0


class TakenOver(Struct, frozen=True, kw_only=True):
    """What came of looking for accepted work of other hosts."""

    #: Sentences, each with its task.
    said: tuple[tuple[str, str], ...] = ()
    #: Something could not be had, and is looked for again.
    again: bool = False


class _CannotHave(FleetError):
    """The work is not to be had here as things are; another host, or a person, may help."""


def take_over_landings(lander: LanderSetup, config: Config) -> TakenOver:
    """Take over the accepted work of other hosts that this one has to land. Blocks."""
    said: list[tuple[str, str]] = []
    again = False
    try:
        queue = lander.open_queue()
        try:
            shared = SharedQueue(queue, config)
            said += let_go(lander.home, queue, lander.now())
            waiting = [t for t in queue.find(Filter(statuses=("blocked",))) if t.waits_to_land]
            left = left_landings(shared.queue, lander.by) if waiting else {}
            for task in waiting:
                gone = left.get(task.id, "")
                if not _is_ours(lander.home, task, left_by=gone):
                    continue
                try:
                    text = _take_over(lander, config, shared, task, left_by=gone)
                except (FleetError, OSError) as error:
                    text, again = f"its work is not taken over yet: {error}", True
                    if isinstance(error, _CannotHave):
                        decline(shared.queue, task.id, lander.by, error.message)
                if text:
                    said.append((task.id, text))
        finally:
            queue.close()
    except (FleetError, OSError):
        again = True  # the queue's own thread meets the same, and tells of it
    return TakenOver(said=tuple(said), again=again)


def _is_ours(home: Home, task: Task, *, left_by: str) -> bool:
    """The branch is here, or on a remote and the host that was to land is given up (`left_by`); and
    the landing of the last run is not known here.
    """
    try:
        settings = settings_of(home, task)
    except InvalidTask:
        return False
    origin = settings.repository
    if origin is None or origin.land == "branch":
        return False
    if is_elsewhere(home, settings) if origin.lands_at_maker else not left_by:
        return False
    run, landing = latest_run(home.task(task.id)), landing_json.believed(home, task.id)
    if run is None or landing is None or landing.host:
        return True
    return landing.run != max(run.number, task.runs)


def _take_over(
    lander: LanderSetup, config: Config, shared: SharedQueue, task: Task, *, left_by: str
) -> str:
    """Take over one task's work; the sentence for the log, empty: there was nothing to take."""
    home = lander.home
    settings = settings_of(home, task)
    origin = settings.repository
    assert origin is not None
    repo = _repository(home, task, settings, origin)
    unpack_runs(shared, home, task.id, me=lander.by)
    landing = take_landing(shared, task.id, repo)
    run = Run(home.task(task.id) / "runs" / str(landing.run)) if landing is not None else None
    if landing is None or run is None or landing.state in ("landed", "back"):
        return ""
    if run.host:
        commit = _accepted(home, task, repo, origin, landing)
    elif origin.lands_at_maker:
        return ""
    else:
        commit = ""  # this host's own run, which was taken over once
    names = partial(_name, names_of_hosts(shared.queue))
    is_taken = origin.lands_at_maker or left_by == lander.by
    if not is_taken and not take_over_landing(shared.queue, task, lander=left_by, me=lander.by):
        return ""  # another host was first, or its own host is back
    if not commit:
        landing_json.change(home, task.id, lambda own: structs.replace(own, host=""))
        return f"its work of run {landing.run} lands here again: host {names(left_by)} is given up"
    _know_clone(home, task, repo, landing, run, commit)
    _own_policy(home, config, task, run, origin)
    # What people said of the landing counts; how far the landing was there does not.
    is_held = landing.state == "held"
    own = structs.replace(landing, state="held" if is_held else "waiting", commit="", red_line="")
    why = landing.why if is_held else ""
    landing_json.write(home, task.id, structs.replace(own, why=why, host="", at=lander.now()))
    return f"its work of run {landing.run} came from host {names(run.host)}, and lands here"


def _name(names: Mapping[str, str], host: str) -> str:
    return names.get(host, host)


def _repository(home: Home, task: Task, settings: Settings, origin: CodeOrigin) -> Repository:
    """The project, or the mirror in the project's place. Raises FleetError."""
    if is_elsewhere(home, settings):
        found = ensure_mirror(home, origin.url, task.id, patience=_FETCH_LIMIT)
        if isinstance(found, Unreached):
            raise (_CannotHave if found.unconfirmed or found.gone else FleetError)(found.why)
        return found
    repo = repository.find(settings.cwd or "")
    if repo is None:
        raise FleetError(f"{settings.cwd} is no repository any more")
    return repo


def _accepted(
    home: Home, task: Task, repo: Repository, origin: CodeOrigin, landing: Landing
) -> str:
    """The commit with the accepted tree, now in this repository. Raises FleetError."""
    commit = bring_result(home, repo, origin.url, task.id, str(landing.run))
    if isinstance(commit, RemoteSilent):
        raise FleetError(f"{origin.url}: {commit.why}")
    if not commit:
        raise _CannotHave(f"{origin.url} does not have the work of run {landing.run}")
    git = Git(repo, time.monotonic() + _LIMIT)
    if tree_of(git, commit) != landing.tree:
        raise _CannotHave(f"what {origin.url} has of run {landing.run} is not the accepted tree")
    return commit


def _know_clone(
    home: Home, task: Task, repo: Repository, landing: Landing, run: Run, commit: str
) -> None:
    """Have the refs and the record of a clone whose work is home."""
    made = clone_of(run)
    branch = made.branch if made is not None else ""
    record = CloneRecord(repository=repo.root, commit=landing.base, branch=branch, made=True)
    refs = take_work(home, task.id, repo, record, commit, title=task.title)
    if not commit_of(refs.git, refs.branch_ref):
        refs.git.ask("update-ref", "--no-deref", refs.branch_ref, commit)


def _own_policy(home: Home, config: Config, task: Task, run: Run, origin: CodeOrigin) -> None:
    """The run is held to the settings of this host from now on: what they say is executed here."""
    spec, local = run.spec(), local_settings(home, task)
    place = home.clone(task.id)
    cwd = str(place / origin.subdirectory) if origin.subdirectory else str(place)
    policy = policy_of(config, local, local.cwd or "").policy
    data = msgspec.json.encode(structs.replace(spec, cwd=cwd, policy=policy))
    seals.seal(run.task_dir, run.number, {RUN_JSON: data})
    write_atomically(run.path / RUN_JSON, data)
