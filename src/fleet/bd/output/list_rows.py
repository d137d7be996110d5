"""Tasks as the rows of a list, with what stands around them; a few queries for all of them."""

from collections.abc import Mapping, Sequence

from fleet.bd.output.json_shapes import Shape, parent_of, with_counts
from fleet.bd.output.lines import flat
from fleet.queue.sql.sql_queue import SqlQueue
from fleet.queue.sql.tracker.related import Tally, edges_from, edges_to, tallies, tasks_of
from fleet.schemas import Dependency, Task


def counted(queue: SqlQueue, tasks: Sequence[Task], *, edges: bool = True) -> list[Shape]:
    """Rows with their counts, and with their raw edges where bd shows them."""
    ids = [task.id for task in tasks]
    below = edges_from(queue, ids if edges else ())
    counts = tallies(queue, ids)
    return [
        with_counts(task, below.get(task.id, ()), counts.get(task.id, Tally())) for task in tasks
    ]


def parents(queue: SqlQueue, tasks: Sequence[Task]) -> Mapping[str, str]:
    """The parent of each task that has one."""
    edges = edges_from(queue, [task.id for task in tasks])
    return {task_id: parent for task_id, of in edges.items() if (parent := parent_of(of))}


def flat_lines(queue: SqlQueue, tasks: Sequence[Task]) -> list[str]:
    """A line each, with its parent and what it waits for and keeps waiting."""
    ids = [task.id for task in tasks]
    below, above = edges_from(queue, ids), edges_to(queue, ids)
    others = {edge.depends_on_id for edges in below.values() for edge in edges}
    others |= {edge.task_id for edges in above.values() for edge in edges}
    near = tasks_of(queue, sorted(others))
    return [_line(task, below.get(task.id, ()), above.get(task.id, ()), near) for task in tasks]


def _line(
    task: Task,
    below: Sequence[Dependency],
    above: Sequence[Dependency],
    near: Mapping[str, Task],
) -> str:
    if task.status == "closed":
        return flat(task, (), waits=False)

    def alive(task_id: str) -> bool:
        return task_id in near and near[task_id].status not in ("closed", "pinned")

    blockers = [e.depends_on_id for e in below if e.type == "blocks" and alive(e.depends_on_id)]
    blocked = [e.task_id for e in above if e.type == "blocks" and alive(e.task_id)]
    parent = parent_of(below)
    notes = [f"parent: {parent}"] if parent else []
    notes += [f"blocked by: {', '.join(blockers)}"] if blockers else []
    notes += [f"blocks: {', '.join(blocked)}"] if blocked else []
    return flat(task, notes, waits=bool(blockers) and task.status == "open")
