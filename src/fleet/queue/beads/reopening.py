"""Puts a task back to the queue: free and without a wait, open or blocked."""

from fleet.errors import NotFound, Refused
from fleet.queue.base import Queue
from fleet.queue.beads.claims import with_entry
from fleet.queue.beads.issues import task_of
from fleet.queue.beads.queue import BeadsQueue
from fleet.schemas import Blocked, Released, Task


def reopen(queue: Queue, task: Task, *, by: str, note: str = "", blocked: bool = False) -> Task:
    """The task as it is now. Refused if it was changed since it was read, or is being run."""
    assert isinstance(queue, BeadsQueue)
    with queue.lock.held():
        entry = queue.ledger.entry(task.id)
        issue = queue.tracker.show([task.id]).get(task.id)
        if issue is None:
            raise NotFound(f'no issue found matching "{task.id}"')
        if (issue.status, entry.fence) != (task.status, task.fence):
            raise Refused(
                f"{task.id} was changed meanwhile: it is {issue.status}",
                hint=f"Look at it again: fleet show {task.id}",
            )
        if entry.is_held(queue.ledger.now()):
            raise Refused(f"{task.id} is being worked on by {entry.owner}")
        if blocked or (issue.status, issue.assignee) != ("open", ""):
            end = Blocked(note=note) if blocked else Released(note=note)
            issue = queue.settlements.write(task.id, by, end)
        queue.ledger.end(entry)  # one that ran out and that nobody ended
        queue.ledger.no_wait(entry)
        entry = queue.ledger.entry(task.id)
    queue.bell.ring()
    return with_entry(task_of(issue), entry)
