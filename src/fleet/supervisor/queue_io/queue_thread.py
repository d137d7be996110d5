"""The threads that speak to the queue: one makes the calls, the other waits for a change.

The loop never waits for a queue: each call is answered by a callback in the loop's own thread. A
call that fails is made again, each at its own pace, and none is dropped. So a queue that fails
delays the calls that need it and nothing else.
"""

import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from msgspec import Struct

from fleet.errors import (
    BadInput,
    FleetError,
    HomeError,
    NotFound,
    QueueError,
    Refused,
    WrongQueue,
)
from fleet.queue.protocol import Filter, LeaseLost, Queue
from fleet.schemas import Lease, Settlement, Task
from fleet.schemas.backoff import Backoff
from fleet.schemas.hosts.lease_terms import ALONE, LeaseTerms
from fleet.supervisor.worker_pool import LoopCalls

T = TypeVar("T")

_LISTEN = timedelta(seconds=5)
#: Changes that come this close together, as in a busy hour, are reported as one.
_LULL = 0.01
#: The most settlements that are made together.
_TOGETHER = 50
#: How long the listening thread rests after an error of the queue.
_REST = 1.0
#: Seconds until a call that failed is made again.
_BACKOFF = Backoff(0.25, 10.0)


class DueSettlement(Struct, eq=False):
    """A lease to be ended."""

    lease: Lease
    #: Writes the evidence, in the queue's thread, and says how the lease ends. May raise OSError.
    evidence: Callable[[], Settlement]


class QueueCall(Struct, eq=False):
    """One call of the queue."""

    #: What is done in the queue's thread; settlements that wait there are done together.
    do: Callable[[Queue], Any] | DueSettlement
    then: Callable[[Any], None]
    #: A task waits for the answer; other calls may stay unanswered when the supervisor ends.
    owed: bool
    failures: int = 0
    #: When the call is made again, on the monotonic clock; 0 while it is under way.
    due: float = 0.0


class QueueThread(LoopCalls):
    """Calls the queue for a supervisor: in order, one call at a time."""

    def __init__(
        self,
        open_queue: Callable[[], Queue],
        say: Callable[[str, str], None],
        *,
        owner: str = "",
        terms: LeaseTerms = ALONE,
    ) -> None:
        super().__init__()
        self.owner, self.terms = owner, terms
        self._open = open_queue
        self._say = say
        #: Called in the queue's thread with a queue whose files are not at their path any more.
        self.rescue: Callable[[Queue], object] = lambda _: None
        self._calls: SimpleQueue[QueueCall | None] = SimpleQueue()
        self._closing = threading.Event()
        self._threads = [
            threading.Thread(target=work, name=work.__name__, daemon=True)
            for work in (self._work, self._listen)
        ]
        #: Called in the loop's thread when the queue may have changed.
        self.on_change: Callable[[], None] = lambda: None
        self._waiting = 0
        #: Calls that failed and did not succeed yet, with the queue's error.
        self._failing: dict[QueueCall, QueueError] = {}

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    @property
    def problem(self) -> str:
        """The message of a call that fails; empty while the queue answers."""
        return next((error.message for error in self._failing.values()), "")

    @property
    def broken(self) -> QueueError | None:
        """Why the queue will not answer before a person acts: a call met that error more than once,
        so also after the queue was opened again.
        """
        failed = self._failing.items()
        return next((e for call, e in failed if e.needs_person and call.failures > 1), None)

    @property
    def busy(self) -> bool:
        """A call is not answered yet."""
        return self._waiting > 0 or bool(self._failing)

    @property
    def owing(self) -> bool:
        """A call is under way, or one that a task waits for has failed so far."""
        return self._waiting > 0 or any(call.owed for call in self._failing)

    @property
    def next_moment(self) -> float:
        """When `retry` has something to do, on the monotonic clock."""
        return min((call.due for call in self._failing if call.due), default=float("inf"))

    def call(
        self,
        do: Callable[[Queue], T] | DueSettlement,
        then: Callable[[T], None],
        *,
        owed: bool = False,
    ) -> None:
        """Have `do` done in the queue's thread; `then` gets the result, in the loop's thread."""
        self._send(QueueCall(do, then, owed))

    def find(self, want: Filter, then: Callable[[list[Task]], None]) -> None:
        """The tasks that match."""
        self.call(lambda queue: list(queue.find(want)), then)

    def named(self, ids: tuple[str, ...], then: Callable[[list[Task]], None]) -> None:
        """The tasks with these ids, as far as they exist."""
        self.find(Filter(ids=ids, include_closed=True), then)

    def retry(self) -> None:
        """Make the calls again that failed and are due."""
        now = time.monotonic()
        for call in [call for call in self._failing if 0 < call.due <= now]:
            self._send(call)

    def close(self, patience: float) -> bool:
        """Finish the calls that were made, then close the queue. False: it did not answer in
        time.
        """
        self._closing.set()
        self._calls.put(None)
        self._threads[0].join(patience)
        return not self._threads[0].is_alive()

    # In the loop's thread.

    def _send(self, call: QueueCall) -> None:
        call.due = 0.0
        self._waiting += 1
        self._calls.put(call)

    def _answered(self, call: QueueCall, answer: Any) -> None:
        self._waiting -= 1
        if isinstance(answer, QueueError):
            self._failed(call, answer)
            return
        if isinstance(answer, BaseException):
            raise answer
        if self._failing.pop(call, None) is not None:
            self._healed()
        call.then(answer)

    def _failed(self, call: QueueCall, error: QueueError) -> None:
        if not self._failing:
            self._say("queue_failed", f"the queue fails: {error.message}")
        self._failing[call] = error
        call.due = time.monotonic() + _BACKOFF.pause(call.failures)
        call.failures += 1

    def _healed(self) -> None:
        """A call that had failed succeeded: the other failed calls need not wait any more."""
        for call in self._failing:
            call.due = call.due and time.monotonic()
        if not self._failing:
            self._say("queue_healed", "the queue answers again")

    # In the threads beside it.

    def _work(self) -> None:
        queue: Queue | None = None
        waiting: deque[QueueCall | None] = deque()
        while (calls := self._next(waiting)) is not None:
            try:
                queue = queue or self._open()
                answers = _answers(queue, calls)
            except BaseException as error:  # noqa: BLE001 - it is raised again in the loop's thread
                answers = [_as_queue_error(error)] * len(calls)
            if queue is not None and any(isinstance(each, WrongQueue) for each in answers):
                # The queue that is put back is found by opening anew.
                self.rescue(queue)
                _close(queue)
                queue = None
            for call, answer in zip(calls, answers, strict=True):
                self.leave(partial(self._answered, call, answer))
        if queue is not None:
            queue.close()

    def _next(self, waiting: deque[QueueCall | None]) -> list[QueueCall] | None:
        """The next call, with all settlements that wait right behind; None: there is no more."""
        if not waiting:
            waiting.append(self._calls.get())
        with suppress(Empty):
            while True:
                waiting.append(self._calls.get_nowait())
        first = waiting.popleft()
        if first is None:
            return None
        calls = [first]
        while isinstance(first.do, DueSettlement) and len(calls) < _TOGETHER:
            if not waiting or waiting[0] is None or not isinstance(waiting[0].do, DueSettlement):
                break
            calls.append(waiting.popleft())  # pyright: ignore[reportArgumentType]
        return calls

    def _listen(self) -> None:
        queue: Queue | None = None
        while not self._closing.is_set():
            try:
                queue = queue or self._open()
                if queue.wait(_LISTEN):
                    self.leave(self.on_change)
                    self._closing.wait(_LULL)
            except (FleetError, OSError) as error:
                # The calling thread meets the same error and reports it.
                if isinstance(error, WrongQueue) and queue is not None:
                    _close(queue)
                    queue = None
                    self.leave(self.on_change)
                self._closing.wait(_REST)
        if queue is not None:
            queue.close()


def _answers(queue: Queue, calls: list[QueueCall]) -> list[Any]:
    """What the queue answers to one call, or to several settlements at once."""
    do = calls[0].do
    if not isinstance(do, DueSettlement):
        return [do(queue)]
    answers: dict[int, Any] = {}
    ready: list[tuple[int, Lease, Settlement]] = []
    for number, call in enumerate(calls):
        assert isinstance(call.do, DueSettlement)
        try:
            ready.append((number, call.do.lease, call.do.evidence()))
        except OSError as error:  # a full disk: this one is settled later
            answers[number] = _as_queue_error(error)
    pairs = [(lease, settlement) for _, lease, settlement in ready]
    settled = queue.settle(pairs) if pairs else []
    for (number, lease, _), answer in zip(ready, settled, strict=True):
        answers[number] = _lost_or_error(lease, answer)
    return [answers[number] for number in range(len(calls))]


def _lost_or_error(lease: Lease, answer: LeaseLost | FleetError | None) -> Any:
    """A task that is gone from the queue, or whose id no queue takes, is lost and not a failure."""
    if isinstance(answer, NotFound | Refused | BadInput):
        return LeaseLost(task_id=lease.task.id, why=answer.message)
    return _as_queue_error(answer) if isinstance(answer, FleetError) else answer


def _close(queue: Queue) -> None:
    with suppress(FleetError, OSError):
        queue.close()


def _as_queue_error(error: BaseException) -> BaseException:
    """What keeps the queue from answering, as an error of the queue."""
    if isinstance(error, FleetError) and not isinstance(error, QueueError):
        failed = QueueError(error.message, hint=error.hint)
        failed.needs_person = isinstance(error, HomeError)
        return failed
    if isinstance(error, OSError):  # a full disk under the queue or under the evidence
        return QueueError(f"{error.filename or 'the disk'}: {error.strerror or error}")
    return error
