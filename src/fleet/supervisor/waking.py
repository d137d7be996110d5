"""Tasks that were put off for a budget that has room again wait no more: it was raised, or the
clock was set.
"""

from collections.abc import Callable

from fleet.schemas import Task
from fleet.supervisor.desk import Desk
from fleet.supervisor.log import Log
from fleet.supervisor.meter import Meter


def wake(desk: Desk, meter: Meter, log: Log, then: Callable[[], None]) -> None:
    """Look for such tasks, and let them be claimed. Waking one too many does no harm: whoever
    starts it asks the budget again.
    """

    def each(tasks: list[Task]) -> None:
        if put_off := [task for task in tasks if meter.put_off(task)]:
            desk.wake(put_off, told)

    def told(count: int) -> None:
        log.say("budget_room", f"{count} tasks that waited for a budget wait no more")
        then()

    desk.waiting_tasks(each)
