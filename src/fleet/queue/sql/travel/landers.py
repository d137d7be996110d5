"""Which host lands on a branch of a repository that several hosts reach, and which one lands the
work of a host that is given up.

The right to a branch is bound to the connection: it ends with the process, or with the host. It
saves work; what keeps two landers apart that race all the same is the compare-and-swap on the
branch. The landing of a host that is given up is taken over once, by a row that one host writes.
"""

from msgspec import Struct

from fleet.queue.sql.sql_queue import SqlQueue
from fleet.schemas import Task


class TakenLanding(Struct, frozen=True, kw_only=True):
    """The landing of a task is another host's."""

    host: str
    #: The number of the run from which on the landing is not that host's, as another host ran the
    #: task since; None: the host took over the landing of every run so far.
    before: int | None = None


def try_to_land(queue: SqlQueue, target: str) -> bool:
    """Take the right to land on a target until the queue is closed; False: another host has that
    right.
    """
    rows = queue.rows("run_files.try_to_land", {"target": target})
    return bool(rows[0][0])


def left_landings(queue: SqlQueue, me: str) -> dict[str, str]:
    """Blocked tasks whose lander is lost or removed, each with that lander; and tasks that this
    host has taken over, with this host.
    """
    return {
        str(task_id): str(lander)
        for task_id, lander in queue.rows("run_files.left_landings", {"me": me})
    }


def taken_landings(queue: SqlQueue, me: str) -> dict[str, TakenLanding]:
    """Blocked tasks whose work another host lands by now."""
    rows = queue.rows("run_files.taken_landings", {"me": me})
    return {
        str(task_id): TakenLanding(host=str(host), before=None if run is None else int(run))
        for task_id, host, run in rows
    }


def take_over_landing(queue: SqlQueue, task: Task, *, lander: str, me: str) -> bool:
    """Take the landing of a task over from a lander that is given up; False: another host was
    first, the lander is back, or the task changed.
    """
    values = {"task_id": task.id, "fence": task.fence, "lander": lander, "me": me}
    return bool(queue.rows("run_files.take_over_landing", values))


def tell_landers(queue: SqlQueue) -> None:
    """Have the hosts look for work that a host has left."""
    queue.rows("run_files.tell_landers")
