"""Opens tasks again. Those that were put off and can run now: a budget was raised, an account was
added or opened, a chain was set, the clock was set, a run ended, or code came. And those that stand
as blocked or closed and must not: their question was answered meanwhile, or they were closed past
fleet.
"""

from collections.abc import Callable
from pathlib import Path

from fleet.errors import NotFound, Refused
from fleet.home import base_wait
from fleet.queue.protocol import Filter, Queue
from fleet.runs import closed_by_hand
from fleet.runs.outcome_history import believed_ending, was_put_off
from fleet.runs.run_directory import began_at, latest_run
from fleet.schemas import Blocked, Lease, Task
from fleet.schemas.task_state import Wait
from fleet.schemas.waits import PAST_FLEET, Asks, ClosedPastFleet, words
from fleet.settlement.end_run import is_answered
from fleet.spending.budget_gates import BudgetWait
from fleet.spending.budgets import begins_a_day
from fleet.supervisor.start.ask_gates import holds_all, why_waits
from fleet.supervisor.state import QueueChanged, SupervisorState

#: How many waiting tasks are looked at when an account has room: the most urgent come first.
_LOOK_AT = 100


def waiting_tasks(state: SupervisorState, then: Callable[[list[Task]], None]) -> None:
    """Open tasks that wait for a moment to come, picked out beside the loop: a queue may hold
    many others.
    """
    want = Filter(statuses=("open",))
    state.queue.call(lambda queue: [t for t in queue.find(want) if t.not_before], then)


def wake_next(state: SupervisorState) -> None:
    """A run ended on an account at `max_concurrent`: wake the first task that could use the
    account.
    """

    def first(tasks: list[Task]) -> None:
        of_all = holds_all(state)
        looked_at = (task for task in tasks[:_LOOK_AT] if _was_put_off(state, task))
        free = (task for task in looked_at if _has_room(why_waits(state, task), of_all))
        task = next(free, None)
        if task is None:
            state.accounts.full_accounts.clear()
        else:
            wake(state, [task])

    waiting_tasks(state, first)


def wake_all(state: SupervisorState) -> None:
    """Wake all tasks that were put off and have a budget or an account again. A task too many
    does no harm: its start asks for the same room again.
    """

    def each(tasks: list[Task]) -> None:
        paid, seated, of_all = list[Task](), list[Task](), holds_all(state)
        for task in (task for task in tasks if _was_put_off(state, task)):
            held = why_waits(state, task)
            if task.not_before and begins_a_day(task.not_before):  # it was a budget that was spent
                paid += [] if isinstance(held, BudgetWait) else [task]
            elif _has_room(held, of_all):
                seated.append(task)
        wake(state, paid, "budget")
        wake(state, seated, "account")

    waiting_tasks(state, each)


def _has_room(held: Wait | None, of_all: Wait | None) -> bool:
    """Whether nothing but what holds all tasks is in a task's way. A claim asks about that again,
    and its end wakes no task.
    """
    return held is None or (of_all is not None and held.gate == of_all.gate)


def wake_for_base(state: SupervisorState) -> None:
    """Wake the tasks that wait for their base, which may be another one, or have other commands."""

    def each(tasks: list[Task]) -> None:
        wake(state, [task for task in tasks if base_wait.waits(state.home, task.id) is not None])

    waiting_tasks(state, each)


def wake(state: SupervisorState, tasks: list[Task], what: str = "") -> None:
    """Clear `not_before` of tasks; where there is room again for `what`, the log says so."""

    def woken(queue: Queue) -> int:
        return sum(_reopened(queue, task, state.queue.owner) for task in tasks)

    def say(count: int) -> None:
        if what:
            state.log.say(f"{what}_room", _words(what, count))
        state.events.append(QueueChanged())

    if tasks:
        state.queue.call(woken, say)


def _words(what: str, count: int) -> str:
    some, wait = ("1 task", "waits") if count == 1 else (f"{count} tasks", "wait")
    put_off = f"{'was' if count == 1 else 'were'} put off"
    words = f"waited for a budget {wait} no more" if what == "budget" else f"{put_off} can run"
    return f"{some} that {words}"


def _reopened(queue: Queue, task: Task, owner: str) -> bool:
    try:
        queue.reopen_task(task, by=owner)
    except (NotFound, Refused):
        return False  # the task was claimed meanwhile, or is gone
    return True


def _was_put_off(state: SupervisorState, task: Task) -> bool:
    return was_put_off(state.home.task(task.id), task.not_before)


def go_on_if_answered(state: SupervisorState, task: Task, task_dir: Path | None) -> None:
    """Open a blocked task again whose question was answered while the run was being settled.

    The person's process writes the answer and then looks at the task; this one blocks the task and
    then looks for an answer. So at least one of the two processes sees the answer and the blocked
    task.
    """
    run = latest_run(task_dir) if task_dir is not None else None
    ending = believed_ending(run) if run is not None and is_answered(run) else None
    if ending is None or not isinstance(ending.settlement, Blocked):
        return

    def reopen(queue: Queue) -> Task | None:
        try:
            now = queue.get(task.id)
            if now.fence != task.fence or not isinstance(now.waits, Asks):
                return None
            return queue.reopen_task(now, by=state.queue.owner, note="ANSWERED")
        except (NotFound, Refused):
            return None

    def reopened(done: Task | None) -> None:
        if done is not None:
            state.log.say("reopened", f"{done.id}: goes on with its answer", task_dir=task_dir)
            state.events.append(QueueChanged())

    state.queue.call(reopen, reopened, owed=True)


def undo_close(state: SupervisorState, lease: Lease, task_dir: Path) -> None:
    """Open a task again that was closed past fleet while the task's run lived under this lease: the
    tracker says that it is closed, and the evidence does not.
    """
    run = latest_run(task_dir)
    began = began_at(run) if run is not None else None
    if began is None:
        return

    def reopen(queue: Queue) -> Task | None:
        try:
            task = queue.get(lease.task.id)
            if task.status != "closed" or task.fence != lease.fence:
                return None
            if closed_by_hand.noted(task_dir, began):
                return None
            # Once: an agent that closes the task again would go on for ever.
            again = closed_by_hand.was_undone(task_dir)
            closed_by_hand.note_undone(task_dir)
            waits = ClosedPastFleet() if again else None
            note = words(ClosedPastFleet(), task.id)
            return queue.reopen_task(task, by=state.queue.owner, note=note, waits=waits)
        except (NotFound, Refused):
            return None

    def reopened(task: Task | None) -> None:
        if task is not None:
            text = f"{task.id}: opened again ({task.status}): {PAST_FLEET}"
            state.log.say("reopened", text, task_dir=task_dir, task=task.id)

    state.queue.call(reopen, reopened, owed=True)
