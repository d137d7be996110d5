"""Which task waits for which: edges, trees, and the refusals that keep waiting out of circles."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from fleet.errors import NotFound, Refused
from fleet.queue.sql.row_mapping import task_of, to_micros
from fleet.schemas import BLOCKING, Dependency, Task

if TYPE_CHECKING:
    from fleet.queue.sql.sql_queue import SqlQueue

#: Which way to look from a task: at what it depends on, or at what depends on it.
Direction = Literal["down", "up"]


class Node(Struct, frozen=True, kw_only=True):
    """One task of a tree, and the edge that led there."""

    task: Task
    depth: int = 0
    parent_id: str = ""
    edge: str = ""


class Epic(Struct, frozen=True, kw_only=True):
    """An open epic and how far the children are."""

    task: Task
    children: int
    closed: int

    @property
    def eligible(self) -> bool:
        return self.children == self.closed


def depend(queue: "SqlQueue", edge: Dependency) -> bool:
    """Add one edge, in the caller's transaction. False: the same edge was there already."""
    for end in (edge.task_id, edge.depends_on_id):
        if not queue.exists(end):
            raise NotFound(f'no issue found matching "{end}"')
    queue.rows("lock_graph")
    _refuse_nonsense(edge)
    _refuse_own_family(queue, edge)
    ends = {"id": edge.task_id, "depends_on": edge.depends_on_id}
    if found := queue.rows("tracker.edge_type", ends):
        if found[0][0] == edge.type:
            return False
        raise Refused(
            f"dependency {edge.task_id} -> {edge.depends_on_id} already exists with type"
            f' "{found[0][0]}" (requested "{edge.type}");'
            " remove it first with 'bd dep remove' then re-add"
        )
    if edge.type in (*BLOCKING, "parent-child"):
        around = {"from": edge.depends_on_id, "to": edge.task_id}
        if queue.rows("tracker.reaches", around):
            raise Refused("adding dependency would create a cycle")
    return insert(queue, edge)


def insert(queue: "SqlQueue", edge: Dependency) -> bool:
    """Write one edge without a look at others. False: its two tasks have such an edge already."""
    values = {
        "id": edge.task_id,
        "depends_on": edge.depends_on_id,
        "type": edge.type,
        "now": to_micros(edge.created_at),
        "actor": edge.created_by,
        "metadata": edge.metadata,
        "thread_id": edge.thread_id,
    }
    return bool(queue.rows("tracker.insert_dependency", values))


def _refuse_nonsense(edge: Dependency) -> None:
    """What the two ids alone show to be wrong."""
    child, parent = edge.task_id, edge.depends_on_id
    if child == parent:
        raise Refused(f"cannot add self-dependency: {child} cannot depend on itself")
    if child.startswith(f"{parent}.") and edge.type != "parent-child":
        raise Refused(
            f"cannot add dependency: {child} is already a child of {parent}."
            " Children inherit dependency on parent completion via hierarchy."
            " Adding an explicit dependency would create a deadlock"
        )


def _refuse_own_family(queue: "SqlQueue", edge: Dependency) -> None:
    """Refuse an edge between a task and an ancestor: a parent closes after the children, and the
    children wait for what the parent waits for.
    """
    waiting, target = edge.task_id, edge.depends_on_id
    if edge.type not in BLOCKING:
        return
    if _descends(queue, waiting, target):
        raise Refused(
            f"{waiting} cannot be blocked by its ancestor {target}: {target} cannot close"
            " until its descendants finish, so the gate would never clear"
        )
    if _descends(queue, target, waiting):
        raise Refused(
            f"{waiting} cannot be blocked by its descendant {target}: blocked status cascades"
            f" to descendants, so {target} would inherit the block and never close"
        )


def _descends(queue: "SqlQueue", task_id: str, ancestor: str) -> bool:
    ends = {"id": task_id, "ancestor": ancestor}
    return bool(queue.rows("tracker.descends", ends))


def undepend(queue: "SqlQueue", task_id: str, target: str) -> bool:
    """Remove an edge. False: there was none."""
    ends = {"id": task_id, "depends_on": target}
    return bool(queue.rows("tracker.delete_dependency", ends))


def neighbours(queue: "SqlQueue", task_id: str, direction: Direction) -> list[tuple[Task, str]]:
    """The tasks at the other end of a task's edges, each with the edge's type."""
    name = "targets" if direction == "down" else "dependents"
    rows = queue.rows(f"tracker.{name}", {"id": task_id})
    return [(task_of(row), row[-1]) for row in rows]


def tree(queue: "SqlQueue", root: Task, direction: Direction, depth: int) -> Iterator[Node]:
    """The tasks that can be reached, depth first, each once, `depth` levels with the root."""
    seen: set[str] = set()
    stack = [Node(task=root)]
    while stack:
        node = stack.pop()
        if node.task.id in seen:
            continue
        seen.add(node.task.id)
        yield node
        if node.depth + 1 < depth:
            found = neighbours(queue, node.task.id, direction)
            stack += [
                Node(task=task, depth=node.depth + 1, parent_id=node.task.id, edge=edge)
                for task, edge in reversed(found)
            ]


def cycles(queue: "SqlQueue") -> list[list[str]]:
    """Circles of tasks, each of which waits for the next. The rules above keep this empty; a
    hand in the database might not.
    """
    from graphlib import CycleError, TopologicalSorter

    after: dict[str, set[str]] = {}
    for task_id, target in queue.rows("tracker.waiting_edges"):
        after.setdefault(task_id, set()).add(target)
    found: list[list[str]] = []
    while True:
        try:
            TopologicalSorter(after).prepare()
        except CycleError as error:
            members: list[str] = error.args[1][:0:-1]
            found.append(members)
            for member in members:
                del after[member]
        else:
            return found


def epics(queue: "SqlQueue") -> Sequence[Epic]:
    """Open epics with children, in queue order."""
    rows = queue.rows("tracker.epics")
    return [Epic(task=task_of(row), children=int(row[-2]), closed=int(row[-1])) for row in rows]
