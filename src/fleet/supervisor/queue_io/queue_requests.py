"""What the supervisor asks of the queue: claims, leases, settlements, requests of people.

Each verb is a call in the queue's thread (`queue_thread.py`) and is answered by a callback in the
loop's thread.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from fleet.errors import BadInput, NotFound, Refused
from fleet.queue.protocol import Filter, LeaseLost, Queue
from fleet.schemas import Lease, Offer, Request, Settlement, Task
from fleet.schemas.hosts.lease_terms import ALONE, LeaseTerms
from fleet.supervisor.queue_io.queue_thread import DueSettlement, QueueThread

if TYPE_CHECKING:
    from fleet.supervisor.travel.host_travel import HostTravel

T = TypeVar("T")


class QueueRequests:
    """The queue's verbs as the supervisor uses them, each answered by a callback."""

    def __init__(self, thread: QueueThread, owner: str, terms: LeaseTerms = ALONE) -> None:
        self.thread = thread
        self.owner = owner
        self.terms = terms
        #: On a queue that hosts share: what goes from host to host beside these calls.
        self.travel: HostTravel | None = None
        #: There too: tells whether a connection leads to the server that this host knows.
        self.may_claim: Callable[[Queue], bool] = lambda _: True
        #: A claim is under way, or must wait until the leases of an earlier supervisor are known.
        self.claiming = False
        #: The requests of people are being read.
        self._reading_requests = False
        #: Requests that were carried out, until the queue knows that.
        self._carried_out: set[str] = set()

    def claim(
        self, count: int, then: Callable[[float, list[Lease]], None], offer: Offer | None = None
    ) -> None:
        """Claim tasks; `then` gets until when their leases are held for certain, and the leases."""
        self.claiming = True
        ttl = self.terms.length

        def ask(queue: Queue) -> tuple[float, list[Lease]]:
            # Counted from the call, and not from when the call was due: a call that fails is made
            # again later.
            until = awake() + ttl.total_seconds()
            if not self.may_claim(queue):
                return until, []
            return until, queue.claim(self.owner, count=count, ttl=ttl, offer=offer)

        def got(answer: tuple[float, list[Lease]]) -> None:
            self.claiming = False
            then(*answer)

        self.thread.call(ask, got)

    def leased(self, then: Callable[[list[Task]], None]) -> None:
        """The tasks that this home holds; at the start those of the last supervisor."""
        want = Filter(statuses=("in_progress",), leased_by=self.owner)
        self.thread.call(lambda queue: list(queue.find(want)), then)

    def waiting_tasks(self, then: Callable[[list[Task]], None]) -> None:
        """Open tasks that wait for a moment to come."""
        want = Filter(statuses=("open",))
        self.thread.call(lambda queue: [t for t in queue.find(want) if t.not_before], then)

    def wake(self, tasks: list[Task], then: Callable[[int], None]) -> None:
        """Clear `not_before` of tasks; the answer is of how many."""

        def woken(queue: Queue) -> int:
            return sum(_reopened(queue, task, self.owner) for task in tasks)

        self.thread.call(woken, then)

    def places(self, count: int, then: Callable[[tuple[tuple[str, str], ...]], None]) -> None:
        """Some tasks that are not closed, each with the directory that the queue knows."""
        want = Filter(statuses=("open", "in_progress", "blocked", "deferred"), limit=count)
        self.thread.call(lambda queue: tuple((t.id, t.cwd or "") for t in queue.find(want)), then)

    def named(self, ids: tuple[str, ...], then: Callable[[list[Task]], None]) -> None:
        """The tasks with these ids, as far as they exist."""
        want = Filter(ids=ids, include_closed=True)
        self.thread.call(lambda queue: list(queue.find(want)), then)

    def settle(
        self,
        lease: Lease,
        settlement: Settlement,
        then: Callable[[LeaseLost | None], None],
        evidence: Callable[[], Settlement | None] = lambda: None,
    ) -> None:
        """End a lease. `evidence` is written first, in the queue's thread; the settlement that it
        returns, if any, takes the place of the other one.
        """
        self.thread.call(DueSettlement(lease, settlement, evidence), then, owed=True)

    def close_epics(self, ids: tuple[str, ...], then: Callable[[list[str]], None]) -> None:
        """Close epics whose last task is closed; one that has open tasks is left. The answer is
        which were closed.
        """

        def closed(queue: Queue) -> list[str]:
            found = {task.id: task for task in queue.find(Filter(ids=ids))}
            epics = [found[each] for each in ids if each in found]
            wanted = [t for t in epics if t.issue_type == "epic" and t.status != "closed"]
            return [task.id for task in wanted if _closed(queue, task, self.owner)]

        self.thread.call(closed, then)

    def undo_close(
        self,
        lease: Lease,
        why: str,
        by_hand: Callable[[], bool],
        then: Callable[[Task | None], None],
    ) -> None:
        """Open a task again that was closed past fleet while the task's run lived under this lease.

        None: the task is not closed, or a person closed it, or it was changed since.
        """

        def undone(queue: Queue) -> Task | None:
            try:
                task = queue.get(lease.task.id)
                if task.status != "closed" or task.fence != lease.fence or by_hand():
                    return None
                # Once: an agent that closes the task again would go on for ever.
                return queue.reopen_task(task, by=self.owner, note=why, blocked=why in task.notes)
            except (NotFound, Refused):
                return None

        self.thread.call(undone, then, owed=True)

    def reopen_blocked(
        self, task_id: str, why: str, note: str, then: Callable[[Task | None], None]
    ) -> None:
        """Put a task back that is still blocked for this reason; None: the task is
        not, or is gone.
        """

        def reopened(queue: Queue) -> Task | None:
            try:
                task = queue.get(task_id)
                if task.status != "blocked" or not task.notes.strip().endswith(why.strip()):
                    return None
                return queue.reopen_task(task, by=self.owner, note=note)
            except (NotFound, Refused):
                return None

        self.thread.call(reopened, then, owed=True)

    def blocked(self, count: int, then: Callable[[list[Task]], None]) -> None:
        """Some tasks that are blocked."""
        want = Filter(statuses=("blocked",), limit=count)
        self.thread.call(lambda queue: list(queue.find(want)), then)

    def requests(self, is_ours: Callable[[Request], bool], then: Callable[[Request], None]) -> None:
        """Hand each request of a person that is for this supervisor to `then`, once."""
        if self._reading_requests:
            return
        self._reading_requests = True

        def each(requests: list[Request]) -> None:
            self._reading_requests = False
            for request in requests:
                if request.id not in self._carried_out and is_ours(request):
                    self._carried_out.add(request.id)
                    then(request)
                    self.thread.call(partial(_answered, request), self._carried_out.discard)

        self.thread.call(lambda queue: queue.requests(), each)

    def renew(self, lease: Lease, then: Callable[[float, Lease | LeaseLost], None]) -> None:
        """Renew a lease; `then` gets when the queue was asked, and its answer."""
        ttl = self.terms.length

        def ask(queue: Queue) -> tuple[float, Lease | LeaseLost]:
            # Each time that it is asked: a call that fails is made again later.
            return awake(), _or_lost(lease, lambda: queue.renew(lease, ttl=ttl))

        self.thread.call(ask, lambda answer: then(*answer))


def awake() -> float:
    """Seconds that count while the machine sleeps, as leases do."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


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
        return False  # the task was claimed meanwhile, or is gone
    return True


def _closed(queue: Queue, task: Task, owner: str) -> bool:
    try:
        queue.close_task(task, by=owner, reason="all of its tasks are closed")
    except (NotFound, Refused):
        return False  # the epic has open tasks, or is gone
    return True


def _answered(request: Request, queue: Queue) -> str:
    queue.answered(request)
    return request.id
