"""`fleet land`: the work that is not on the branch yet, and why not.

What waits is known by the records of landings. Work from before landing was switched on is known
by its branch alone: that of a closed task, with commits that no other branch has.
"""

import time
from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from fleet.control import Control
from fleet.control.landing.open_landings import (
    landing_host,
    landing_of,
    open_landings,
    why_behind,
    without_closed,
)
from fleet.control.landing.project_git import ProjectGit
from fleet.control.view.read_now import standings_of
from fleet.errors import FleetError, InvalidTask
from fleet.git.clone.task_refs import BRANCHES
from fleet.home import clone_record, task_json
from fleet.home.clone_record import ref_word
from fleet.home.landing_json import Landing, LandingState
from fleet.home.task_policy import policy_of
from fleet.landing.fold.fold_checks import protected_paths
from fleet.queue.protocol import Filter
from fleet.schemas import Policy, Settings, Task
from fleet.schemas.policy import LandRules
from fleet.schemas.task_state import Standing, TaskState

#: Seconds for all git commands of one list, and how many files of one task are named.
_LIMIT = 60.0
_FEW = 5


class UnlandedWork(Struct, frozen=True, kw_only=True):
    """The work of one task that is not on the branch yet."""

    id: str
    title: str
    #: How the task stands, and why.
    state: TaskState
    why: str = ""
    #: How far the landing itself is.
    step: LandingState
    words: str
    repository: str
    into: str
    #: Since when the work is in this state.
    since: datetime
    #: How many files the work changes; None: not known yet.
    files: int | None = None
    #: Files that a person has to approve; the first few.
    protected: tuple[str, ...] = ()
    verdict: str
    #: The commit that is to land; empty while the work is in the clone.
    tip: str = ""
    tries: int = 0
    approved_by: str = ""


class BranchBehind(Struct, frozen=True, kw_only=True):
    """A branch that stands behind its line: a working tree of the branch is in the way of a commit
    of the remote, or of one that takes work back.
    """

    repository: str
    branch: str
    commits: int
    #: What was in the way when a lander last looked, with the directory.
    why: str


class UnlandedBranch(Struct, frozen=True, kw_only=True):
    """The branch of a closed task with commits that no other branch has."""

    id: str
    title: str
    repository: str
    branch: str
    tip: str
    since: datetime | None = None
    files: int | None = None


class WaitingList(Struct, frozen=True, kw_only=True):
    """All that `fleet land` has to say."""

    work: tuple[UnlandedWork, ...] = ()
    behind: tuple[BranchBehind, ...] = ()
    before: tuple[UnlandedBranch, ...] = ()
    #: Repositories that could not be looked at, and why.
    trouble: tuple[str, ...] = ()
    #: Of work whose host was given up, and that no host has taken over: how that comes about.
    left: tuple[str, ...] = ()
    #: Of work that another host lands: how far that is, and the name of the host.
    elsewhere: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        here = self.work or self.behind or self.before or self.trouble
        return not (here or self.left or self.elsewhere)


def waiting_list(fleet: Control) -> WaitingList:
    """What waits, what asks, what was sent back, what is held, and what is left from before."""
    until = time.monotonic() + _LIMIT
    open_ones = without_closed(fleet, open_landings(fleet))
    clones = _clones(fleet)
    projects: dict[str, ProjectGit] = {}
    trouble: list[str] = []
    for root in sorted({each.repository for each in open_ones.values()} | set(clones.values())):
        try:
            projects[root] = ProjectGit(fleet.home, root, until)
        except FleetError as error:
            trouble.append(f"{root}: {error.message}")
    known = standings_of(fleet, _tasks(fleet, tuple(open_ones)), datetime.now().astimezone())
    work = [
        _work(fleet, each, open_ones[each], known[each], projects)
        for each in open_ones
        if each in known
    ]
    rank = {state: at for at, state in enumerate(SHOWN_ORDER)}
    work.sort(key=lambda each: (rank[each.state], each.since, each.id))
    older = {each: root for each, root in clones.items() if each not in open_ones}
    return WaitingList(
        work=tuple(work),
        behind=tuple(one for root in projects for one in _behind(fleet, projects[root], work)),
        before=tuple(_from_before(fleet, older, projects)),
        trouble=tuple(trouble),
        **_of_other_hosts(fleet),
    )


def _of_other_hosts(fleet: Control) -> dict[str, tuple[str, ...]]:
    """What `left` and `elsewhere` have to say."""
    if not fleet.is_shared:
        return {}
    from fleet.control.hosts.left_work import left_work

    blocked = [t for t in fleet.queue.find(Filter(statuses=("blocked",))) if t.waits_to_land]
    left = left_work(fleet, blocked)
    told = {task.id: _by_other_host(fleet, task) for task in blocked if task.id not in left}
    return {
        "left": tuple(f"{task_id}: {words}" for task_id, words in left.items()),
        "elsewhere": tuple(f"{task_id}: {words}" for task_id, words in told.items() if words),
    }


def _by_other_host(fleet: Control, task: Task) -> str:
    """How far the work of a task is that another host lands; empty: this host does."""
    host, landing = landing_host(fleet, task), landing_of(fleet, task)
    if not host or landing is None:
        return ""
    why = f": {landing.why}" if landing.why else ""
    return f"{landing.words()}, by host {host}{why}"


#: The order of the list: what needs a person comes first.
SHOWN_ORDER: tuple[TaskState, ...] = (
    "needs approval", "asks", "failed", "to land", "running", "verifying", "waiting", "ready",
    "sent back", "stopped", "landed", "done",
)  # fmt: skip


def _work(
    fleet: Control,
    task_id: str,
    landing: Landing,
    standing: Standing,
    projects: dict[str, ProjectGit],
) -> UnlandedWork:
    project, policy = projects.get(landing.repository), _policy(fleet, task_id)
    names: list[str] | None = None
    if project is not None and landing.commit:
        # The line of work that has been merged holds all of it: compare with the line before.
        line = landing.landed.line_before if landing.landed is not None else ""
        line = line or project.line_of(landing.into)
        names = project.changed(landing.commit, line, landing.base)
    return UnlandedWork(
        id=task_id,
        title=landing.title,
        state=standing.state,
        why=standing.reason,
        step=landing.state,
        words=landing.words(policy.land.tries),
        repository=landing.repository,
        into=landing.into,
        since=landing.at,
        files=None if names is None else len(names),
        protected=protected_paths(policy, landing.repository, names or ())[:_FEW],
        verdict="checked" if landing.checked else "unchecked",
        tip=landing.commit,
        tries=landing.tries,
        approved_by=landing.approved_by,
    )


def land_rules_of(fleet: Control, task_id: str) -> LandRules:
    """The rules that a task's work lands by, as task and project are set now."""
    return _policy(fleet, task_id).land


def _policy(fleet: Control, task_id: str) -> Policy:
    try:
        own = task_json.read(fleet.home, task_id)
    except InvalidTask:
        own = None
    settings = own or Settings()
    return policy_of(fleet.config, settings, settings.cwd or "/").policy


def _clones(fleet: Control) -> dict[str, str]:
    """The tasks that ever had a clone, each with the project that the clone was made from."""
    found: dict[str, str] = {}
    for place in fleet.home.tasks.iterdir() if fleet.home.tasks.is_dir() else ():
        try:
            record = clone_record.read(fleet.home, place.name)
        except FleetError:
            continue  # not the directory of a task, or damaged: other commands say so
        if record is not None:
            found[place.name] = record.repository
    return found


def _behind(
    fleet: Control, project: ProjectGit, work: Sequence[UnlandedWork]
) -> list[BranchBehind]:
    """The branches that stand behind their lines, unless a task that is to land there says so."""
    told = {(each.repository, each.into) for each in work if each.step == "ahead"}
    return [
        BranchBehind(
            repository=project.root,
            branch=branch,
            commits=count,
            why=why_behind(fleet.home, project.root, branch),
        )
        for branch, count in project.lines_ahead()
        if (project.root, branch) not in told
    ]


def _from_before(
    fleet: Control, clones: dict[str, str], projects: dict[str, ProjectGit]
) -> list[UnlandedBranch]:
    """Branches of closed tasks that hold commits which no other branch has."""
    tips: dict[str, str] = {}
    for root, project in projects.items():
        mine = [each for each, at in clones.items() if at == root]
        tips |= project.unmerged({each: f"{BRANCHES}{ref_word(each)}" for each in mine})
    closed = [task for task in _tasks(fleet, tuple(tips)) if task.status == "closed"]
    # A host that made a task may have landed its work on a branch of its own.
    closed = [task for task in closed if not _has_landed(fleet, task)]
    found: list[UnlandedBranch] = []
    for task in sorted(closed, key=lambda each: (each.closed_at or each.updated_at, each.id)):
        record = clone_record.read(fleet.home, task.id)
        base = record.commit if record else ""
        names = projects[clones[task.id]].changed(tips[task.id], "", base)
        found.append(
            UnlandedBranch(
                id=task.id,
                title=task.title,
                repository=clones[task.id],
                branch=clone_record.branch_of(task.id),
                tip=tips[task.id],
                since=task.closed_at,
                files=None if names is None else len(names),
            )
        )
    return found


def _has_landed(fleet: Control, task: Task) -> bool:
    landing = landing_of(fleet, task)
    return landing is not None and landing.state == "landed"


def _tasks(fleet: Control, ids: Sequence[str]) -> Sequence[Task]:
    if not ids:
        return ()
    return fleet.queue.find(Filter(ids=tuple(ids), include_closed=True))
