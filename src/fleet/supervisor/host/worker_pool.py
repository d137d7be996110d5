"""Threads beside the loop for what takes its time: git, verify commands, a worktree's set-up.

The loop never waits for them. What is done is answered by a callback in the loop's own thread.
Nothing here is remembered: what a supervisor had begun when it died is begun again by the next.
"""

import os
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")

#: How many things are done at once. Most of them wait for other processes.
HANDS = 8


class Aside:
    """Does things in the order in which they were asked for, a few at a time."""

    def __init__(self, hands: int = HANDS) -> None:
        self._asked: SimpleQueue[tuple[Callable[[], Any], Callable[[Any], None]]] = SimpleQueue()
        self._done: deque[tuple[Callable[[Any], None], Any]] = deque()
        self._ear, self._mouth = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._hands = hands
        self._threads = 0
        #: How many answers are still to come.
        self.waiting = 0

    def fileno(self) -> int:
        """Readable when there are answers to deliver."""
        return self._ear

    def do(self, what: Callable[[], T], then: Callable[[T], None]) -> None:
        """Have `what` done; `then` gets its result. It must not raise what is to be expected."""
        if self._threads <= self.waiting and self._threads < self._hands:
            self._threads += 1
            threading.Thread(target=self._work, name="aside", daemon=True).start()
        self.waiting += 1
        self._asked.put((what, then))

    def deliver(self) -> None:
        """Hand out what is done. In the loop's thread; a failure is raised here."""
        with suppress(BlockingIOError):
            while os.read(self._ear, 4096):
                pass
        while self._done:
            then, answer = self._done.popleft()
            self.waiting -= 1
            if isinstance(answer, BaseException):
                raise answer
            then(answer)

    def _work(self) -> None:
        while True:
            what, then = self._asked.get()
            try:
                answer = what()
            except BaseException as error:  # noqa: BLE001 - it is raised again in the loop's thread
                answer = error
            self._done.append((then, answer))
            with suppress(BlockingIOError):  # a full pipe wakes the loop just as well
                os.write(self._mouth, b"!")
