"""What a task waits for and what waits for the task, two steps each way."""

from datetime import datetime

from msgspec import Struct

from fleet.control import Control
from fleet.control.view.now import TaskRow
from fleet.queue.protocol import Filter
from fleet.schemas import BLOCKING, Edge

#: How far from the task the graph reaches, and how many tasks it has at most.
STEPS, MOST_NODES = 2, 200


class GraphEdge(Struct, frozen=True, kw_only=True):
    """`task` waits for `waits_for`, or is a part of `waits_for`, as `kind` says."""

    task: str
    waits_for: str
    kind: str


class TaskGraph(Struct, frozen=True, kw_only=True):
    """The tasks around one task."""

    as_of: datetime
    center: str
    nodes: tuple[TaskRow, ...] = ()
    edges: tuple[GraphEdge, ...] = ()
    #: How many open tasks become ready once this task is closed.
    unblocks: int = 0
    #: Tasks that are left out, since there are too many.
    more: int = 0


def read_graph(fleet: Control, word: str, now: datetime) -> TaskGraph:
    """The tasks within two steps of one task, nearest first."""
    from fleet.control.view.task.whole_task import rows_of

    center = fleet.get(word).id
    near, edges, more = _near(fleet, center)
    tasks = tuple(fleet.queue.find(Filter(ids=tuple(near), include_closed=True)))
    rows, queue = rows_of(fleet, tasks, now)
    frees = [task for task, waits in queue.blockers.items() if waits == (center,)]
    return TaskGraph(
        as_of=now,
        center=center,
        nodes=tuple(rows[each] for each in near if each in rows),
        edges=tuple(
            GraphEdge(task=edge.task_id, waits_for=edge.depends_on_id, kind=edge.type)
            for edge in sorted(edges)
            if {edge.task_id, edge.depends_on_id} <= rows.keys()
        ),
        unblocks=len(frees),
        more=more,
    )


def _near(fleet: Control, center: str) -> tuple[list[str], set[Edge], int]:
    """The ids around a task, the edges among them, and how many are left out."""
    kinds = (*BLOCKING, "parent-child", "waits-for")
    near, front = [center], [center]
    edges: set[Edge] = set()
    more = 0
    for _ in range(STEPS):
        found = [edge for edge in fleet.queue.edges(front) if edge.type in kinds]
        edges.update(found)
        ends = sorted({end for edge in found for end in (edge.task_id, edge.depends_on_id)})
        front = [each for each in ends if each not in near]
        room = MOST_NODES - len(near)
        more += max(0, len(front) - room)
        front = front[:room]
        near += front
        if not front:
            break
    return near, edges, more
