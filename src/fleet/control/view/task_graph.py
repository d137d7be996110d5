"""What a task waits for and what waits for it, two steps each way."""

from datetime import datetime

from msgspec import Struct

from fleet.control.view.now import TaskRow

#: How far from the task the graph reaches, and how many tasks it has at most.
STEPS, MOST_NODES = 2, 200


class GraphEdge(Struct, frozen=True, kw_only=True):
    """`task` waits for `waits_for`, or belongs to it, as `kind` says."""

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
