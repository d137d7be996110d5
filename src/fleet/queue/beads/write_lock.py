"""One writer at a time among all fleet processes of a home: a lock file that dies with the holder.

bd has locks of its own, but its processes wait for them without end and pile up.
"""

import fcntl
import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from fleet.errors import QueueBusy, QueueUnavailable

FILE = "beads.lock"
_LOOK = 0.02


class WriteLock:
    """Not re-entrant; threads of one process exclude each other as processes do."""

    def __init__(self, home: Path, *, patience: timedelta) -> None:
        self.path = home / FILE
        self._patience = patience

    @contextmanager
    def held(self) -> Generator[None]:
        """Hold the lock; QueueBusy if another process holds the lock for longer
        than our patience.
        """
        fd = self._open()
        try:
            self._acquire(fd)
            yield
        finally:
            os.close(fd)  # the last descriptor: this unlocks

    def _open(self) -> int:
        try:
            return os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise QueueUnavailable(
                f"the lock {self.path} cannot be opened: {error.strerror}",
                hint="Check that the fleet home exists and can be written.",
            ) from error

    def _acquire(self, fd: int) -> None:
        end = time.monotonic() + self._patience.total_seconds()
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= end:
                    raise QueueBusy(
                        f"another fleet process keeps {self.path} locked",
                        hint=f"Find it with: fuser -v {self.path}",
                    ) from None
                time.sleep(_LOOK)
            else:
                return
