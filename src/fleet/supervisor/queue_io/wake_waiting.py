"""Clears `not_before` of tasks that were put off, where there is room for them again: a budget was
raised, an account was added or opened, a chain was set, the clock was set, or a run ended.
"""

from collections.abc import Callable
from functools import partial

from fleet.home.journal import Log
from fleet.schemas import Task
from fleet.supervisor.queue_io.queue_requests import QueueRequests

#: So many waiting tasks are looked at when an account has room: the most urgent come first.
_LOOK_AT = 100


def wake_next(
    queue: QueueRequests,
    then: Callable[[], None],
    *,
    of_account: Callable[[Task], bool],
    none_waits: Callable[[], None],
) -> None:
    """A run ended on an account at `max_concurrent`: wake the first task that could use it."""

    def first(tasks: list[Task]) -> None:
        found = next(filter(of_account, tasks[:_LOOK_AT]), None)
        if found is None:
            none_waits()
        else:
            queue.wake([found], lambda _: then())

    queue.waiting_tasks(first)


def wake(
    queue: QueueRequests,
    log: Log,
    then: Callable[[], None],
    *,
    of_budget: Callable[[Task], bool],
    of_account: Callable[[Task], bool],
) -> None:
    """Wake all such tasks. One too many does no harm: its start asks for the same room again."""

    def each(tasks: list[Task]) -> None:
        paid = [task for task in tasks if of_budget(task)]
        seated = [task for task in tasks if task not in paid and of_account(task)]
        for woken, what in ((paid, "a budget"), (seated, "an account")):
            if woken:
                queue.wake(woken, partial(report, what))

    def report(what: str, count: int) -> None:
        some, wait = ("1 task", "waits") if count == 1 else (f"{count} tasks", "wait")
        action = f"{what.partition(' ')[2]}_room"
        log.say(action, f"{some} that waited for {what} {wait} no more")
        then()

    queue.waiting_tasks(each)
