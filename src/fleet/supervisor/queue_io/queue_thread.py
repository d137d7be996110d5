"""Two threads beside the loop: the clerk asks the queue, the ear waits for it to change.

The loop never waits for a queue. What it asks is answered by a callback in the loop's own
thread; a failing queue is an answer too.
"""

import os
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from queue import SimpleQueue
from typing import Any, TypeVar

from fleet.errors import FleetError, QueueError
from fleet.queue.protocol import Queue

T = TypeVar("T")

_LISTEN = timedelta(seconds=5)
#: Rings that come this close together, as in a busy hour, are heard as one.
_LULL = 0.01
#: How long the ear rests after the queue failed it.
_REST = 1.0

Answer = Callable[[Any], None]


class Clerk:
    """Asks the queue in order, one thing at a time."""

    def __init__(self, open_queue: Callable[[], Queue]) -> None:
        self._open = open_queue
        self._asked: SimpleQueue[tuple[Callable[[Queue], Any], Answer] | None] = SimpleQueue()
        self._answers: deque[tuple[Answer | None, Any]] = deque()
        self._ear, self._mouth = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._closing = threading.Event()
        self._threads = [
            threading.Thread(target=work, name=work.__name__, daemon=True)
            for work in (self._work, self._listen)
        ]
        #: Called in the loop's thread when the queue may have changed.
        self.rang: Callable[[], None] = lambda: None
        self.waiting = 0

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def fileno(self) -> int:
        """Readable when there are answers to deliver."""
        return self._ear

    def ask(self, what: Callable[[Queue], T], then: "Callable[[T | QueueError], None]") -> None:
        """Have `what` done; `then` gets its result, or the error that the queue gave."""
        self.waiting += 1
        self._asked.put((what, then))

    def deliver(self) -> None:
        """Hand out the answers that have come. In the loop's thread."""
        with suppress(BlockingIOError):
            while os.read(self._ear, 4096):
                pass
        while self._answers:
            then, answer = self._answers.popleft()
            if then is None:
                self.rang()
                continue
            self.waiting -= 1
            if isinstance(answer, BaseException) and not isinstance(answer, QueueError):
                raise answer
            then(answer)

    def close(self, patience: float) -> bool:
        """Finish what was asked, then let go of the queue. False: it did not answer in time."""
        self._closing.set()
        self._asked.put(None)
        self._threads[0].join(patience)
        return not self._threads[0].is_alive()

    def _work(self) -> None:
        queue: Queue | None = None
        while (asked := self._asked.get()) is not None:
            what, then = asked
            try:
                queue = queue or self._open()
                answer = what(queue)
            except BaseException as error:  # noqa: BLE001 - it is raised again in the loop's thread
                answer = _as_queue_error(error)
            self._answer(then, answer)
        if queue is not None:
            queue.close()

    def _listen(self) -> None:
        queue: Queue | None = None
        while not self._closing.is_set():
            try:
                queue = queue or self._open()
                if queue.wait(_LISTEN):
                    self._answer(None, None)
                    self._closing.wait(_LULL)
            except (FleetError, OSError):
                # The clerk meets the same trouble and reports it; we only try to hear again.
                self._closing.wait(_REST)
        if queue is not None:
            queue.close()

    def _answer(self, then: Answer | None, answer: Any) -> None:
        self._answers.append((then, answer))
        with suppress(BlockingIOError):  # a full pipe wakes the loop just as well
            os.write(self._mouth, b"!")


def _as_queue_error(error: BaseException) -> BaseException:
    """What keeps the queue from answering is its answer, whoever is to blame for it."""
    if isinstance(error, FleetError) and not isinstance(error, QueueError):
        return QueueError(error.message, hint=error.hint)
    if isinstance(error, OSError):  # a full disk under the queue or under the evidence
        return QueueError(f"{error.filename or 'the disk'}: {error.strerror or error}")
    return error
