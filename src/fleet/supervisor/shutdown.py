"""Signals of the supervisor's own process: how a person tells the supervisor to
stop or to restart.
"""

import os
import selectors
import signal
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fleet.schemas import Stopped

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
#: How long a queue that does not answer may delay the end, in seconds.
PATIENCE = 5.0


class Shutdown:
    """What the supervisor was told so far. A handler only notes the signal; the loop drains it."""

    def __init__(self) -> None:
        #: Why all runs are to end; runs that come to light from then on are stopped too.
        self.reason: Stopped | None = None
        #: How often the supervisor was told to stop: once politely, twice at once.
        self.stops = 0
        #: A new supervisor is to take over, and the runs go on.
        self.restart = False
        #: Until when unfinished calls of the queue are waited for, on the monotonic clock.
        self.deadline = 0.0
        self._pending: list[int] = []

    @property
    def requested(self) -> bool:
        """Nothing new is to be started."""
        return self.stops > 0 or self.restart

    @property
    def patience(self) -> float:
        """How long what is under way may delay the end, in seconds."""
        return PATIENCE if self.stops < 2 else 0

    def listen(self, selector: selectors.BaseSelector) -> None:
        """Take the process's signals, and wake the selector with each."""
        read, write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        for number in SIGNALS:
            signal.signal(number, lambda number, _: self._pending.append(number))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        selector.register(read, selectors.EVENT_READ, lambda: os.read(read, 4096))

    def drain(self) -> Iterator[signal.Signals]:
        """The signals to stop that came since the last call, each counted."""
        while self._pending:
            number = self._pending.pop(0)
            self.deadline = time.monotonic() + PATIENCE
            if number == signal.SIGHUP:
                self.restart = not self.stops
                continue
            self.stops += 1
            self.restart = False
            yield signal.Signals(number)

    def hand_over(self) -> None:
        """Leave the signals to the next supervisor, which this process becomes."""
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        for number in self._pending:
            os.kill(os.getpid(), number)
