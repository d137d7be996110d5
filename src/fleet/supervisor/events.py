"""What happened between two turns of the loop: parts of the supervisor post, the loop drains."""

from collections import deque
from collections.abc import Iterator
from datetime import datetime

from msgspec import Struct


class QueueChanged(Struct, frozen=True):
    """Another process may have changed the queue."""


class TaskSettled(Struct, frozen=True):
    """The queue knows what became of a task, so that there is a free slot."""

    task_id: str
    closed: bool = False
    #: When the task may be claimed again, if it was put off.
    not_before: datetime | None = None


class AccountFreed(Struct, frozen=True):
    """A run ended on an account that had as many agents as it may."""


class TasksWoken(Struct, frozen=True):
    """Tasks that waited for a moment may be claimed now."""


Happening = QueueChanged | TaskSettled | AccountFreed | TasksWoken


class Happenings:
    """Events that the loop has not handled yet, oldest first."""

    def __init__(self) -> None:
        self._posted: deque[Happening] = deque()

    def post(self, event: Happening) -> None:
        self._posted.append(event)

    def drain(self) -> Iterator[Happening]:
        """Each event once, also those that are posted meanwhile."""
        while self._posted:
            yield self._posted.popleft()
