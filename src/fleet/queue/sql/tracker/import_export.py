"""Tasks from and to another tracker, with all that belongs to them.

What comes in is one transaction: all of it, or, if one row is wrong, nothing. A row replaces
the task of its id only if it is newer; labels, comments and edges are added, never taken away.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from msgspec import Struct, field, structs

from fleet.queue.protocol import Draft
from fleet.queue.sql import dependencies
from fleet.queue.sql.edit_task import save
from fleet.queue.sql.ids import free_id
from fleet.queue.sql.row_mapping import task_of, to_micros
from fleet.queue.sql.sql_queue import SqlQueue
from fleet.queue.sql.tracker import comments as talk
from fleet.queue.sql.tracker.related import tasks_of
from fleet.schemas import CLAIM_LASTS, Comment, Dependency, Task
from fleet.schemas.noted_waits import waits_in_notes

_CHILD = re.compile(r"(.+)\.(\d{1,9})")
_BATCH = 500

#: Fields that a newer row does not change: where the task came from, and how it is run here.
_KEPT = ("created_at", "created_by", "owner", "fence", "not_before", "labels")


class Memory(Struct, frozen=True, kw_only=True):
    key: str = ""
    value: str = ""


class Incoming(Struct, frozen=True, kw_only=True):
    """A task from another tracker. An empty id asks for a new one."""

    task: Task
    edges: Sequence[Dependency] = ()
    comments: Sequence[Comment] = ()


class Report(Struct, kw_only=True):
    """What came in, and what did not and why. Grows while it happens."""

    ids: list[str] = field(default_factory=list[str])
    new: int = 0
    #: Ids, and in words what changed.
    updated: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    #: Ids of lines that are older than the task here, which stays.
    stale: list[str] = field(default_factory=list[str])
    #: Ids of lines that differ and are of the same second as the task here, which stays.
    ties: list[str] = field(default_factory=list[str])
    #: Ids of tasks that a supervisor works on right now, which stay.
    running: list[str] = field(default_factory=list[str])
    #: Templates and wisps: not work, and here they would be taken for it.
    left_out: list[str] = field(default_factory=list[str])
    duplicates: int = 0
    memories: int = 0
    skipped_edges: list[str] = field(default_factory=list[str])


def bring_in(
    queue: SqlQueue,
    rows: Iterable[Incoming | Memory],
    *,
    allow_stale: bool = False,
    dedup: bool = False,
    rehearse: bool = False,
) -> Report:
    """Take all the rows in, or none; a rehearsal only tells what would happen."""
    arrival = _Arrival(queue, allow_stale=allow_stale, dedup=dedup)
    with queue.writing(undo=rehearse):
        for row in rows:
            arrival.take(row)
        arrival.connect()
    return arrival.report


class _Arrival:
    """One import under way."""

    def __init__(self, queue: SqlQueue, *, allow_stale: bool, dedup: bool) -> None:
        self.queue = queue
        self.report = Report()
        self._allow_stale = allow_stale
        self._titles = self._known_titles() if dedup else None
        self._edges: list[Dependency] = []
        self._children: dict[str, int] = {}

    def _known_titles(self) -> set[str]:
        return {row[0].casefold() for row in self.queue.rows("tracker.open_titles")}

    def take(self, row: Incoming | Memory) -> None:
        if isinstance(row, Memory):
            talk.remember(self.queue, row.key, row.value)
            self.report.memories += 1
            return
        if self._titles is not None and row.task.title.casefold() in self._titles:
            self.report.duplicates += 1
            return
        if row.task.extra.get("is_template") or row.task.extra.get("ephemeral"):
            self.report.left_out.append(row.task.id or row.task.title)
            return
        task = row.task if row.task.id else self._named(row.task)
        if self._store(task):
            self.report.ids.append(task.id)
            self._attach(task, row)

    def _named(self, task: Task) -> Task:
        draft = Draft(title=task.title, description=task.description, created_by=task.created_by)
        return structs.replace(task, id=free_id(self.queue, draft, self.queue.db.now()))

    def _store(self, task: Task) -> bool:
        """Write the task's own fields if they are to be written. False: it is not wanted."""
        found = self.queue.rows("get", {"id": task.id})
        if not found:
            self.report.new += 1
            self.queue.insert(_with_waits(task))
            return True
        return self._replace(task_of(found[0]), task)

    def _replace(self, local: Task, task: Task) -> bool:
        age = _second(local) - _second(task)
        if age > 0 and not self._allow_stale:
            self.report.stale.append(task.id)
            return False
        after = structs.replace(task, **{name: getattr(local, name) for name in _KEPT})
        if local.status == after.status:
            after = structs.replace(after, waits=local.waits)
        else:
            after = _with_waits(after)
        if after.status == "in_progress" and _is_held(local, self.queue.db.now()):
            # The holder's own signs of life count, not those that a snapshot tells of.
            after = structs.replace(after, heartbeat_at=local.heartbeat_at)
        changes = _changes(local, after)
        if local.lease_owner is not None:
            self.report.running.append(task.id)
        elif age == 0 and not self._allow_stale:
            if changes:
                self.report.ties.append(task.id)
        else:
            save(self.queue, after)
            self.report.updated.append((task.id, changes))
        return True

    def _attach(self, task: Task, row: Incoming) -> None:
        for label in row.task.labels:
            self.queue.rows("insert_label", {"id": task.id, "label": label})
        for comment in row.comments:
            self._comment(task, comment)
        self._edges += [
            structs.replace(edge, task_id=edge.task_id or task.id) for edge in row.edges
        ]
        if child := _CHILD.fullmatch(task.id):
            parent, number = child[1], int(child[2])
            self._children[parent] = max(number, self._children.get(parent, 0))

    def _comment(self, task: Task, comment: Comment) -> None:
        """Add a comment; one without an id, or with an id that another task's comment has, is named
        by the content.
        """
        content = f"{task.id}|{comment.author}|{comment.created_at.isoformat()}|{comment.text}"
        name = comment.id or str(uuid5(NAMESPACE_OID, content))
        owner = self.queue.rows("tracker.comment_owner", {"id": name})
        if owner and owner[0][0] != task.id:
            name = str(uuid5(NAMESPACE_OID, content))
        talk.comment(
            self.queue,
            task.id,
            author=comment.author,
            text=comment.text,
            id=name,
            at=comment.created_at,
        )

    def connect(self) -> None:
        """Add the edges now that all their ends are here; those that cannot be are reported."""
        self.queue.rows("lock_graph")
        added: list[Dependency] = []
        for edge in self._edges:
            why = self._refusal(edge)
            if why:
                self._skip(edge, why)
            elif dependencies.insert(self.queue, edge):
                added.append(edge)
        self._open_circles(added)
        for parent, number in self._children.items():
            self.queue.rows("tracker.count_child", {"id": parent, "number": number})

    def _refusal(self, edge: Dependency) -> str:
        if edge.task_id == edge.depends_on_id:
            return f"cannot add self-dependency: {edge.task_id} cannot depend on itself"
        if not self.queue.exists(edge.depends_on_id):
            return "target not found"
        return "" if self.queue.exists(edge.task_id) else "source not found"

    def _open_circles(self, added: Sequence[Dependency]) -> None:
        """Take back the last edge of each circle that the new edges closed. To look once at the
        whole is quicker than to look at each edge as it comes.
        """
        place = {(edge.task_id, edge.depends_on_id): n for n, edge in enumerate(added)}
        while place:
            circles = [zip(c, [*c[1:], c[0]], strict=True) for c in dependencies.cycles(self.queue)]
            ours = [[place[pair] for pair in circle if pair in place] for circle in circles]
            last = [added[max(numbers)] for numbers in ours if numbers]
            if not last:
                return  # there is none, or it was here before
            for edge in last:
                del place[edge.task_id, edge.depends_on_id]
                dependencies.undepend(self.queue, edge.task_id, edge.depends_on_id)
                self._skip(edge, "adding dependency would create a cycle")

    def _skip(self, edge: Dependency, why: str) -> None:
        self.report.skipped_edges.append(f"{edge.task_id} -> {edge.depends_on_id}: {why}")


def _with_waits(task: Task) -> Task:
    """The task with the reason to wait: another tracker has that in the notes alone."""
    blocked = task.status == "blocked"
    return structs.replace(task, waits=waits_in_notes(task.notes) if blocked else None)


def _is_held(task: Task, now: datetime) -> bool:
    """A person's claim of the task has not ended."""
    seen = task.heartbeat_at
    return task.status == "in_progress" and seen is not None and seen + CLAIM_LASTS > now


def _second(task: Task) -> int:
    """Other trackers keep whole seconds."""
    return (to_micros(task.updated_at) or 0) // 1_000_000


def _changes(before: Task, after: Task) -> str:
    """What is different, for people."""
    parts: list[str] = []
    if before.status != after.status:
        parts.append(f"status {before.status} → {after.status}")
    for name in before.__struct_fields__:
        same = _plain(getattr(before, name)) == _plain(getattr(after, name))
        if not same and name not in (*_KEPT, "status", "updated_at", "heartbeat_at", "waits"):
            parts.append(name)
    return ", ".join(parts)


def _plain(value: Any) -> Any:
    return value.replace(microsecond=0) if hasattr(value, "microsecond") else value


def all_tasks(queue: SqlQueue) -> Iterator[list[Task]]:
    """Every task, the most urgent and newest first, some hundreds at a time."""
    ids = [row[0] for row in queue.rows("tracker.all_ids")]
    for start in range(0, len(ids), _BATCH):
        batch = ids[start : start + _BATCH]
        tasks = tasks_of(queue, batch)
        yield [tasks[task_id] for task_id in batch if task_id in tasks]
