"""The tasks that wait for a person: blocked ones, each with a question or a reason, and open ones
with the gate that holds them.

`fleet status` names the first of them; the whole list, as the page and `fleet top` show it, is the
group `needs_you` of `control/view/read_now.py`.
"""

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from fleet.control import Control
from fleet.control.landing.open_landings import LandingTask
from fleet.control.view.why_not_now import Conditions, GateReader, why_nothing_starts
from fleet.errors import InvalidTask
from fleet.queue.protocol import Filter
from fleet.runs.outcome_history import attempts_before, read_ending
from fleet.runs.questions import asked_json
from fleet.runs.run_directory import latest_run
from fleet.schemas import Task
from fleet.schemas.shown_text import first_line
from fleet.schemas.task_state import TaskState, Wait, row_state
from fleet.schemas.waits import OutOfAttempts

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
    #: The command that answers the question, and until when the agent waits for it unless parked.
    way_out: str = ""
    waits_until: datetime | None = None
    #: Why the task is blocked; and why earlier attempts failed, where that is something else.
    why: str = ""
    before: tuple[str, ...] = ()


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


def blocked_tasks(fleet: Control, landing: Sequence[LandingTask] = ()) -> tuple[BlockedTask, ...]:
    """The first blocked tasks, without tasks on their way to a branch, and those that run and ask a
    person; tasks with a question come first.
    """
    away = {each.id for each in landing}
    limit = _LOOKED_AT + len(away)
    tasks = fleet.queue.find(Filter(statuses=("blocked",), limit=limit))
    found = [_blocked_task(fleet, task) for task in tasks if task.id not in away]
    running = fleet.queue.find(Filter(statuses=("in_progress",), limit=_LOOKED_AT))
    found += [_blocked_task(fleet, each) for each in running if _asks(fleet, each)]
    found.sort(key=lambda each: not each.question)
    return tuple(found[:_NAMED])


def _asks(fleet: Control, task: Task) -> bool:
    return asked_json.open_question(fleet.home.task(task.id)) is not None


def _blocked_task(fleet: Control, task: Task) -> BlockedTask:
    from fleet.control.tasks.questions import question_of  # where no task is blocked, go without

    asked = question_of(fleet, task)
    standing = row_state(task)
    why, *before = block_reasons(fleet, task)
    return BlockedTask(
        id=task.id,
        title=task.title,
        state="asks" if asked and not asked.plan else standing.state,
        question=(asked.note or asked.question) if asked else "",
        way_out=asked.way_out if asked else "",
        waits_until=asked.waits_until if asked else None,
        why=why,
        before=tuple(before),
    )


def block_reasons(fleet: Control, task: Task) -> list[str]:
    """Why a task is blocked, and the other reasons of the attempts before, latest first."""
    own = first_line(row_state(task).reason)
    if not isinstance(task.waits, OutOfAttempts):
        return [own]
    run = latest_run(fleet.home.task(task.id))
    before = (read_ending(each) for each in attempts_before(run)) if run is not None else ()
    failed = [each.why for each in before if each is not None and each.counts]
    known = (task.waits.why, own)
    return [own, *(_first(why) for why in dict.fromkeys(failed) if why not in known)]


def _first(text: str) -> str:
    return text.strip().partition("\n")[0].rstrip(":")


def held_tasks(fleet: Control, at: Conditions) -> tuple[HeldTasks, ...]:
    """Why open tasks do not start, each reason once; those that a person can end come first. What
    holds the whole home is not among them, and neither is what other tasks hold.
    """
    gates, all_held = GateReader(fleet, at), why_nothing_starts(at)
    found: dict[tuple[str, str], tuple[Wait, list[str]]] = {}
    for task in fleet.queue.find(Filter(ready=True, limit=_LOOKED_AT)):
        try:
            wait = gates.why_not(task, fleet.place(task))
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
