"""Work that another host verified comes to this one, which lands it: where the branch is in a
repository of the host that made the task, that host is the only one that can.

What the other host says of the run is believed. What is executed here, the checks of the fold, is
by the settings of this host.
"""

import time

import msgspec
from msgspec import Struct, structs

from fleet.config import Config
from fleet.errors import FleetError, InvalidTask
from fleet.files import seals
from fleet.files.atomic_write import write_atomically
from fleet.git import repository
from fleet.git.clone import clone_place
from fleet.git.clone.task_refs import TaskRefs
from fleet.git.clone.task_work import forget_clone
from fleet.git.git_command import Git
from fleet.git.mirror.result_refs import bring_result
from fleet.git.refs import commit_of
from fleet.git.remote.remote_git import RemoteSilent
from fleet.git.repository import Repository
from fleet.home import Home, clone_record, landing_json
from fleet.home.clone_record import CloneRecord
from fleet.home.landing_json import Landing
from fleet.home.task_json import is_elsewhere, local_settings, settings_of
from fleet.home.task_policy import policy_of
from fleet.landing.land_target import LanderSetup
from fleet.queue.protocol import Filter
from fleet.runs.run_directory import RUN_JSON, Run, latest_run
from fleet.schemas import Task
from fleet.schemas.hosts.code_origin import CodeOrigin
from fleet.travel.shared_queue import SharedQueue
from fleet.travel.unpack_run import clone_of, take_landing, take_over

_LIMIT = 120.0


class Adopted(Struct, frozen=True, kw_only=True):
    """What came of looking for work that other hosts verified."""

    #: Sentences, each with its task.
    said: tuple[tuple[str, str], ...] = ()
    #: Something could not be had, and is looked for again.
    again: bool = False


def adopt_landings(lander: LanderSetup, config: Config) -> Adopted:
    """Take over the verified work of other hosts that this one has to land. Blocks."""
    said: list[tuple[str, str]] = []
    again = False
    try:
        queue = lander.open_queue()
        try:
            for task in queue.find(Filter(statuses=("blocked",))):
                if not task.waits_to_land or not _is_ours(lander.home, task):
                    continue
                try:
                    text = _adopt(lander, config, SharedQueue(queue, config), task)
                except (FleetError, OSError) as error:
                    text, again = f"its work is not taken over yet: {error}", True
                if text:
                    said.append((task.id, text))
        finally:
            queue.close()
    except (FleetError, OSError):
        again = True  # the queue's own thread meets the same, and tells of it
    return Adopted(said=tuple(said), again=again)


def _is_ours(home: Home, task: Task) -> bool:
    """The branch is here, and the landing of the last run is not known here."""
    try:
        settings = settings_of(home, task)
    except InvalidTask:
        return False
    origin = settings.repository
    if origin is None or not origin.lands_at_maker or is_elsewhere(home, settings):
        return False
    run, landing = latest_run(home.task(task.id)), landing_json.believed(home, task.id)
    if run is None or landing is None or landing.host:
        return True
    return landing.run != max(run.number, task.runs)


def _adopt(lander: LanderSetup, config: Config, shared: SharedQueue, task: Task) -> str:
    """Take over one task's work; the sentence for the log, empty: there was nothing to take."""
    home = lander.home
    settings = settings_of(home, task)
    origin, repo = settings.repository, repository.find(settings.cwd or "")
    if origin is None or repo is None:
        raise FleetError(f"{settings.cwd} is no repository any more")
    take_over(shared, home, task.id, me=lander.by)
    landing = take_landing(shared, task.id, repo)
    run = Run(home.task(task.id) / "runs" / str(landing.run)) if landing is not None else None
    if landing is None or run is None or not run.host or landing.state != "verified":
        return ""
    commit = bring_result(home, repo, origin.url, task.id, str(landing.run))
    if isinstance(commit, RemoteSilent):
        raise FleetError(f"{origin.url}: {commit.why}")
    if not commit:
        raise FleetError(f"{origin.url} does not have the work of run {landing.run}")
    git = Git(repo, time.monotonic() + _LIMIT)
    if git.line("rev-parse", f"{commit}^{{tree}}") != landing.tree:
        raise FleetError(f"what {origin.url} has of run {landing.run} is not what was verified")
    _know_clone(home, task, repo, landing, run, commit)
    _own_policy(home, config, task, run, origin)
    landing_json.write(home, task.id, structs.replace(landing, host="", at=lander.now()))
    return f"its work of run {landing.run} came from the host {run.host}, and lands here"


def _know_clone(
    home: Home, task: Task, repo: Repository, landing: Landing, run: Run, commit: str
) -> None:
    """Have the refs and the record of a clone whose work is home; an older clone is put away."""
    made = clone_of(run)
    if clone_place.is_there(home, task.id):
        away = forget_clone(home, task.id, title=task.title)
        if away.stays:
            raise FleetError(f"the clone of an earlier run cannot be put away: {away.stays}")
    refs = TaskRefs(Git(repo, time.monotonic() + _LIMIT), task.id)
    refs.hold_base(landing.base)
    refs.git.ask("update-ref", "--no-deref", refs.tip_ref, commit)
    if not commit_of(refs.git, refs.branch_ref):
        refs.git.ask("update-ref", "--no-deref", refs.branch_ref, commit)
    branch = made.branch if made is not None else ""
    record = CloneRecord(repository=repo.root, commit=landing.base, branch=branch, made=True)
    clone_record.write(home, task.id, record)


def _own_policy(home: Home, config: Config, task: Task, run: Run, origin: CodeOrigin) -> None:
    """The run is held to the settings of this host from now on: what they say is executed here."""
    spec, local = run.spec(), local_settings(home, task)
    place = home.clone(task.id)
    cwd = str(place / origin.subdirectory) if origin.subdirectory else str(place)
    policy = policy_of(config, local, local.cwd or "").policy
    data = msgspec.json.encode(structs.replace(spec, cwd=cwd, policy=policy))
    seals.seal(run.task_dir, run.number, {RUN_JSON: data})
    write_atomically(run.path / RUN_JSON, data)
