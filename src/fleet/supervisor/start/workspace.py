"""Where a run works: its directory with the state it is found in, or a worktree of its own.

Asks git and runs the project's set-up commands, so it may take its time: beside the loop.
"""

import os
import threading
from pathlib import Path

from msgspec import Struct, structs

from fleet.config import Config
from fleet.errors import FleetError
from fleet.evidence import other_task_dirs
from fleet.git import repository, snapshot_index, worktree
from fleet.git.run_baseline import INDEX, record_base
from fleet.git.snapshot_retention import KEPT_RUNS, drop_snapshots
from fleet.home import Home, worktree_json
from fleet.home.worktree_json import Worktree
from fleet.runs.run_directory import next_number
from fleet.schemas import Base, Policy
from fleet.supervisor.start.setup_commands import set_up


class Order(Struct, frozen=True, kw_only=True):
    """What has to be prepared before a run can begin. Holds nothing that the loop changes."""

    home: Home
    task_id: str
    #: The task's own directory, and that of the project which it belongs to.
    cwd: str
    project: str
    policy: Policy
    #: The number that the run will have.
    number: int
    #: Other tasks that are not closed, and their directories.
    others: tuple[tuple[str, str], ...] = ()


class Workspace(Struct, frozen=True, kw_only=True):
    """A directory that a run can begin in."""

    cwd: str
    #: The repository as the run finds it; None: the directory is in none.
    base: Base | None = None


class Unprepared(Struct, frozen=True):
    """The directory cannot be had: the task wants what is not there, or the machine refused it."""

    error: FleetError | OSError


#: None: the preparation was stopped.
Prepared = Workspace | Unprepared | None


def order_of(
    home: Home,
    config: Config,
    *,
    task_id: str,
    cwd: str,
    policy: Policy,
    others: tuple[tuple[str, str], ...] = (),
) -> Order | None:
    """What there is to be prepared for a run in this directory; None: nothing. Starts nothing."""
    if policy.isolation == "none" and (_is_home(home, cwd) or repository.find(cwd) is None):
        return None
    return Order(
        home=home,
        task_id=task_id,
        cwd=cwd,
        project=config.project(cwd).path,
        policy=policy,
        number=next_number(home.task(task_id)),
        others=others,
    )


def prepare(order: Order, abandon: threading.Event) -> Prepared:
    """Prepare a run's directory. Blocks, so not for the loop's thread. Returns its errors."""
    try:
        task_dir = order.home.task(order.task_id)
        task_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        if abandon.is_set():
            return None
        if order.policy.isolation == "none":
            place = Workspace(cwd=order.cwd, base=_recorded(order, order.cwd, task_dir))
        else:
            place = _isolated(order, task_dir, abandon)
    except (FleetError, OSError) as error:
        return Unprepared(error)
    return None if abandon.is_set() else place


def _isolated(order: Order, task_dir: Path, abandon: threading.Event) -> Workspace | None:
    """The task's own worktree, set up; None: the preparation was stopped."""
    home, policy, task_id = order.home, order.policy, order.task_id
    tree = worktree.ensure_worktree(home, task_id, order.cwd, policy.commit)
    cwd = _inside(tree, order.cwd)
    os.makedirs(cwd, exist_ok=True)  # noqa: PTH103 - git holds no empty directory
    place = task_dir / worktree_json.FOLDER
    if not tree.set_up:
        project = _project(tree, order.project)
        where = _inside(tree, project)
        ended = set_up(
            place, policy.setup, where, project=project, limit=policy.verify_time, abandon=abandon
        )
        if not ended:
            return None
        worktree_json.write(home, task_id, structs.replace(tree, set_up=True))
    return Workspace(cwd=cwd, base=_recorded(order, cwd, task_dir, tree.repository))


def _inside(tree: Worktree, cwd: str) -> str:
    """The directory of the worktree that corresponds to one of the repository."""
    inside = os.path.relpath(os.path.realpath(cwd), tree.repository)
    if inside == ".." or inside.startswith("../"):
        raise FleetError(f"its worktree was made from {tree.repository}, and {cwd} is not in that")
    return os.path.normpath(f"{tree.path}/{inside}")


def _project(tree: Worktree, path: str) -> str:
    """The project's directory; one that holds more than the repository is not in it."""
    place = os.path.realpath(path)
    inside = place == tree.repository or place.startswith(f"{tree.repository}/")
    return place if inside else tree.repository


def _recorded(order: Order, cwd: str, task_dir: Path, from_: str = "") -> Base | None:
    repo = repository.find(cwd)
    if repo is None:
        return None
    # Before there is anything that could be forgotten.
    snapshot_index.note(order.home, order.task_id, repo.root, from_)
    other_task_dirs.record(order.home, order.task_id, repo.root, order.others)
    key = f"{order.task_id}/{order.number}"
    base = record_base(cwd, key, home=order.home.path, keep=task_dir / INDEX)
    if order.number > KEPT_RUNS:
        drop_snapshots(order.home, repo, order.task_id, order.number - KEPT_RUNS)
    return base


def _is_home(home: Home, cwd: str) -> bool:
    """A task without a directory runs in fleet's home, which changes all the time."""
    own = os.path.realpath(home.path)
    place = os.path.realpath(cwd)
    return place == own or place.startswith(f"{own}/")
