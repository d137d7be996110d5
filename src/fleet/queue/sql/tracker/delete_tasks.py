"""Taking tasks out of the queue for good, with their edges and what other texts say of them."""

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct

from fleet.errors import Refused
from fleet.queue.sql.row_mapping import to_micros
from fleet.queue.sql.sql_queue import SqlQueue
from fleet.queue.sql.tracker.related import edges_to
from fleet.schemas import Edge, Task

_TEXTS = ("description", "design", "notes", "acceptance_criteria")


class Removal(Struct, frozen=True, kw_only=True):
    """What a deletion takes away, or would."""

    tasks: Sequence[Task]
    edges: Sequence[Edge]
    #: Tasks that stay and depended on one that goes.
    orphans: Sequence[str]
    #: Tasks at the other end of an edge that stay and speak of one that goes.
    mentions: Sequence[str]

    @property
    def labels(self) -> int:
        return sum(len(task.labels) for task in self.tasks)


def plan(queue: SqlQueue, ids: Sequence[str], *, cascade: bool, orphan: bool) -> Removal:
    """What would go. Without leave to cascade or to orphan, dependents forbid it."""
    going = _with_dependents(queue, ids) if cascade else list(dict.fromkeys(ids))
    edges = queue.edges(going)
    orphans = sorted({edge.task_id for edge in edges if edge.depends_on_id in going} - set(going))
    if orphans and not orphan:
        blocked = next(edge.depends_on_id for edge in edges if edge.task_id in orphans)
        raise Refused(
            f"issue {blocked} has dependents not in deletion set;"
            " use --cascade to delete them or --force to orphan them"
        )
    ends = {end for edge in edges for end in (edge.task_id, edge.depends_on_id)} - set(going)
    staying = [queue.get(end) for end in sorted(ends)]
    return Removal(
        tasks=[queue.get(task_id) for task_id in going],
        edges=edges,
        orphans=orphans,
        mentions=[task.id for task in staying if _without(task, going) is not None],
    )


def remove(queue: SqlQueue, ids: Sequence[str], *, cascade: bool, orphan: bool) -> Removal:
    """Delete for good, in one transaction."""
    with queue.db.writing():
        queue.rows("lock_graph")
        removal = plan(queue, ids, cascade=cascade, orphan=orphan)
        going = [task.id for task in removal.tasks]
        for task_id in removal.mentions:
            texts = _without(queue.get(task_id), going)
            assert texts is not None
            now = to_micros(queue.db.now())
            values = {**texts, "id": task_id, "now": now}
            queue.rows("tracker.set_texts", values)
        for task_id in going:
            queue.rows("tracker.delete_task", {"id": task_id})
        return removal


def _with_dependents(queue: SqlQueue, ids: Sequence[str]) -> list[str]:
    going = dict.fromkeys(ids)
    new = list(going)
    while new:
        edges = [edge for found in edges_to(queue, new).values() for edge in found]
        new = list(dict.fromkeys(edge.task_id for edge in edges if edge.task_id not in going))
        going.update(dict.fromkeys(new))
    return list(going)


def _without(task: Task, going: Iterable[str]) -> dict[str, str] | None:
    """A task's texts with `[deleted:ID]` for the ids that go; None: no text names one."""
    texts = {name: str(getattr(task, name)) for name in _TEXTS}
    after = dict(texts)
    for gone in going:
        whole = re.compile(rf"(?<![\w.-]){re.escape(gone)}(?![\w-]|\.\w)")
        after = {name: whole.sub(f"[deleted:{gone}]", text) for name, text in after.items()}
    return None if after == texts else after
