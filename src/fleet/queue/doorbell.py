"""A bell on a named pipe: a process that changes the queue rings, and a waiting supervisor wakes.

A ring without a listener is no loss. Nothing depends on hearing a ring: it only saves a poll.
"""

import contextlib
import errno
import os
import select
from datetime import timedelta
from pathlib import Path

#: The pipe of a home's queue.
BELL = "queue.bell"


class Doorbell:
    """Both ends of one bell. Each is opened by its first use, and kept."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._ear: int | None = None
        self._hammer: int | None = None

    def ring(self) -> None:
        """Wake a listener, if there is one."""
        if self._hammer is not None:
            try:
                os.write(self._hammer, b"!")
            except BlockingIOError:  # a full pipe: its listener has enough to hear
                return
            except OSError:  # the listener has ended; there may be another
                os.close(self._hammer)
                self._hammer = None
            else:
                return
        try:
            self._hammer = os.open(self.path, os.O_WRONLY | os.O_NONBLOCK)
            os.write(self._hammer, b"!")
        except OSError:  # no pipe, no listener, or a full pipe: the next poll finds the change
            return

    def wait(self, timeout: timedelta) -> bool:
        """True if the bell rang since the last wait, or rings before the time is over."""
        if self._ear is None:
            self._ear = self._listen()
        heard, _, _ = select.select([self._ear], [], [], max(0.0, timeout.total_seconds()))
        if heard:
            with contextlib.suppress(BlockingIOError):
                while os.read(self._ear, 4096):
                    pass
        return bool(heard)

    def _listen(self) -> int:
        try:
            os.mkfifo(self.path, 0o600)
        except FileExistsError:
            pass
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS):
                raise
        # Opened for reading and writing, the pipe never reports end-of-file between two writers.
        return os.open(self.path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)

    def close(self) -> None:
        for end in (self._ear, self._hammer):
            if end is not None:
                os.close(end)
        self._ear = self._hammer = None


def ring(home: Path) -> None:
    """Wake the supervisor of a home."""
    bell = Doorbell(home / BELL)
    bell.ring()
    bell.close()
