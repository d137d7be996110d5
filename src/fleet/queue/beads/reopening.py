"""A person puts a task back into the queue: open, unassigned, and without a wait."""

from fleet.errors import QueueUnavailable, Refused
from fleet.queue.beads.queue import BeadsQueue
from fleet.queue.doorbell import Doorbell
from fleet.queue.embedded import BELL
from fleet.schemas import Task


def reopen(queue: BeadsQueue, task: Task, *, by: str) -> Task:
    """Refused if the task changed since it was read, so that nobody's claim is undone."""
    with queue.lock.held():
        now = queue.get(task.id)
        if (now.status, now.fence) != (task.status, task.fence):
            raise Refused(
                f"{task.id} changed meanwhile: it is {now.status}",
                hint=f"Look at it again: fleet show {task.id}",
            )
        if (now.status, now.assignee) != ("open", ""):
            queue.tracker.put(task.id, by, "open", "")
        queue.ledger.wake(task.id)
        done = queue.get(task.id)
        if (done.status, done.assignee) != ("open", ""):
            raise QueueUnavailable(
                f"bd confirmed that {task.id} is open, and does not show it", hint="Try again."
            )
    Doorbell(queue.tracker.client.home / BELL).ring()
    return done
