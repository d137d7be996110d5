"""Claims that people and agents made with bd: keeping them alive, giving them up, taking back
those that were forgotten. A supervisor's lease is its own to renew; only force takes it away.
"""

from collections.abc import Callable
from datetime import timedelta

from fleet.errors import Refused
from fleet.queue.sql import SqlQueue, talk
from fleet.queue.sql.changes import hold
from fleet.queue.sql.rows import task_of, to_micros
from fleet.schemas import Task

_FILE = "claims.sql"

#: A claim counts as held for this long after its last sign of life.
CLAIM_TTL = timedelta(minutes=5)


def beat(queue: SqlQueue, task_id: str, actor: str) -> Task:
    """A sign of life from whoever holds the task."""
    with queue.db.writing():
        task = hold(queue, task_id)
        if task.status != "in_progress":
            raise Refused(f"issue not claimable: {task.id} status {task.status}")
        if task.assignee != actor:
            raise Refused(f"issue already claimed by {task.assignee or 'nobody'}")
        if task.lease_owner is None:  # a supervisor renews its own lease, and only that counts
            _write(queue, "beat", task_id)
        return queue.get(task_id)


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
        task = hold(queue, task_id)
        if not task.assignee:
            raise Refused(f"issue {task.id} is not assigned")
        if task.status == "closed":
            raise Refused(f"cannot unclaim closed issue {task.id}")
        if only_if is not None and task.assignee != only_if:
            raise Refused(
                f'assignee mismatch: {task.id} is held by "{task.assignee}", expected "{only_if}"'
            )
        if only_if is None and task.assignee != actor and not force:
            raise Refused(
                f"issue claimed by a different actor: {task.id} is held by {task.assignee};"
                " coordinate with the holder — pass --force only if their claim is abandoned"
                " (crashed agent, expired lease)"
            )
        if task.status not in ("open", "in_progress", "hooked"):
            raise Refused(f"failed to unclaim issue {task.id}: no matching row")
        _write(queue, "release", task_id)
        if reason:
            talk.comment(queue, task_id, author=actor, text=reason)
        return queue.get(task_id)


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
        ended = queue.db.now() - quiet_for
        sql = queue.more(_FILE)
        rows = queue.db.rows(sql["gone_quiet"], {"before": to_micros(ended - CLAIM_TTL)})
        if force:
            rows += queue.db.rows(sql["run_out"], {"before": to_micros(ended)})
        freed = [task for task in map(task_of, rows) if wanted(task) and _unchanged(queue, task)]
        for task in freed:
            _write(queue, "release", task.id)
        return freed


def _unchanged(queue: SqlQueue, task: Task) -> bool:
    """Did nobody give a sign of life since we looked?"""
    now = hold(queue, task.id)
    return (now.fence, now.heartbeat_at, now.lease_until, now.status) == (
        task.fence, task.heartbeat_at, task.lease_until, task.status,
    )  # fmt: skip


def _write(queue: SqlQueue, statement: str, task_id: str) -> None:
    values = {"id": task_id, "now": to_micros(queue.db.now())}
    queue.db.rows(queue.more(_FILE)[statement], values)
