"""What waits to land: the landings of a home, held against the queue and against their runs.

A landing counts only while its task is blocked without a lease, and while the run that it speaks of
is the task's latest. A record that fleet did not write is told, and never acted on. Work lands by
the settings in force when it lands, not by those that its run was started with.
"""

import os
from collections.abc import Iterable, Iterator

from msgspec import Struct

from fleet import config
from fleet.config import Config
from fleet.errors import BadInput, InvalidTask
from fleet.git import repository
from fleet.home import Home, landing_json
from fleet.home.landing_json import LANDERS, Landing
from fleet.home.task_json import local_settings
from fleet.home.task_policy import policy_of
from fleet.landing.fold.fold_checks import CheckPlan, check_names, check_plan
from fleet.queue.protocol import Filter, Queue
from fleet.runs.run_directory import RunSpec, latest_run
from fleet.schemas import Policy, Task
from fleet.schemas.policy import LandRules


class TargetKey(Struct, frozen=True, kw_only=True, eq=False):
    """One branch of one repository: what a train is for.

    Two working trees of one repository, or two names of one, make the same key: one job at a time
    works on a branch.
    """

    #: The top of a working tree of the repository, and its common git directory; empty: there is no
    #: repository any more.
    repository: str
    common_dir: str
    #: Empty: the work has no branch to land on.
    branch: str

    @property
    def _identity(self) -> tuple[str, str]:
        return self.common_dir or self.repository, self.branch

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TargetKey) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)


class WaitingWork(Struct, frozen=True, kw_only=True):
    """A task whose work the lander has to do with."""

    task: Task
    landing: Landing
    plan: CheckPlan
    #: The message of the commit on the line; empty: by the task's title.
    message: str = ""

    @property
    def task_id(self) -> str:
        return self.task.id

    @property
    def rules(self) -> LandRules:
        return self.plan.policy.land

    @property
    def proved(self) -> tuple[str, ...]:
        """The checks that passed on the tree that the run left."""
        return check_names(self.plan.inside, self.landing.checks)


class FoundWork(Struct, frozen=True, kw_only=True):
    """What the marks of a home lead to."""

    #: By target; tasks in the order of the queue.
    work: dict[TargetKey, tuple[str, ...]]
    #: Tasks of which an agent, and not the lander, has to do the next step.
    back: frozenset[str] = frozenset()
    #: Why the record of a task is not acted on, by task.
    doubts: dict[str, str]


def survey(home: Home) -> FoundWork:
    """Which targets the lander has work for, by the records alone: the queue is not asked."""
    work: dict[TargetKey, tuple[str, ...]] = {}
    doubts: dict[str, str] = {}
    back: set[str] = set()
    for task_id in landing_json.unlanded(home):
        try:
            doubt, landing = landing_json.doubt(home, task_id), landing_json.read(home, task_id)
        except BadInput:
            continue  # no id of a task: not a mark of fleet's
        if doubt:
            doubts[task_id] = doubt
        elif landing is not None and not landing.host and _is_for_lander(landing):
            key = target_key(landing.repository, landing.into)
            work[key] = (*work.get(key, ()), task_id)
            if landing.state == "back":
                back.add(task_id)
    return FoundWork(work=work, back=frozenset(back), doubts=doubts)


def _is_for_lander(landing: Landing) -> bool:
    """The lander has something to do for this landing, or to watch: a person may merge a pull
    request that fleet asks about, or mend a branch that fails without candidates.
    """
    watched = landing.state == "asks" and (landing.to == "pr" or bool(landing.red_line))
    return landing.state in (*LANDERS, "ahead", "landed", "back") or watched


def target_key(root: str, branch: str) -> TargetKey:
    """The target for work that comes from a working tree with this top."""
    repo = repository.find(root)
    common = os.path.realpath(repo.common_dir) if repo is not None else ""
    return TargetKey(repository=root, common_dir=common, branch=branch)


def tasks_of(queue: Queue, task_ids: Iterable[str]) -> list[Task]:
    """The tasks that are still there, in the order of the queue."""
    ids = tuple(task_ids)
    return list(queue.find(Filter(ids=ids, include_closed=True))) if ids else []


def waiting_work(home: Home, tasks: Iterable[Task]) -> Iterator[WaitingWork]:
    """The tasks whose landing counts and is the lander's, in the same order. Raises ConfigError:
    nothing lands by settings that cannot be read.
    """
    settings = config.load(home.config)
    for task in tasks:
        landing = landing_json.believed(home, task.id)
        if landing is None or landing.state not in LANDERS:
            continue
        if task.status != "blocked" or task.lease_owner is not None:
            continue
        if (work := work_of_run(home, task, landing, settings)) is not None:
            yield work


def work_of_run(home: Home, task: Task, landing: Landing, settings: Config) -> WaitingWork | None:
    """A landing with the checks to pass; None: the run is not the task's latest, or the run's
    record is not as fleet wrote it.
    """
    spec = _spec_of(home, task.id, landing.run)
    if spec is None:
        return None
    plan = check_plan(
        _policy(home, task, settings) or spec.policy,
        repository=landing.repository,
        clone=str(home.clone(task.id)),
        cwd=spec.cwd,
    )
    return WaitingWork(task=task, landing=landing, plan=plan)


def _policy(home: Home, task: Task, settings: Config) -> Policy | None:
    """What the task is held to by now: own wishes, then the settings in force; None: the task's
    settings do not tell.
    """
    try:
        own = local_settings(home, task)
    except InvalidTask:
        return None
    return policy_of(settings, own, own.cwd).policy if own.cwd else None


def _spec_of(home: Home, task_id: str, number: int) -> RunSpec | None:
    """The spec of the run that a landing speaks of; None: the run is not the latest one, or the
    record is not as fleet wrote it.
    """
    run = latest_run(home.task(task_id))
    if run is None or run.number != number:
        return None
    try:
        return None if run.spec_doubt() else run.known_spec()
    except InvalidTask:
        return None
