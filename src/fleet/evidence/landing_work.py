"""What of a run's work is to land: the tree that was verified, and where the task began."""

import os
import time

from msgspec import Struct

from fleet.git.git_command import Git
from fleet.git.own.own_repository import known_repository
from fleet.git.refs import tree_of
from fleet.git.run_baseline import repository_of
from fleet.home import clone_record
from fleet.runs.run_directory import Run
from fleet.schemas import Base, Changes, Check, Policy

_LIMIT = 30.0


class LandingWork(Struct, frozen=True, kw_only=True):
    """The work of a clone that differs from what the clone was made from."""

    #: The top of the working tree that the task names, and the branch to land on; empty: none.
    repository: str
    into: str
    #: The commit that the clone was made from, and the tree that was verified.
    base: str
    tree: str


def landing_work(
    run: Run, policy: Policy, base: Base | None, changes: Changes | None, checks: tuple[Check, ...]
) -> LandingWork | None:
    """What is to land of a run whose claim is judged; None: nothing is, or nothing differs.

    Raises GitFailed.
    """
    home, task_id = run.home, run.task_id
    if policy.land.mode == "off" or base is None or changes is None or not changes.tree:
        return None
    record = clone_record.read(home, task_id)
    repo = repository_of(base)
    if record is None or repo is None or base.root != os.path.realpath(home.clone(task_id)):
        return None
    # Where files are pinned, the commands ran on the tree with the pinned ones.
    tree = (checks[0].tree if checks else "") or changes.tree
    git = Git(known_repository(home.path, repo.root), time.monotonic() + _LIMIT)
    if tree_of(git, record.commit) == tree:
        return None
    return LandingWork(
        repository=record.repository,
        into=policy.land.into or ("" if policy.land.asks_branch else record.branch),
        base=record.commit,
        tree=tree,
    )
