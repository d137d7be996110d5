"""Threads beside the loop for slow jobs: git, verify commands, a clone's set-up.

The loop never waits for a job; the result goes to a callback in the loop's own thread. Jobs are
not remembered: what a supervisor had begun when it died is begun again by the next one.

Not a `concurrent.futures.ThreadPoolExecutor`: the interpreter waits for its threads before it
ends, and a supervisor that is told to end must not wait minutes for a verify command.
"""

import os
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")

#: Threads in one pool. Most jobs wait for other processes.
SIZE = 8


class LoopCalls:
    """Calls that other threads leave to the loop's own thread."""

    def __init__(self) -> None:
        self._left: deque[Callable[[], None]] = deque()
        self._ready, self._wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def fileno(self) -> int:
        """Readable when there are calls to make."""
        return self._ready

    def leave(self, call: Callable[[], None]) -> None:
        """Have the loop's thread make a call, and wake the loop."""
        self._left.append(call)
        with suppress(BlockingIOError):  # a full pipe wakes the loop just as well
            os.write(self._wake, b"!")

    def deliver(self) -> None:
        """Make all calls that were left. For the loop's thread only."""
        with suppress(BlockingIOError):
            while os.read(self._ready, 4096):
                pass
        while self._left:
            self._left.popleft()()


class WorkerPool(LoopCalls):
    """Runs jobs in the order in which they were submitted, `size` at a time."""

    def __init__(self, size: int = SIZE) -> None:
        super().__init__()
        self._jobs: SimpleQueue[tuple[Callable[[], Any], Callable[[Any], None]]] = SimpleQueue()
        self._size = size
        self._threads = 0
        #: Jobs whose result was not delivered yet.
        self.pending = 0

    def submit(self, job: Callable[[], T], done: Callable[[T], None]) -> None:
        """Run `job` in a thread; `deliver` passes the result to `done`.

        An exception of `job` is a defect: `deliver` raises it in the loop's thread.
        """
        if self._threads <= self.pending and self._threads < self._size:
            self._threads += 1
            threading.Thread(target=self._work, name="worker", daemon=True).start()
        self.pending += 1
        self._jobs.put((job, done))

    def _finish(self, done: Callable[[Any], None], result: Any) -> None:
        self.pending -= 1
        if isinstance(result, BaseException):
            raise result
        done(result)

    def _work(self) -> None:
        while True:
            job, done = self._jobs.get()
            try:
                result = job()
            except BaseException as error:  # noqa: BLE001 - `deliver` raises it again
                result = error
            self.leave(partial(self._finish, done, result))
