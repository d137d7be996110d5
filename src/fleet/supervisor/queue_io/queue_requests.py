"""The supervisor's dealings with the queue: claims, leases, settlements, requests.

All through the clerk's thread. What fails is asked again, each thing at its own pace, and nothing
is dropped: so a queue that fails pauses what needs it and no more, and heals by itself.
"""

import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar

from fleet.errors import BadInput, NotFound, QueueError, Refused
from fleet.queue.protocol import Filter, LeaseLost, Queue
from fleet.schemas import Lease, Request, Settlement, Task
from fleet.supervisor.queue_io.queue_thread import Clerk

LEASE = timedelta(minutes=10)
RENEW = 60.0
#: What failed is asked again after this long, doubled up to the longest.
SHORTEST_PAUSE, LONGEST_PAUSE = 0.25, 10.0

T = TypeVar("T")
Say = Callable[[str, str], None]


class Ask:
    """One thing that was asked of the queue."""

    def __init__(
        self, what: Callable[[Queue], Any], then: Callable[[Any], None], *, owed: bool
    ) -> None:
        self.what = what
        self.then = then
        #: A task waits for it; whatever else is asked can be left unanswered when all ends.
        self.owed = owed
        self.failures = 0
        #: When it is asked again, on the monotonic clock.
        self.due = 0.0


class Desk:
    """Asks, remembers what was asked, and asks again what failed."""

    def __init__(self, clerk: Clerk, owner: str, say: Say) -> None:
        self.clerk = clerk
        self.owner = owner
        self._say = say
        #: What failed, and what the queue said to it.
        self._failing: dict[Ask, str] = {}
        self.claiming = False
        self._renew_at = 0.0
        self._asking = False
        self._obeyed: set[str] = set()

    @property
    def problem(self) -> str:
        """What the queue said when it last failed; empty while it answers."""
        return next(iter(self._failing.values()), "")

    @property
    def busy(self) -> bool:
        """Something was asked and is not answered yet."""
        return self.clerk.waiting > 0 or bool(self._failing)

    @property
    def owing(self) -> bool:
        """Something is under way, or a settlement has failed so far."""
        return self.clerk.waiting > 0 or any(ask.owed for ask in self._failing)

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

    def wake(self, tasks: list[Task], then: Callable[[int], None]) -> None:
        """Let tasks wait no more that wait for a moment; how many did."""

        def woken(queue: Queue) -> int:
            return sum(_reopened(queue, task, self.owner) for task in tasks)

        self._ask(woken, then)

    def places(self, count: int, then: Callable[[tuple[tuple[str, str], ...]], None]) -> None:
        """Some tasks that are not closed, each with the directory that the queue knows of it."""
        want = Filter(statuses=("open", "in_progress", "blocked", "deferred"), limit=count)
        self._ask(lambda queue: tuple((t.id, t.cwd or "") for t in queue.find(want)), then)

    def named(self, ids: tuple[str, ...], then: Callable[[list[Task]], None]) -> None:
        """These tasks, as far as there are any."""
        want = Filter(ids=ids, include_closed=True)
        self._ask(lambda queue: list(queue.find(want)), then)

    def settle(
        self,
        lease: Lease,
        settlement: Settlement,
        then: Callable[[Task | LeaseLost], None],
        evidence: Callable[[], None] = lambda: None,
    ) -> None:
        """End a lease. `evidence` is written first, on the clerk's thread."""

        def settled(queue: Queue) -> Task | LeaseLost:
            evidence()
            return _or_lost(lease, lambda: queue.settle(lease, settlement))

        self._ask(settled, then, owed=True)

    def undo_close(
        self,
        lease: Lease,
        why: str,
        by_hand: Callable[[], bool],
        then: Callable[[Task | None], None],
    ) -> None:
        """Open a task again that was closed past fleet while its run lived under this lease.

        None: it is not so, or a person closed it, or somebody has changed it since.
        """

        def undone(queue: Queue) -> Task | None:
            try:
                task = queue.get(lease.task.id)
                if task.status != "closed" or task.fence != lease.fence or by_hand():
                    return None
                # Once: an agent that does it again would do it for ever.
                return queue.reopen_task(task, by=self.owner, note=why, blocked=why in task.notes)
            except (NotFound, Refused):
                return None

        self._ask(undone, then, owed=True)

    def requests(self, ours: Callable[[Request], bool], then: Callable[[Request], None]) -> None:
        """Each wish of a person that is ours to carry out, once; handed over, it is answered."""
        if self._asking:
            return
        self._asking = True

        def each(requests: list[Request]) -> None:
            self._asking = False
            for request in requests:
                if request.id not in self._obeyed and ours(request):
                    self._obeyed.add(request.id)
                    then(request)
                    self._ask(partial(_answered, request), self._obeyed.discard)

        self._ask(lambda queue: queue.requests(), each)

    def renew_due(self, now: float) -> bool:
        """It is time to renew all leases; asked once a minute, answered True once."""
        if now < self._renew_at:
            return False
        self._renew_at = now + RENEW
        return True

    def renew(self, lease: Lease, then: Callable[[Lease | LeaseLost], None]) -> None:
        self._ask(lambda queue: _or_lost(lease, lambda: queue.renew(lease, ttl=LEASE)), then)

    def tend(self) -> None:
        """Ask again what failed, once its time has come."""
        now = time.monotonic()
        for ask in [ask for ask in self._failing if 0 < ask.due <= now]:
            self._send(ask)

    @property
    def next_moment(self) -> float:
        """When `tend` has something to do, on the monotonic clock."""
        return min((ask.due for ask in self._failing if ask.due), default=float("inf"))

    def _ask(
        self, what: Callable[[Queue], T], then: Callable[[T], None], *, owed: bool = False
    ) -> None:
        self._send(Ask(what, then, owed=owed))

    def _send(self, ask: Ask) -> None:
        ask.due = 0.0
        self.clerk.ask(ask.what, partial(self._heard, ask))

    def _heard(self, ask: Ask, answer: Any) -> None:
        if isinstance(answer, QueueError):
            self._failed(ask, answer)
            return
        if self._failing.pop(ask, None) is not None:
            self._healed()
        ask.then(answer)

    def _failed(self, ask: Ask, error: QueueError) -> None:
        if not self._failing:
            self._say("queue_failed", f"the queue fails: {error.message}")
        self._failing[ask] = error.message
        pause = min(SHORTEST_PAUSE * 2 ** min(ask.failures, 10), LONGEST_PAUSE)
        ask.failures += 1
        ask.due = time.monotonic() + pause

    def _healed(self) -> None:
        """Something that had failed did not: whatever else failed need not wait any more."""
        for ask in self._failing:
            ask.due = ask.due and time.monotonic()
        if not self._failing:
            self._say("queue_healed", "the queue answers again")


def _or_lost(lease: Lease, attempt: Callable[[], T]) -> T | LeaseLost:
    """What a queue refuses for good (the task is gone) is a lost lease, not a failing queue."""
    try:
        return attempt()
    except (NotFound, Refused, BadInput) as error:
        return LeaseLost(task_id=lease.task.id, why=error.message)


def _reopened(queue: Queue, task: Task, owner: str) -> bool:
    try:
        queue.reopen_task(task, by=owner)
    except (NotFound, Refused):
        return False  # somebody has it, or it is gone
    return True


def _answered(request: Request, queue: Queue) -> str:
    queue.answered(request)
    return request.id
