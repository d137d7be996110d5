"""Puts a task back to any queue, unassigned and without a wait, and with a word on why: open, or
blocked for a person to look at.
"""

from fleet.queue.protocol import Queue
from fleet.schemas import Task


def reopen(queue: Queue, task: Task, *, by: str, note: str = "", blocked: bool = False) -> Task:
    """The task as it is now. Refused if it was changed since it was read, so that nobody's claim
    is undone.
    """
    from fleet.queue.sql import SqlQueue

    if not isinstance(queue, SqlQueue):
        from fleet.queue.beads.reopen_close import reopen as reopen_on_beads

        return reopen_on_beads(queue, task, by=by, note=note, blocked=blocked)
    from fleet.queue.sql.edit_task import Change, edit

    change = Change(
        status="blocked" if blocked else "open",
        assignee="",
        append_notes=note,
        fields={"not_before": None},
        if_status=task.status,
        if_fence=task.fence,
    )
    return edit(queue, task.id, change, actor=by).after
