"""What stands around tasks: edges, counts, comments, blockers. A question about a thousand tasks
is one query, not a thousand.
"""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from fleet.queue.sql.database import SqlRow
from fleet.queue.sql.row_mapping import moment, task_of, to_micros
from fleet.queue.sql.sql_queue import SqlQueue
from fleet.schemas import Comment, Dependency, Task

#: Both engines take more values than this in one statement.
_BATCH = 5000


class Tally(Struct, frozen=True):
    """What `bd list` counts of a task: edges of type `blocks`, and comments."""

    dependencies: int = 0
    dependents: int = 0
    comments: int = 0


class Blocker(Struct, frozen=True):
    """Why a task waits: for which task, and by which kind of edge."""

    id: str
    type: str


def edges_from(queue: SqlQueue, ids: Sequence[str]) -> Mapping[str, list[Dependency]]:
    """What each of these tasks depends on."""
    found: dict[str, list[Dependency]] = {}
    for row in _for_each(queue, "edges_from", ids):
        found.setdefault(row[0], []).append(_edge(row))
    return found


def edges_to(queue: SqlQueue, ids: Sequence[str]) -> Mapping[str, list[Dependency]]:
    """What depends on each of these tasks."""
    found: dict[str, list[Dependency]] = {}
    for row in _for_each(queue, "edges_to", ids):
        found.setdefault(row[1], []).append(_edge(row))
    return found


def tallies(queue: SqlQueue, ids: Sequence[str]) -> Mapping[str, Tally]:
    return {row[0]: Tally(*row[1:]) for row in _for_each(queue, "tally", ids)}


def tasks_of(queue: SqlQueue, ids: Sequence[str]) -> Mapping[str, Task]:
    """The tasks of these ids; an id without a task is left out."""
    return {row[0]: task_of(row) for row in _for_each(queue, "tasks_of", ids)}


def comments_of(queue: SqlQueue, ids: Sequence[str]) -> Mapping[str, list[Comment]]:
    """What was said about each of these tasks, oldest first."""
    found: dict[str, list[Comment]] = {}
    for id_, task_id, author, text, at in _for_each(queue, "comments_of", ids):
        said = Comment(id=id_, task_id=task_id, author=author, text=text, created_at=moment(at))
        found.setdefault(task_id, []).append(said)
    return found


def freed_by(queue: SqlQueue, ids: Sequence[str]) -> list[Task]:
    """Tasks that waited for one of these, which are closed now, and wait for nothing more."""
    now = to_micros(queue.db.now())
    return [task_of(row) for row in _for_each(queue, "freed_by", ids, now=now)]


def blockers_of(queue: SqlQueue, task_id: str) -> list[Blocker]:
    """What one task waits for directly; not what the parents wait for."""
    rows = queue.rows("tracker.blocking_edges_of", {"id": task_id})
    return [Blocker(*row) for row in rows]


def open_children(queue: SqlQueue, task_id: str) -> int:
    rows = queue.rows("tracker.open_child_count", {"id": task_id})
    return int(rows[0][0])


def blocked(queue: SqlQueue) -> Mapping[str, list[Blocker]]:
    """Every task that waits, and for what: direct blockers, and a parent that waits."""
    found: dict[str, list[Blocker]] = {}
    for task_id, target, kind in queue.rows("tracker.blocking_edges"):
        found.setdefault(task_id, []).append(Blocker(target, kind))
    children: dict[str, list[str]] = {}
    for parent, child in queue.rows("tracker.open_children"):
        children.setdefault(parent, []).append(child)
    waiting = list(found)
    told: set[str] = set()
    while waiting:
        parent = waiting.pop()
        if parent in told:
            continue
        told.add(parent)
        for child in children.get(parent, ()):
            found.setdefault(child, []).append(Blocker(parent, "parent-child"))
            waiting.append(child)
    return found


def _for_each(queue: SqlQueue, name: str, ids: Sequence[str], **values: object) -> Iterator[SqlRow]:
    text = queue.text(f"tracker.{name}")
    for start in range(0, len(ids), _BATCH):
        batch = {f"id{n}": id_ for n, id_ in enumerate(ids[start : start + _BATCH])}
        named = text.replace("$", ", ".join(f":{name}" for name in batch))
        yield from queue.db.rows(named, {**batch, **values})


def _edge(row: SqlRow) -> Dependency:
    return Dependency(
        task_id=row[0],
        depends_on_id=row[1],
        type=row[2],
        created_at=moment(row[3]),
        created_by=row[4],
        metadata=row[5],
        thread_id=row[6],
    )
