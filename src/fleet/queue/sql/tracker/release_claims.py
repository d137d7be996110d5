"""Keeping a claim alive, giving it up, and taking back those that were forgotten.

A supervisor's lease is its own to renew; only its holder or force takes it away.
"""

from collections.abc import Callable
from datetime import datetime, timedelta

from msgspec import structs

from fleet.errors import Refused
from fleet.queue.sql.actor_claims import same_actor
from fleet.queue.sql.row_mapping import task_of, to_micros
from fleet.queue.sql.sql_queue import SqlQueue
from fleet.queue.sql.task_row import in_status, save, take
from fleet.queue.sql.tracker import comments
from fleet.schemas import CLAIM_LASTS, Task


def beat(queue: SqlQueue, task_id: str, actor: str) -> None:
    """A sign of life from whoever holds the task."""
    with queue.db.writing():
        task = take(queue, task_id)
        if task.status != "in_progress":
            raise Refused(f"issue not claimable: {task.id} status {task.status}")
        if not same_actor(task.assignee, actor):
            raise Refused(f"issue already claimed by {task.assignee or 'nobody'}")
        if task.lease_owner is None:  # a supervisor renews its own lease, and only that counts
            save(queue, structs.replace(task, heartbeat_at=queue.db.now()))


def release(
    queue: SqlQueue,
    task_id: str,
    *,
    actor: str,
    force: bool = False,
    only_if: str | None = None,
    reason: str = "",
) -> Task:
    """Back to the queue: by its holder, by force, or if it is still held by `only_if`."""
    with queue.db.writing():
        task = take(queue, task_id)
        _check(task, actor=actor, force=force, only_if=only_if)
        freed = _freed(task, queue.db.now())
        save(queue, freed)
        if reason:
            comments.comment(queue, task_id, author=actor, text=reason)
        return freed


def _check(task: Task, *, actor: str, force: bool, only_if: str | None) -> None:
    if not task.assignee:
        raise Refused(f"issue {task.id} is not assigned")
    if task.status == "closed":
        raise Refused(f"cannot unclaim closed issue {task.id}")
    if only_if is not None and task.assignee != only_if:
        raise Refused(
            f'assignee mismatch: {task.id} is held by "{task.assignee}", expected "{only_if}"'
        )
    if only_if is None and not force and not same_actor(task.assignee, actor):
        raise Refused(
            f"issue claimed by a different actor: {task.id} is held by {task.assignee};"
            " coordinate with the holder — pass --force only if their claim is abandoned"
            " (crashed agent, expired lease)"
        )
    if task.status not in ("open", "in_progress", "hooked"):
        raise Refused(f"failed to unclaim issue {task.id}: no matching row")


def _freed(task: Task, now: datetime) -> Task:
    task = in_status(task, "open", now)
    return structs.replace(task, assignee="", started_at=None, updated_at=now)


def reclaim(
    queue: SqlQueue,
    *,
    quiet_for: timedelta,
    wanted: Callable[[Task], bool],
    force: bool = False,
) -> list[Task]:
    """Free the claims that ended at least `quiet_for` ago; the answer is who held them.

    With force also the leases of supervisors that ran out and that nobody took over.
    """
    with queue.db.writing():
        now = queue.db.now()
        sql = queue.more("release_claims.sql")
        before = to_micros(now - quiet_for - CLAIM_LASTS)
        rows = queue.db.rows(sql["gone_quiet"], {"before": before})
        if force:
            rows += queue.db.rows(sql["run_out"], {"before": to_micros(now - quiet_for)})
        quiet = [task for task in map(task_of, rows) if wanted(task)]
        # Whoever gave a sign of life since we looked keeps the task.
        held = [task for task in quiet if take(queue, task.id) == task]
        for task in held:
            save(queue, _freed(task, now))
        return held
