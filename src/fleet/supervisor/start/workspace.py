"""Where a run works: the task's directory in the state that was found, or a clone.

Asks git and runs the project's set-up commands, so it may take its time: beside the loop.
"""

import errno
import os
import shutil
import threading
from pathlib import Path

from msgspec import Struct, structs

from fleet.coders.agent_environment import plain_env
from fleet.config import KEYS, Config
from fleet.config.projects import MIRRORS
from fleet.errors import FleetError
from fleet.evidence import other_task_dirs
from fleet.evidence.base_check import BaseCase
from fleet.evidence.verify_commands import CommandBox, check_all
from fleet.files.machine_short import is_short, shortage
from fleet.git import repository, snapshot_index
from fleet.git.checkout.shared_paths import share_with_clone, unshared
from fleet.git.clone import clone_place
from fleet.git.clone.ensure_clone import ensure_clone
from fleet.git.clone.source_facts import objects_of_clone
from fleet.git.mirror.ensure_mirror import Unreached
from fleet.git.run_baseline import record_base
from fleet.git.snapshot_index import KEPT_RUNS, drop_snapshots
from fleet.git.snapshot_names import INDEX
from fleet.home import Home, clone_record
from fleet.home.base_wait import BaseWait
from fleet.home.clone_record import CloneRecord
from fleet.runs.run_directory import next_number
from fleet.schemas import Base, Check, Policy
from fleet.schemas.hosts.code_origin import CodeOrigin
from fleet.schemas.units import shown_size
from fleet.supervisor.start.base_gate import base_gate
from fleet.supervisor.start.reach_code import reach_code
from fleet.supervisor.start.sent_back_clone import sent_back_clone

#: Bytes below which a disk counts as full.
_ROOM = 1 << 20
_OFFLINE = (
    "\n(In a box set-up commands have no network but to the hosts of setup_hosts:"
    " fleet config set --project . setup_hosts=packages.example.org)"
)


class WorkspaceOrder(Struct, frozen=True, kw_only=True):
    """What has to be prepared before a run can begin. Holds nothing that the loop changes."""

    home: Home
    task_id: str
    #: The task's own directory, and that of the project which it belongs to.
    cwd: str
    project: str
    policy: Policy
    #: The number that the run will have.
    number: int
    #: How many bytes all clones together may take.
    room: int = 0
    #: Where the code comes from on other hosts; and this is one of those: its mirror stands for
    #: the directory.
    origin: CodeOrigin | None = None
    elsewhere: bool = False
    title: str = ""
    #: Other tasks that are not closed, and their directories.
    others: tuple[tuple[str, str], ...] = ()

    @property
    def fetched(self) -> str:
        """The address whose mirror is fetched for the run; empty: none is."""
        return self.origin.url if self.origin is not None and self.elsewhere else ""


class Workspace(Struct, frozen=True, kw_only=True):
    """A directory that a run can begin in."""

    cwd: str
    #: The repository as the run finds it; None: the directory is in none.
    base: Base | None = None
    #: What its agent is told of work that could not land; empty: nothing was sent back.
    sent_back: str = ""


class Unprepared(Struct, frozen=True):
    """The directory cannot be had: the task wants what is not there, or the machine refused."""

    error: FleetError | OSError


class NoRoom(Struct, frozen=True):
    """There is no room for a new clone: the task waits."""

    why: str


#: A case: its commands have to be tried first. A wait: they were, and fail. None: the preparation
#: was stopped.
Prepared = Workspace | Unprepared | NoRoom | Unreached | BaseCase | BaseWait | None


def order_of(
    home: Home,
    config: Config,
    *,
    task_id: str,
    cwd: str,
    policy: Policy,
    origin: CodeOrigin | None = None,
    elsewhere: bool = False,
    title: str = "",
    others: tuple[tuple[str, str], ...] = (),
    number: int = 1,
) -> WorkspaceOrder | None:
    """What there is to be prepared for a run in this directory; None: nothing, since the directory
    is in no git repository. Starts nothing. `number` is the least that the run's can be.
    """
    if not elsewhere and not home.clone(task_id).exists():
        place = os.path.realpath(cwd)
        if _is_home(home, place) or not _in_git(place):
            return None
    return WorkspaceOrder(
        home=home,
        task_id=task_id,
        cwd=cwd,
        project=config.project(cwd).path,
        policy=policy,
        number=next_number(home.task(task_id), number),
        room=KEYS["workspace_limit"].read(config.workspace_limit),
        origin=origin,
        elsewhere=elsewhere,
        title=title,
        others=others,
    )


def prepare(order: WorkspaceOrder, abandon: threading.Event) -> Prepared:
    """Prepare a run's directory. Blocks, so not for the loop's thread. Returns its errors."""
    try:
        task_dir = order.home.task(order.task_id)
        task_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        if abandon.is_set():
            return None
        if order.policy.work_in == "directory":
            place = Workspace(cwd=order.cwd, base=_recorded(order, order.cwd, task_dir))
        else:
            place = _isolated(order, task_dir, abandon)
    except (FleetError, OSError) as error:
        return Unprepared(error if is_short(error) else _full_disk(order.home) or error)
    return None if abandon.is_set() else place


def _full_disk(home: Home) -> OSError | None:
    """What lies behind an error of git, which does not always say so; None: there is room."""
    if why := shortage(home.path):
        return OSError(errno.ENOSPC, why)
    for place in (home.path / MIRRORS, home.worktrees):
        if place.exists() and shutil.disk_usage(place).free < _ROOM:
            return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(place))
    return None


def _isolated(order: WorkspaceOrder, task_dir: Path, abandon: threading.Event) -> Prepared:
    """The task's own clone, set up; None: the preparation was stopped."""
    home, policy, task_id = order.home, order.policy, order.task_id
    if not clone_place.is_there(home, task_id) and (why := _no_room(order)):
        return NoRoom(why)
    commit = reach_code(
        home, task_id, policy,
        cwd=order.cwd, origin=order.origin, elsewhere=order.elsewhere, title=order.title,
    )  # fmt: skip
    if isinstance(commit, Unreached):
        return commit
    branch = "" if policy.commit else policy.land.into
    held = base_gate(home, task_id, policy, cwd=order.cwd, commit=commit, branch=branch)
    if held is not None:
        return held
    record = ensure_clone(home, task_id, order.cwd, commit)
    cwd = _inside(home, task_id, record, order.cwd)
    os.makedirs(cwd, exist_ok=True)  # noqa: PTH103 - git holds no empty directory
    if not record.set_up:
        project = _project(record, order.project)
        where = _inside(home, task_id, record, project)
        place = home.clone(task_id)
        missing = unshared(project, policy.copies.share, where, place)
        shared = tuple(dict.fromkeys((*record.shared, *missing)))
        record = clone_record.write(home, task_id, structs.replace(record, shared=shared))
        share_with_clone(project, policy.copies.share, where, place, shared)
        if not _set_up(order, where, project, abandon):
            return None
        clone_record.write(home, task_id, structs.replace(record, set_up=True))
        clone_place.note_size(home, task_id)
    back = sent_back_clone(home, task_id)
    base = _recorded(order, cwd, task_dir, record)
    if back is None or base is None:
        return Workspace(cwd=cwd, base=base)
    merge, words = back
    return Workspace(cwd=cwd, base=structs.replace(base, merge=merge), sent_back=words)


def _set_up(order: WorkspaceOrder, cwd: str, project: str, abandon: threading.Event) -> bool:
    """Run the project's commands that make a fresh clone fit to work in. False: it was stopped.
    Raises FleetError if one fails.

    Each runs under a keeper in `setup/<k>/`, so one that a dead supervisor had begun is waited for
    and not begun again.
    """
    home, task_id, policy = order.home, order.task_id, order.policy
    place = home.task(task_id) / clone_record.FOLDER
    box = CommandBox(
        sandbox=policy.sandbox,
        home=str(home.path),
        tree=str(home.clone(task_id)),
        read=tuple(objects_of_clone(home, task_id)),
    ).with_project(project)
    checks = check_all(
        place, task_id, policy.setup, cwd, limit=policy.verify_time,
        env={**plain_env(os.environ), "FLEET_PROJECT_DIR": project},
        abandon=abandon, folder=clone_record.SETUP, box=box,
    )  # fmt: skip
    if checks is None:
        return False
    failed = [check for check in checks if not check.passed]
    if failed:
        clone_record.put_aside_setup(place)
        offline = box.sandbox.level != "off" and not box.hosts
        words = _failure_words(failed[0], policy.verify_time)
        raise FleetError(words + (_OFFLINE if offline else ""))
    return True


def _failure_words(check: Check, limit: float) -> str:
    if check.trouble:
        how = check.trouble
    elif check.timed_out:
        how = f"took longer than {limit:g} s"
    else:
        how = f"ended with {check.code}"
    tail = f":\n{check.tail}" if check.tail else ""
    return f"the set-up of its clone failed: {check.command!r} {how}{tail}"


def _no_room(order: WorkspaceOrder) -> str:
    """Why no new clone can be made for now; empty if one can."""
    used = clone_place.known_size(order.home)
    if used < order.room:
        return ""
    return (
        f"the clones in {order.home.worktrees} take {shown_size(used)}, and workspace_limit is"
        f" {shown_size(order.room)}: close tasks, or raise it (fleet doctor lists the clones)"
    )


def _inside(home: Home, task_id: str, record: CloneRecord, cwd: str) -> str:
    """The directory of the clone that corresponds to one of the repository."""
    inside = os.path.relpath(os.path.realpath(cwd), record.repository)
    if inside == ".." or inside.startswith("../"):
        raise FleetError(f"its clone was made from {record.repository}, and {cwd} is not in that")
    place = os.path.realpath(home.clone(task_id))
    found = os.path.normpath(f"{place}/{inside}")
    if os.path.realpath(found) != found:
        raise FleetError(f"a link leads from {found} to {os.path.realpath(found)}; remove the link")
    return found


def _project(record: CloneRecord, path: str) -> str:
    """The project's directory; for one outside of the repository, the repository's top."""
    place = os.path.realpath(path)
    inside = place == record.repository or place.startswith(f"{record.repository}/")
    return place if inside else record.repository


def _recorded(
    order: WorkspaceOrder, cwd: str, task_dir: Path, record: CloneRecord | None = None
) -> Base | None:
    repo = repository.find(cwd)
    if repo is None:
        return None
    # Before there is anything that could be forgotten.
    project = record.repository if record is not None else ""
    snapshot_index.note(order.home, order.task_id, repo.root, project)
    other_task_dirs.record(order.home, order.task_id, repo.root, order.others)
    key = f"{order.task_id}/{order.number}"
    shared = record.shared if record is not None else ()
    base = record_base(cwd, key, home=order.home.path, keep=task_dir / INDEX, shared=shared)
    if order.number > KEPT_RUNS:
        drop_snapshots(order.home, repo, order.task_id, order.number - KEPT_RUNS)
    return base


def _in_git(cwd: str) -> bool:
    """Whether a directory is in a repository. A bare repository counts: the task is refused there,
    and does not work on the repository's files.
    """
    return repository.is_bare(cwd) or repository.find(cwd) is not None


def _is_home(home: Home, place: str) -> bool:
    """A task without a directory runs in fleet's home, which changes all the time."""
    return place == home.real_path or place.startswith(f"{home.real_path}/")
