"""`reserve`: a few megabytes of the home's disk that are given back when the disk is full.

A supervisor that is told to stop has to write why each run ended and what becomes of its task. On a
full disk it could not, and the task would pay for that.
"""

import os
from contextlib import suppress

from fleet.home import Home

FILE = "reserve"
_SIZE = 4 << 20
#: Below this much free disk no run is started: the running ones need the rest.
FLOOR = 100 << 20


def room(home: Home) -> bool:
    """The home's disk has room for one more run."""
    about = os.statvfs(home.path)
    return about.f_bavail * about.f_frsize >= FLOOR


def set_aside(home: Home) -> None:
    """Take the reserve, unless taken already or the disk is short by now."""
    path = home.path / FILE
    try:
        if path.exists() or not room(home):
            return
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.posix_fallocate(fd, 0, _SIZE)
        finally:
            os.close(fd)
    except OSError:
        release(home)  # half a reserve is of no use; without one fleet works as well


def release(home: Home) -> None:
    """Give the reserve back to the disk."""
    with suppress(OSError):
        (home.path / FILE).unlink(missing_ok=True)


def release_if_short(home: Home) -> None:
    """Give the reserve back if the disk has no room for another run."""
    with suppress(OSError):
        if not room(home):
            release(home)
