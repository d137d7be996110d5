"""The tasks of the queue that a surface shows, and what stands between them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from fleet.control import Control
from fleet.errors import FleetError
from fleet.queue.protocol import Filter
from fleet.schemas import BLOCKING, STATUSES, Status, Task

#: How many tasks of a status are shown; the counts have them all.
SHOWN = 500
#: The statuses that are shown, in their order, and whether their number is limited.
_GROUPS: Sequence[tuple[tuple[Status, ...], bool]] = (
    (("in_progress",), False),
    (("blocked", "pinned", "hooked"), True),
    (("open", "deferred"), True),
)


class QueueRead(Struct, frozen=True, kw_only=True):
    """The tasks that are shown, and what stands between them."""

    tasks: tuple[Task, ...] = ()
    counts: Mapping[str, int] = {}
    #: The unclosed tasks that each task waits for, and the task that each belongs to.
    blockers: Mapping[str, tuple[str, ...]] = {}
    parents: Mapping[str, str] = {}
    #: The status of each task that was read, also of those that are not shown.
    statuses: Mapping[str, str] = {}
    problem: str = ""
    hint: str = ""
    #: The unclosed tasks that belong to each task.
    parts: Mapping[str, tuple[str, ...]] = {}
    #: Of accepted work whose host was given up, and that no host has taken over: what to do.
    left: Mapping[str, str] = {}

    def unclosed_parts(self, task_id: str) -> tuple[tuple[str, str], ...]:
        """The open parts of a task, each with the part's status."""
        return tuple((part, self.statuses[part]) for part in self.parts.get(task_id, ()))


def read_queue(fleet: Control, since: datetime, shown: int = SHOWN) -> QueueRead:
    """The tasks that are shown. A queue that fails shows none, and says why."""
    try:
        if fleet.config.queue == "beads":
            tasks, done, counts = _in_one_call(fleet, since, shown)
        else:
            tasks, done, counts = _by_status(fleet, since, shown)
        done = sorted(done, key=lambda task: task.closed_at or task.updated_at, reverse=True)
        counts = {**counts, "closed": len(done)}
        return with_edges(fleet, (*tasks, *done[:shown]), counts)
    except FleetError as error:
        return QueueRead(problem=error.message, hint=error.hint)


_Selected = tuple[Sequence[Task], Sequence[Task], Mapping[str, int]]


def _by_status(fleet: Control, since: datetime, shown: int) -> _Selected:
    """The tasks that are not closed, those that were closed since, and how many there are."""
    queue = fleet.queue
    # By id: a task whose status changes between two of these reads is in both.
    tasks = {
        task.id: task
        for statuses, limit in _GROUPS
        for task in queue.find(Filter(statuses=statuses, limit=shown if limit else None))
    }
    done = queue.find(Filter(statuses=("closed",), closed_since=since))
    ended = {task.id for task in done}
    left = [task for task in tasks.values() if task.id not in ended]
    return left, done, queue.counts()


def _in_one_call(fleet: Control, since: datetime, shown: int) -> _Selected:
    """What `_by_status` finds, by one call: each call of bd is a process that takes long."""
    everything = fleet.queue.find(Filter(statuses=STATUSES))
    tasks: list[Task] = []
    for statuses, limit in _GROUPS:
        found = [task for task in everything if task.status in statuses]
        tasks += found[:shown] if limit else found
    done = [task for task in everything if task.closed_at is not None and task.closed_at >= since]
    counts = Counter(task.status for task in everything)
    return tasks, [task for task in done if task.status == "closed"], counts


def with_edges(fleet: Control, tasks: Sequence[Task], counts: Mapping[str, int]) -> QueueRead:
    """The tasks with what each waits for and belongs to."""
    unclosed = [task.id for task in tasks if task.status != "closed"]
    edges = fleet.queue.edges(unclosed) if unclosed else ()
    statuses: dict[str, str] = {task.id: task.status for task in tasks}
    ends = {edge.depends_on_id for edge in edges if edge.type in BLOCKING}
    strange = tuple(sorted(ends - statuses.keys()))
    if strange:
        found = fleet.queue.find(Filter(ids=strange, include_closed=True))
        statuses |= {task.id: task.status for task in found}
    blockers: dict[str, tuple[str, ...]] = {}
    parents: dict[str, str] = {}
    for edge in edges:
        if edge.type == "parent-child":
            parents[edge.task_id] = edge.depends_on_id
        elif edge.type in BLOCKING and statuses.get(edge.depends_on_id, "closed") != "closed":
            blockers[edge.task_id] = (*blockers.get(edge.task_id, ()), edge.depends_on_id)
    parts: dict[str, tuple[str, ...]] = {}
    for part, whole in parents.items():
        if statuses.get(part, "closed") != "closed":
            parts[whole] = (*parts.get(whole, ()), part)
    return QueueRead(
        tasks=tuple(tasks),
        counts=counts,
        blockers=blockers,
        parents=parents,
        statuses=statuses,
        parts=parts,
        left=_left(fleet, tasks),
    )


def _left(fleet: Control, tasks: Sequence[Task]) -> Mapping[str, str]:
    if not fleet.is_shared:
        return {}
    from fleet.control.hosts.left_work import left_work  # only a shared queue needs any of it

    return left_work(fleet, tasks)
