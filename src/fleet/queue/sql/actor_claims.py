"""Claims of tasks by a person, or by an agent outside a run: an assignee without a lease."""

import re
from datetime import datetime

from msgspec import structs

from fleet.errors import Refused
from fleet.queue.sql.row_mapping import to_micros
from fleet.queue.sql.sql_queue import SqlQueue
from fleet.queue.sql.task_row import in_status, save, take
from fleet.queue.sql.tracker.search import Condition, Search, search
from fleet.schemas import Task

#: How many ready tasks `claim_next` looks at before it says that there is none: others may be
#: claiming the first ones right now.
_CANDIDATES = 50


def same_actor(one: str, other: str) -> bool:
    """Names that differ only in their separators are one actor, as for bd."""
    return re.sub(r"[._-]+", "-", one) == re.sub(r"[._-]+", "-", other)


def claimed(task: Task, actor: str, now: datetime) -> Task:
    """The task, claimed by this actor. An actor's claim of a task it has changes nothing."""
    if task.assignee and not same_actor(task.assignee, actor):
        raise Refused(f"issue already claimed by {task.assignee}")
    if task.status == "in_progress" and task.assignee:
        return task
    if task.status != "open":
        raise Refused(f"issue not claimable: status {task.status}")
    task = in_status(task, "in_progress", now)
    return structs.replace(
        task, assignee=actor, heartbeat_at=now, fence=task.fence + 1, updated_at=now
    )


def claim_next(queue: SqlQueue, want: Search, *, actor: str) -> Task | None:
    """Claim the first task of a search without an assignee for this actor; None: there is none."""
    unassigned = Condition("tasks.assignee = ''")
    free = structs.replace(want, where=(*want.where, unassigned), limit=_CANDIDATES)
    with queue.db.writing():
        for candidate in search(queue, free):
            task = take(queue, candidate.id)
            if task.status == "open" and not task.assignee:
                task = claimed(task, actor, queue.db.now())
                save(queue, task)
                return task
    return None


def wake(queue: SqlQueue) -> None:
    """Open tasks whose deferral has ended. Looks first: reading must not lock."""
    sql, now = queue.more("edit_task.sql"), {"now": to_micros(queue.db.now())}
    if queue.db.rows(sql["sleepers"], now):
        queue.db.rows(sql["wake"], now)
