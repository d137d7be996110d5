"""Small changes to one task: notes, assignee, priority, labels, putting it off and finishing it.

Each is one transaction of its own, or a part of the caller's.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

from fleet.errors import NotFound, Refused
from fleet.queue.sql import SqlQueue
from fleet.queue.sql.rows import task_of, to_micros
from fleet.schemas import Status, Task

_FILE = "changes.sql"


def hold(queue: SqlQueue, task_id: str) -> Task:
    """A task as it is now, which nobody else changes before the caller's transaction ends."""
    rows = queue.db.rows(queue.more(_FILE)["hold"], {"id": task_id})
    if not rows:
        raise NotFound(f'no issue found matching "{task_id}"')
    return task_of(rows[0])


def append_note(queue: SqlQueue, task_id: str, note: str) -> Task:
    _write(queue, "append_note", task_id, note=note, new_line="\n")
    return queue.get(task_id)


def assign(
    queue: SqlQueue, task_id: str, assignee: str, *, actor: str, force: bool = False
) -> Task:
    """Give a task to somebody. Another's work in progress is only taken away by force."""
    with queue.db.writing():
        task = hold(queue, task_id)
        working = task.status == "in_progress" and bool(task.assignee)
        if working and task.assignee not in (actor, assignee) and not force:
            raise Refused(
                f'cannot reassign {task.id}: held by "{task.assignee}" (in_progress); coordinate'
                f" with the holder (bd mail {task.assignee}) — pass --force only if their claim"
                " is abandoned (crashed agent, expired lease), or use bd reclaim"
            )
        handed_over = working and task.assignee != assignee
        _write(queue, "hand_over" if handed_over else "assign", task_id, assignee=assignee)
        return queue.get(task_id)


def set_priority(queue: SqlQueue, task_id: str, priority: int) -> Task:
    _write(queue, "set_priority", task_id, priority=priority)
    return queue.get(task_id)


def label(queue: SqlQueue, task_ids: Iterable[str], labels: Sequence[str]) -> None:
    """Put labels on tasks, all or none of them."""
    with queue.db.writing():
        for task_id in task_ids:
            for name in labels:
                queue.db.rows(queue.sql["insert_label"], {"id": task_id, "label": name})
            _write(queue, "touch", task_id)


def unlabel(queue: SqlQueue, task_ids: Iterable[str], labels: Sequence[str]) -> None:
    with queue.db.writing():
        for task_id in task_ids:
            for name in labels:
                values = {"id": task_id, "label": name}
                queue.db.rows(queue.more(_FILE)["delete_label"], values)
            _write(queue, "touch", task_id)


def label_counts(queue: SqlQueue) -> list[tuple[str, int]]:
    return [(row[0], int(row[1])) for row in queue.db.rows(queue.more(_FILE)["label_counts"])]


def put_off(
    queue: SqlQueue, task_id: str, *, until: datetime | None = None, reason: str = ""
) -> Task:
    """Nobody works on it until then, or, without a time, until somebody wakes it."""
    with queue.db.writing():
        _write(queue, "put_off", task_id)
        if until is not None:
            values = {"id": task_id, "until": to_micros(until)}
            queue.db.rows(queue.more(_FILE)["put_off_until"], values)
        return append_note(queue, task_id, reason) if reason else queue.get(task_id)


def wake(queue: SqlQueue, task_id: str) -> Task | None:
    """Open again what was put off; None if it was not."""
    with queue.db.writing():
        if hold(queue, task_id).status != "deferred":
            return None
        _write(queue, "wake", task_id)
        return queue.get(task_id)


def finish(queue: SqlQueue, task_id: str, reason: str) -> None:
    """Close a task without asking what holds it up; in the caller's transaction."""
    _write(queue, "finish", task_id, reason=reason)


def untouched(queue: SqlQueue, status: Status, before: datetime) -> list[Task]:
    """Tasks of one status that nothing has changed since then, the longest forgotten first."""
    values = {"status": status, "before": to_micros(before)}
    return [task_of(row) for row in queue.db.rows(queue.more(_FILE)["untouched"], values)]


def with_label(queue: SqlQueue, name: str) -> list[Task]:
    """Every task with a label, the most urgent and newest first."""
    rows = queue.db.rows(queue.more(_FILE)["with_label"], {"label": name})
    return [task_of(row) for row in rows]


def _write(queue: SqlQueue, statement: str, task_id: str, **values: object) -> None:
    now = to_micros(queue.db.now())
    queue.db.rows(queue.more(_FILE)[statement], {"id": task_id, "now": now, **values})
