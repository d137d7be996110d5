"""Which tasks are on their way to a branch, for every surface that shows tasks.

In the queue such a task is blocked, so that nothing claims it; people see how far it is instead.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from fleet.control import Control
from fleet.errors import FleetError
from fleet.home import Home, landing_json
from fleet.home.landing_json import LANDERS, Landing, LandingState
from fleet.queue.protocol import Filter
from fleet.schemas import Receipt, Task
from fleet.schemas.task_state import OnTheWay
from fleet.travel.landing_note import read_note

if TYPE_CHECKING:
    from fleet.control.tasks.in_progress import InProgress


class LandingTask(Struct, frozen=True, kw_only=True):
    """A task whose work is on the way to a branch."""

    id: str
    title: str
    state: LandingState
    words: str
    #: Which checkout and file keep the work from its branch.
    why: str = ""
    #: The work waits for nothing but a person's word.
    to_approve: bool = False

    @property
    def is_blocked(self) -> bool:
        """The task is blocked in the queue; a task that was sent back is with the agent."""
        return self.state != "back"


def open_landings(fleet: Control) -> dict[str, Landing]:
    """The landings that are not at their end, by task."""
    found: dict[str, Landing] = {}
    for task_id in landing_json.unlanded(fleet.home):
        landing = landing_json.read(fleet.home, task_id)
        if landing is not None and landing.state != "landed":
            found[task_id] = landing
    return found


def without_closed(fleet: Control, landings: Mapping[str, Landing]) -> dict[str, Landing]:
    """The same without tasks that a person closed meanwhile: their landing says nothing any more,
    unless the line has their work. A queue that does not answer hides none of them.
    """
    if not landings:
        return {}
    try:
        tasks = fleet.queue.find(Filter(ids=tuple(landings), include_closed=True))
    except FleetError:
        return dict(landings)
    closed = {task.id for task in tasks if task.status == "closed"}
    return {
        task_id: each
        for task_id, each in landings.items()
        if task_id not in closed or each.state == "ahead"
    }


def landing_tasks(fleet: Control) -> tuple[LandingTask, ...]:
    """Landings that are not at their end, to be shown; what waits for a person comes first."""
    found = [
        LandingTask(
            id=task_id,
            title=landing.title,
            state=landing.state,
            words=landing_words(fleet, task_id, landing),
            why=landing.why if landing.state == "ahead" else "",
            to_approve=landing.state == "asks" and landing.why_back is None,
        )
        for task_id, landing in without_closed(fleet, open_landings(fleet)).items()
    ]
    return tuple(sorted(found, key=lambda each: (each.state not in ("asks", "ahead"), each.id)))


def landing_of(fleet: Control, task: Task) -> Landing | None:
    """How far a task's work is on the way to the branch; None: no landing, or one that says nothing
    any more.
    """
    landing = landing_json.read(fleet.home, task.id)
    if landing is None or landing.host:
        return _landing_elsewhere(fleet, task) or landing
    if (task.status == "closed") == (landing.state == "landed"):
        return landing
    if task.status == "closed" and landing.state == "ahead":
        return landing  # it lands all the same
    # The branch moves before the task is closed, and the task may have been read before that: what
    # was blocked before its work landed is closed, or will be.
    unclosed = landing_json.is_unclosed(fleet.home, task.id) or task.updated_at <= landing.at
    return landing if task.status == "blocked" and unclosed else None


def is_back(fleet: Control, task: Task) -> bool:
    """The work of an open task was sent back to its agent."""
    landing = landing_of(fleet, task)
    return landing is not None and landing.state == "back"


def _landing_elsewhere(fleet: Control, task: Task) -> Landing | None:
    """How far the work is that another host lands, as that host told last; None: it told nothing
    of the task's last run, or a person closed the task meanwhile.
    """
    note = read_note(task) if fleet.is_shared else None
    if note is None or note.landing.run != task.runs:
        return None
    landing = structs.replace(note.landing, repository="")  # a path of that host
    return landing if (task.status == "closed") == (landing.state == "landed") else None


def landing_host(fleet: Control, task: Task) -> str:
    """The name of the host that lands a task's work, where that is another one."""
    own = landing_json.read(fleet.home, task.id)
    here = own is not None and not own.host
    note = read_note(task) if fleet.is_shared and not here else None
    return note.host if note is not None and note.landing.run == task.runs else ""


def landing_of_run(fleet: Control, receipt: Receipt) -> Landing | None:
    """How far the work of one run is on the way to the branch; None: no landing."""
    landing = landing_json.read(fleet.home, receipt.task_id)
    if (landing is None or landing.host) and fleet.is_shared:
        landing = _landing_elsewhere(fleet, fleet.get(receipt.task_id)) or landing
    return landing if landing is not None and landing.run == receipt.run else None


def on_the_way(landing: Landing, words: str, why: str) -> OnTheWay:
    """How far a landing is, as the task's state follows from it."""
    return OnTheWay(
        step=landing.state,
        words=words,
        why=why,
        is_out_of_tries=landing.why_back is not None,
        waits_for_line=bool(landing.red_line),
    )


def landing_why(fleet: Control, task_id: str, landing: Landing) -> str:
    """Why a landing asks, is held or was sent back, and then how often; empty: it goes on."""
    if landing.state == "back" and landing.why_back is not None:
        return landing.back_words(_tries(fleet, task_id, landing))
    return landing.why


def landing_words(fleet: Control, task_id: str, landing: Landing) -> str:
    """How far a landing is, in words."""
    return landing.words(_tries(fleet, task_id, landing))


def why_behind(home: Home, root: str, branch: str) -> str:
    """What kept a branch from its line when a lander last looked, with the directory."""
    from fleet.git.repository import find
    from fleet.landing.train_store import TrainPlace

    repo = find(root)
    learnt = TrainPlace(home, repo.common_dir, branch).learnt() if repo is not None else None
    return (learnt.behind if learnt is not None else "") or f"look at git -C {root} status"


def with_landings(fleet: Control, seen: "Sequence[InProgress]") -> "list[InProgress]":
    """These tasks, and behind them the tasks that the lander has; a task that was sent back says
    so while the agent is at work.
    """
    landings = open_landings(fleet)
    found = [_sent_back(fleet, each, landings.get(each.id)) for each in seen]
    busy = {each.id for each in seen}
    mine = [each for each, landing in landings.items() if landing.state in LANDERS]
    return found + [_row(each, landings[each]) for each in mine if each not in busy]


def _row(task_id: str, landing: Landing) -> "InProgress":
    from fleet.control.tasks.in_progress import InProgress

    return InProgress(
        id=task_id,
        title=landing.title,
        doing="landing",
        reason=landing.words(),
        landing=on_the_way(landing, landing.words(), landing.why),
        cwd=landing.repository,
        run=landing.run,
        started_at=landing.at,
    )


def _sent_back(fleet: Control, each: "InProgress", landing: Landing | None) -> "InProgress":
    if landing is None or landing.state != "back" or each.doing != "running":
        return each
    words = landing_words(fleet, each.id, landing)
    return structs.replace(each, reason=f"{words}; {each.reason}".removesuffix("; "))


def behind_words(fleet: Control) -> tuple[str, ...]:
    """The branches that stand behind their lines though no task is to land there, each with what
    was in the way: a commit of the remote, or one that takes work back.
    """
    from fleet.landing.train_store import branches_behind

    told = {
        (each.repository, each.into)
        for each in open_landings(fleet).values()
        if each.state == "ahead"
    }
    return tuple(
        f"{each.branch} of {each.repository}: {each.behind}"
        for each in branches_behind(fleet.home)
        if (each.repository, each.branch) not in told
    )


def _tries(fleet: Control, task_id: str, landing: Landing) -> int:
    if landing.state != "back":
        return 0
    from fleet.control.landing.waiting_list import land_rules_of

    return land_rules_of(fleet, task_id).tries
