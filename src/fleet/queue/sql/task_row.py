"""One task's own row: locked, changed in memory, and written back whole."""

from datetime import datetime

from msgspec import structs

from fleet.errors import NotFound
from fleet.queue.sql.row_mapping import task_of, to_columns
from fleet.queue.sql.sql_queue import SqlQueue
from fleet.schemas import Status, Task


def take(queue: SqlQueue, task_id: str) -> Task:
    """One task, held against other writers until the caller's transaction ends."""
    rows = queue.db.rows(queue.more("edit_task.sql")["take"], {"id": task_id})
    if not rows:
        raise NotFound(f'no issue found matching "{task_id}"')
    return task_of(rows[0])


def save(queue: SqlQueue, task: Task) -> None:
    """Write a task's own row; inside the caller's transaction, which took the row."""
    queue.db.rows(queue.more("edit_task.sql")["save"], to_columns(task))


def in_status(task: Task, status: Status, now: datetime) -> Task:
    """The task in another status, with the moments and the claim that go with that status."""
    if status == task.status:
        return task
    if task.status == "closed":
        extra = {name: value for name, value in task.extra.items() if name != "closed_by_session"}
        task = structs.replace(task, closed_at=None, close_reason="", extra=extra)
    started = task.started_at or now if status == "in_progress" else task.started_at
    return structs.replace(
        task,
        status=status,
        started_at=started,
        closed_at=now if status == "closed" else None,
        lease_owner=None,
        lease_until=None,
        heartbeat_at=None,
        not_before=None,
    )
