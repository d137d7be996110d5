"""A task and all that stands around it, for those who show it whole."""

from collections.abc import Sequence

from msgspec import Struct

from fleet.queue.sql.sql_queue import SqlQueue
from fleet.queue.sql.tracker.related import comments_of, edges_from, edges_to, tasks_of
from fleet.schemas import Comment, Dependency, Task

#: The tasks at the other end of a task's edges, each with the edge's type.
Neighbours = Sequence[tuple[Task, str]]


class Around(Struct, frozen=True, kw_only=True):
    task: Task
    edges: Sequence[Dependency]
    dependencies: Neighbours
    dependents: Neighbours
    comments: Sequence[Comment]


def around(queue: SqlQueue, tasks: Sequence[Task]) -> list[Around]:
    """Four queries, however many tasks there are."""
    ids = [task.id for task in tasks]
    below, above = edges_from(queue, ids), edges_to(queue, ids)
    said = comments_of(queue, ids)
    others = {edge.depends_on_id for edges in below.values() for edge in edges}
    others |= {edge.task_id for edges in above.values() for edge in edges}
    near = tasks_of(queue, sorted(others))
    return [
        Around(
            task=task,
            edges=below.get(task.id, ()),
            dependencies=[(near[e.depends_on_id], e.type) for e in below.get(task.id, ())],
            dependents=[(near[e.task_id], e.type) for e in above.get(task.id, ())],
            comments=said.get(task.id, ()),
        )
        for task in tasks
    ]
