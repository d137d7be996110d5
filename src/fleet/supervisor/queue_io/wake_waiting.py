"""Tasks that were put off wait no more where there is room again: a budget was raised, an account
was added or opened, a chain was set, or the clock was.
"""

from collections.abc import Callable
from functools import partial

from fleet.home.journal import Log
from fleet.schemas import Task
from fleet.supervisor.queue_io.queue_requests import Desk

#: So many of those who wait are looked at when a seat is free: the best stand first.
_LOOK_AT = 100


def wake_next(
    desk: Desk,
    then: Callable[[], None],
    *,
    of_account: Callable[[Task], bool],
    nobody: Callable[[], None],
) -> None:
    """An agent has left an account that was full: let the best of those who wait be claimed."""

    def first(tasks: list[Task]) -> None:
        found = next(filter(of_account, tasks[:_LOOK_AT]), None)
        if found is None:
            nobody()
        else:
            desk.wake([found], lambda _: then())

    desk.waiting_tasks(first)


def wake(
    desk: Desk,
    log: Log,
    then: Callable[[], None],
    *,
    of_budget: Callable[[Task], bool],
    of_account: Callable[[Task], bool],
) -> None:
    """Look for such tasks, and let them be claimed. Waking one too many does no harm: whoever
    starts it asks again.
    """

    def each(tasks: list[Task]) -> None:
        paid = [task for task in tasks if of_budget(task)]
        seated = [task for task in tasks if task not in paid and of_account(task)]
        for woken, what in ((paid, "a budget"), (seated, "an account")):
            if woken:
                desk.wake(woken, partial(told, what))

    def told(what: str, count: int) -> None:
        some, wait = ("1 task", "waits") if count == 1 else (f"{count} tasks", "wait")
        action = f"{what.partition(' ')[2]}_room"
        log.say(action, f"{some} that waited for {what} {wait} no more")
        then()

    desk.waiting_tasks(each)
