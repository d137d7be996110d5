"""A machine that is short of something (`files/machine_short.py`): nothing is started for a while.

A supervisor that is told to stop has to write why each run ended and what becomes of its task. On a
full disk it could not, and the task would pay for that: so `reserve`, a few megabytes of the home's
disk, is given back then.
"""

import os
import resource
import time
from contextlib import suppress

from fleet.files.machine_short import low_disk
from fleet.home import Home
from fleet.home.journal import Log
from fleet.schemas.backoff import Backoff

RESERVE = "reserve"
_SIZE = 4 << 20
#: Open files that the supervisor may need: enough for as many runs as can be configured.
_FILES = 4096
#: How many seconds a machine is left alone that is short of disk, memory or processes.
BACKOFF = Backoff(1.0, 60.0)


class ResourceBackoff:
    """How long no run is started, and why."""

    def __init__(self, log: Log) -> None:
        self._log = log
        #: What the machine is short of; empty if of nothing.
        self.why = ""
        #: Until when nothing is started, on the monotonic clock, and how long the next pause is.
        self.until = 0.0
        self.pause = BACKOFF.first

    @property
    def active(self) -> bool:
        return time.monotonic() < self.until

    def begin(self, why: str) -> None:
        """Start nothing for a while, longer each time."""
        if not self.why:
            self._log.say("short", f"nothing new is started for now: {why}")
        self.why = why
        self.until = time.monotonic() + self.pause
        self.pause = BACKOFF.after(self.pause)

    def end(self) -> None:
        """The last start went well."""
        if self.why:
            self._log.say("enough", "runs are started again")
        self.why, self.pause = "", BACKOFF.first


def set_reserve_aside(home: Home) -> None:
    """Take the reserve, unless taken already or the disk is short by now."""
    path = home.path / RESERVE
    try:
        if path.exists() or low_disk(home.path):
            return
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.posix_fallocate(fd, 0, _SIZE)
        finally:
            os.close(fd)
    except OSError:  # half a reserve is of no use; without one fleet works as well
        with suppress(OSError):
            path.unlink(missing_ok=True)


def release_reserve(home: Home) -> None:
    """Give the reserve back if the disk has no room for another run."""
    with suppress(OSError):
        if low_disk(home.path):
            (home.path / RESERVE).unlink(missing_ok=True)


def allow_files() -> None:
    """Raise the limit of open files: each run takes one, and many systems begin with 256."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES if hard == resource.RLIM_INFINITY else min(_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
