"""Which tasks could run now, by budgets and accounts, and waking the tasks that can run again: a
budget was raised, an account was added or opened, a chain was set, the clock was set, or a run
ended.
"""

from collections.abc import Callable
from functools import partial

from fleet import coders
from fleet.accounts.candidates import Place, place_of
from fleet.accounts.choose_account import Go, Wait
from fleet.coders.trusted_files import Untrusted
from fleet.errors import FleetError
from fleet.home.trusted_commands import untrusted
from fleet.runs.outcome_history import was_put_off
from fleet.schemas import Task
from fleet.supervisor.state import SupervisorState

#: How many waiting tasks are looked at when an account has room: the most urgent come first.
_LOOK_AT = 100


def waits_for_person(state: SupervisorState, task: Task) -> str:
    """What keeps the task from running, if only a person can change that; empty otherwise."""
    if untrusted(state.home, task):
        return "a verify command from elsewhere is not trusted: fleet trust"
    if state.meter.waits_for_budget(task):
        return "a budget is spent"
    place = _place(state, task)
    if place is None:
        return ""
    try:
        coders.find(place.coder, state.home.path)
    except Untrusted as error:
        return error.message
    except FleetError:
        return ""
    found = state.accounts.would_choose(state.config, place, task.id, state.now())
    return found.why if isinstance(found, Wait) and found.person else ""


def has_account_again(state: SupervisorState, task: Task) -> bool:
    """The task was put off for want of an account, and an account has room now."""
    if not was_put_off(state.home.task(task.id), task.not_before) or untrusted(state.home, task):
        return False
    place = _place(state, task)
    if place is None or state.meter.spent(place.cwd) is not None:
        return False
    return isinstance(state.accounts.would_choose(state.config, place, task.id, state.now()), Go)


def has_other_seat(state: SupervisorState, task: Task, account: str) -> bool:
    """The task may go on with another account, model or coder."""
    place = _place(state, task)
    return place is not None and state.accounts.has_other_seat(state.config, place, account)


def _place(state: SupervisorState, task: Task) -> Place | None:
    try:
        return place_of(state.home, state.config, task, coder=state.coder)
    except FleetError:
        return None


def wake_next(state: SupervisorState, then: Callable[[], None]) -> None:
    """A run ended on an account at `max_concurrent`: wake the first task that could use the
    account.
    """

    def first(tasks: list[Task]) -> None:
        could = (task for task in tasks[:_LOOK_AT] if has_account_again(state, task))
        task = next(could, None)
        if task is None:
            state.accounts.full_accounts.clear()
        else:
            state.queue.wake([task], lambda _: then())

    state.queue.waiting_tasks(first)


def wake_all(state: SupervisorState, then: Callable[[], None]) -> None:
    """Wake all tasks that were put off and have a budget or an account again. A task too many does
    no harm: its start asks for the same room again.
    """

    def each(tasks: list[Task]) -> None:
        paid = [task for task in tasks if state.meter.has_budget_again(task)]
        seated = [task for task in tasks if task not in paid and has_account_again(state, task)]
        for woken, what in ((paid, "budget"), (seated, "account")):
            if woken:
                state.queue.wake(woken, partial(report, what))

    def report(what: str, count: int) -> None:
        some, wait = ("1 task", "waits") if count == 1 else (f"{count} tasks", "wait")
        put_off = f"{'was' if count == 1 else 'were'} put off"
        words = f"waited for a budget {wait} no more" if what == "budget" else f"{put_off} can run"
        state.log.say(f"{what}_room", f"{some} that {words}")
        then()

    state.queue.waiting_tasks(each)
