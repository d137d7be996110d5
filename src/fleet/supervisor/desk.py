"""The supervisor's dealings with the queue: claims, leases, settlements, requests.

All through the clerk's thread. A failing queue pauses claiming and is asked again; settlements
are never dropped.
"""

import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import TypeVar

from fleet.errors import QueueError
from fleet.queue.base import Filter, LeaseLost, Queue
from fleet.schemas import Lease, Request, Settlement, Task
from fleet.supervisor.clerk import Clerk

LEASE = timedelta(minutes=10)
RENEW = 60.0
#: A failing queue is asked again after this long, doubled up to the longest.
SHORTEST_PAUSE, LONGEST_PAUSE = 0.25, 30.0

T = TypeVar("T")
Say = Callable[[str, str], None]


class Desk:
    """Asks, remembers what was asked, and asks again what failed."""

    def __init__(self, open_queue: Callable[[], Queue], owner: str, say: Say) -> None:
        self.clerk = Clerk(open_queue)
        self.owner = owner
        self._say = say
        #: What the queue said when it last failed; empty while it answers.
        self.problem = ""
        self._pause = SHORTEST_PAUSE
        self._again: list[Callable[[], None]] = []
        self._again_at = 0.0
        self.claiming = False
        self._renew_at = 0.0

    @property
    def busy(self) -> bool:
        """Something was asked and is not answered yet."""
        return self.clerk.waiting > 0 or bool(self._again)

    def claim(self, count: int, then: Callable[[list[Lease]], None]) -> None:
        self.claiming = True

        def got(leases: list[Lease]) -> None:
            self.claiming = False
            then(leases)

        self._ask(lambda queue: queue.claim(self.owner, count=count, ttl=LEASE), got)

    def leased(self, then: Callable[[list[Task]], None]) -> None:
        """The tasks that this home's supervisors hold: those of one that died, at start-up."""
        want = Filter(statuses=("in_progress",), leased_by=self.owner)
        self._ask(lambda queue: list(queue.find(want)), then)

    def waiting_tasks(self, then: Callable[[list[Task]], None]) -> None:
        """Open tasks that wait for a moment to come."""
        want = Filter(statuses=("open",))
        self._ask(lambda queue: [t for t in queue.find(want) if t.not_before], then)

    def settle(
        self, lease: Lease, settlement: Settlement, then: Callable[[Task | LeaseLost], None]
    ) -> None:
        self._ask(lambda queue: queue.settle(lease, settlement), then)

    def requests(self, then: Callable[[Request], None]) -> None:
        """Each wish of a person, once; it is answered when it was handed over."""

        def each(requests: list[Request]) -> None:
            for request in requests:
                then(request)
                self._ask(partial(_answered, request), _nothing)

        self._ask(lambda queue: queue.requests(), each)

    def renew_due(self) -> bool:
        """It is time to renew all leases; asked once a minute, answered True once."""
        if time.monotonic() < self._renew_at:
            return False
        self._renew_at = time.monotonic() + RENEW
        return True

    def renew(self, lease: Lease, then: Callable[[Lease | LeaseLost], None]) -> None:
        self._ask(lambda queue: queue.renew(lease, ttl=LEASE), then)

    def tend(self) -> None:
        """Ask again what failed, once its time has come."""
        if self._again and time.monotonic() >= self._again_at:
            again, self._again = self._again, []
            for ask in again:
                ask()

    @property
    def next_moment(self) -> float:
        """When `tend` or a renewal has something to do, on the monotonic clock."""
        return min(self._renew_at, self._again_at if self._again else self._renew_at)

    def _ask(self, what: Callable[[Queue], T], then: Callable[[T], None]) -> None:
        def heard(answer: T | QueueError) -> None:
            if isinstance(answer, QueueError):
                self._failed(answer)
                self._again.append(partial(self._ask, what, then))
            else:
                self._healed()
                then(answer)

        self.clerk.ask(what, heard)

    def _failed(self, error: QueueError) -> None:
        if not self.problem:
            self._say("queue_failed", f"the queue fails, claiming pauses: {error.message}")
        self.problem = error.message
        self._again_at = time.monotonic() + self._pause
        self._pause = min(self._pause * 2, LONGEST_PAUSE)

    def _healed(self) -> None:
        if self.problem:
            self._say("queue_healed", "the queue answers again")
        self.problem, self._pause = "", SHORTEST_PAUSE


def _answered(request: Request, queue: Queue) -> None:
    queue.answered(request)


def _nothing(_: None) -> None:
    pass
