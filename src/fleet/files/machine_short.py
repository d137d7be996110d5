"""What the machine is short of: disk, memory, processes, open files. No task is to blame for it.

A program that fails for want of something does not always say so, and its words do not always reach
us. So the machine itself is tried too, by writing.
"""

import errno
import os
import tempfile
from pathlib import Path

from fleet.errors import FleetError

#: Errors of a machine that is short of something.
SHORT = frozenset(
    {errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.ENOSPC, errno.EDQUOT, errno.EIO}
    | {errno.EROFS}
)
#: Below this much free disk no run is started: the running ones need the rest. The files of a run
#: and its clone need inodes as well, whose number is fixed on many file systems.
FLOOR = 100 << 20
FLOOR_FILES = 2000
#: What is written to try a disk.
_TRY = 1 << 20


def is_short(error: BaseException) -> bool:
    """Whether an error is of a machine that is short of something, and not of what it worked on."""
    return isinstance(error, FleetError | OSError) and error.errno in SHORT


def named_in(printed: str) -> int | None:
    """The shortage that a program names at the end of a line that it printed in English."""
    for number in SHORT:
        words = f": {os.strerror(number)}"
        if any(line.rstrip().endswith(words) for line in printed.splitlines()):
            return number
    return None


def low_disk(place: Path) -> str:
    """Why a disk has no room for one more run; empty if there is room. Raises OSError."""
    about = os.statvfs(place)
    if about.f_bavail * about.f_frsize < FLOOR:
        return f"the disk of {place} is almost full"
    if about.f_files and about.f_favail < FLOOR_FILES:
        return f"the disk of {place} has almost no inodes left"
    return ""


def shortage(home: Path) -> str:
    """What the machine is short of at this moment, tried by writing to the disk of the home and to
    that for temporary files; empty if of nothing.
    """
    try:
        if why := low_disk(home):
            return why
        for place in (str(home), tempfile.gettempdir()):
            with tempfile.TemporaryFile(dir=place) as file:
                os.posix_fallocate(file.fileno(), 0, _TRY)
    except OSError as error:
        return words_of(error, home) if is_short(error) else ""
    return ""


def words_of(error: FleetError | OSError, place: Path) -> str:
    """An error in one line, with the file that it is about."""
    if isinstance(error, FleetError):
        return error.message
    return f"{error.filename or place}: {error.strerror or error}"
