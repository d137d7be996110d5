"""The tasks that wait for a person: begun ones, each with a question or a reason, and open ones
with the gate that holds them.

`fleet status` names the first of them; the whole list, as the page and `fleet top` show it, is the
group `needs_you` of `control/view/read_now.py`.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from msgspec import Struct

from fleet.control import Control
from fleet.control.view.why_not_now import Conditions, GateReader, why_nothing_starts
from fleet.errors import InvalidTask
from fleet.home import landing_json
from fleet.queue.protocol import Filter
from fleet.runs.outcome_history import attempts_before, read_ending
from fleet.runs.run_directory import latest_run
from fleet.schemas import Status, Task
from fleet.schemas.shown_text import first_line
from fleet.schemas.task_state import TaskState, Wait, row_state
from fleet.schemas.waits import OutOfAttempts

if TYPE_CHECKING:
    from fleet.control.view.now import TaskRow

#: The statuses of tasks that were begun.
BEGUN: tuple[Status, ...] = ("in_progress", "blocked", "pinned", "hooked")
#: How many tasks of a status are looked at, and how many blocked ones are named.
_LOOKED_AT, _NAMED = 200, 5


class BlockedTask(Struct, frozen=True, kw_only=True):
    """A task that waits for a person, or whose agent does."""

    id: str
    title: str
    #: How the task stands.
    state: TaskState = "stopped"
    #: The agent's question; empty if there is none.
    question: str = ""
    #: The command that changes how the task stands, and until when its agent waits for an answer.
    way_out: str = ""
    waits_until: datetime | None = None
    #: Why the task stands so; and why earlier attempts failed, where that is something else.
    why: str = ""
    before: tuple[str, ...] = ()


class BegunTasks(Struct, frozen=True, kw_only=True):
    """Tasks that are in progress, blocked or on the way to a branch."""

    #: The first ones that need a person, questions first; and how many need one.
    first: tuple[BlockedTask, ...] = ()
    needing: int = 0
    #: How many others there are of each state.
    states: Mapping[str, int] = {}


class HeldTasks(Struct, frozen=True, kw_only=True):
    """Open tasks that one gate holds for one reason."""

    ids: tuple[str, ...]
    #: The name of the gate, and its words.
    gate: str
    why: str
    #: The command that helps; empty: nothing has to be done, or the words have it.
    way_out: str = ""
    until: datetime | None = None
    #: Only a person can set the tasks going.
    person: bool = False


def begun_tasks(fleet: Control, now: datetime) -> BegunTasks:
    """Tasks that are in progress, blocked or on the way to a branch, by how they stand."""
    from fleet.control.view.read_now import rows_of  # where no task has begun, go without

    begun = Filter(statuses=BEGUN, limit=_LOOKED_AT)
    tasks = {task.id: task for task in fleet.queue.find(begun)}
    away = tuple(each for each in landing_json.unlanded(fleet.home) if each not in tasks)
    if away:
        tasks |= {task.id: task for task in fleet.queue.find(Filter(ids=away, include_closed=True))}
    known = rows_of(fleet, tuple(tasks.values()), now)[0] if tasks else {}
    rows = [row for each in tasks if (row := known[each]).group != "done"]
    needy = [row for row in rows if row.group == "needs_you"]
    others = [row for row in rows if row.group != "needs_you"]
    needy.sort(key=lambda row: not row.question)
    return BegunTasks(
        first=tuple(_needy(fleet, tasks[row.id], row) for row in needy[:_NAMED]),
        needing=len(needy),
        states=dict(Counter(row.state for row in others)),
    )


def _needy(fleet: Control, task: Task, row: "TaskRow") -> BlockedTask:
    from fleet.control.tasks.questions import question_of

    asked = question_of(fleet, task) if row.question else None
    return BlockedTask(
        id=task.id,
        title=task.title,
        state=row.state,
        question=row.question,
        way_out=row.way_on.line if row.way_on is not None else "",
        waits_until=asked.waits_until if asked is not None else None,
        why=first_line(row.reason),
        before=_earlier_reasons(fleet, task),
    )


def _earlier_reasons(fleet: Control, task: Task) -> tuple[str, ...]:
    """The other reasons of earlier attempts, where the last one left the task to a person."""
    if not isinstance(task.waits, OutOfAttempts):
        return ()
    run = latest_run(fleet.home.task(task.id))
    before = (read_ending(each) for each in attempts_before(run)) if run is not None else ()
    failed = [each.why for each in before if each is not None and each.counts]
    known = (task.waits.why, first_line(row_state(task).reason))
    return tuple(_first(why) for why in dict.fromkeys(failed) if why not in known)


def _first(text: str) -> str:
    return text.strip().partition("\n")[0].rstrip(":")


def states_beside(fleet: Control, asked: Collection[str]) -> Mapping[TaskState, int]:
    """How blocked tasks stand that need a person, without those that ask: the number for each."""
    from fleet.control.view.read_now import standings_of

    blocked = fleet.queue.find(Filter(statuses=("blocked",)))
    others = [task for task in blocked if task.id not in asked]
    known = standings_of(fleet, others, datetime.now().astimezone())
    return Counter(each.state for each in known.values() if each.group == "needs_you")


def held_tasks(fleet: Control, at: Conditions) -> tuple[HeldTasks, ...]:
    """Why open tasks do not start, each reason once; those that a person can end come first. What
    holds the whole home is not among them, and neither is what other tasks hold.
    """
    gates, all_held = GateReader(fleet, at), why_nothing_starts(at)
    found: dict[tuple[str, str], tuple[Wait, list[str]]] = {}
    for task in fleet.queue.find(Filter(ready=True, limit=_LOOKED_AT)):
        try:
            wait = gates.why_not(task, gates.place(task))
        except InvalidTask as error:
            wait = Wait(gate="invalid", reason=error.message, person=True)
        if wait is not None and wait != all_held and wait.gate != "type":
            found.setdefault((wait.gate, wait.reason), (wait, []))[1].append(task.id)
    groups = [
        HeldTasks(
            ids=tuple(ids),
            gate=wait.gate,
            why=wait.reason,
            way_out=wait.way_on.line if wait.way_on is not None else "",
            until=wait.until,
            person=wait.person,
        )
        for wait, ids in found.values()
    ]
    return tuple(sorted(groups, key=lambda each: not each.person))


def tasks_of_coders(fleet: Control, names: Sequence[str]) -> list[Task]:
    """The open tasks that were put off and would run with one of these coders."""
    found = fleet.queue.find(Filter(statuses=("open",)))
    return [task for task in found if task.not_before and _coder(fleet, task) in names]


def _coder(fleet: Control, task: Task) -> str:
    try:
        return fleet.place(task).coder
    except InvalidTask:
        return ""
