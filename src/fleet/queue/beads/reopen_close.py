"""Puts a task back to the queue: free and without a wait, open or blocked. Or closes it."""

from fleet.errors import NotFound, Refused
from fleet.queue.beads.bd_cli.bd_issue import Issue, task_of
from fleet.queue.beads.claim_tasks import with_entry
from fleet.queue.beads.lease_ledger import Entry
from fleet.queue.beads.queue import BeadsQueue
from fleet.queue.protocol import Queue
from fleet.schemas import Blocked, Closed, Released, Task


def reopen(queue: Queue, task: Task, *, by: str, note: str = "", blocked: bool = False) -> Task:
    """The task as it is now. Refused if it was changed since it was read, or is being run."""
    assert isinstance(queue, BeadsQueue)
    with queue.lock.held():
        entry, issue = _unchanged(queue, task)
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


def close(queue: Queue, task: Task, *, by: str, reason: str) -> Task:
    """The task, closed. Refused if it was changed since it was read, or bd does not let us."""
    assert isinstance(queue, BeadsQueue)
    with queue.lock.held():
        entry, issue = _unchanged(queue, task)
        # bd lets nobody but its holder close a task.
        issue = queue.settlements.write(task.id, issue.assignee or by, Closed(reason=reason))
        queue.ledger.end(entry)
        entry = queue.ledger.entry(task.id)
    queue.bell.ring()
    return with_entry(task_of(issue), entry)


def _unchanged(queue: BeadsQueue, task: Task) -> tuple[Entry, Issue]:
    """What ledger and bd hold of a task, if that is what was read. The caller has the lock."""
    entry = queue.ledger.entry(task.id)
    issue = queue.tracker.show([task.id]).get(task.id)
    if issue is None:
        raise NotFound(f'no issue found matching "{task.id}"')
    if (issue.status, entry.fence) != (task.status, task.fence):
        raise Refused(
            f"{task.id} was changed meanwhile: it is {issue.status}",
            hint=f"Look at it again: fleet show {task.id}",
        )
    return entry, issue
