"""Closes a task on any queue in a person's name, whatever lease is on it."""

from fleet.queue.protocol import Queue
from fleet.schemas import Task


def close(queue: Queue, task: Task, *, by: str, reason: str) -> Task:
    """The task as it is now. Refused if it was changed since it was read, or may not be closed."""
    from fleet.queue.sql import SqlQueue

    if not isinstance(queue, SqlQueue):
        from fleet.queue.beads.reopen_close import close as close_on_beads

        return close_on_beads(queue, task, by=by, reason=reason)
    from fleet.queue.sql.edit_task import Change, edit

    change = Change(
        status="closed",
        fields={"close_reason": reason},
        if_status=task.status,
        if_fence=task.fence,
    )
    return edit(queue, task.id, change, actor=by).after
