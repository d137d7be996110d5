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


@contextmanager
def write_lock(home: Path, patience: timedelta, *, politely: bool = False) -> Generator[None]:
    """Hold the lock, against the threads of this process too; not re-entrant. QueueBusy if another
    holder keeps it for longer than our patience; `politely`: go on without it then, since bd has
    locks too, only slower ones.
    """
    path = home / FILE
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise QueueUnavailable(
            f"the lock {path} cannot be opened: {error.strerror}",
            hint="Check that the fleet home exists and can be written.",
        ) from error
    try:
        if not _acquired(fd, patience) and not politely:
            raise QueueBusy(
                f"another fleet process keeps {path} locked",
                hint=f"Find it with: fuser -v {path}",
            )
        yield
    finally:
        os.close(fd)  # the last descriptor: this unlocks


def _acquired(fd: int, patience: timedelta) -> bool:
    end = time.monotonic() + patience.total_seconds()
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= end:
                return False
            time.sleep(_LOOK)
        else:
            return True
