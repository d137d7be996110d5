"""Starts nothing for a while on a machine that is short of disk, memory or processes."""

import errno
import time

from fleet.home.journal import Log

#: Nothing is started for this long on a machine that is short of disk, memory or processes, doubled
#: each time up to the longest, in seconds.
PAUSE, LONGEST = 1.0, 60.0
#: Errors of a machine that is short of something, for which no task is to blame.
SHORT = frozenset(
    {errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.ENOSPC, errno.EDQUOT, errno.EIO}
    | {errno.EROFS}
)


class ResourceBackoff:
    """How long no run is started, and why; no task is to blame for it."""

    def __init__(self, log: Log) -> None:
        self._log = log
        #: What the machine is short of; empty if of nothing.
        self.why = ""
        #: Until when nothing is started, on the monotonic clock, and how long the next pause is.
        self.until = 0.0
        self.pause = PAUSE

    @property
    def active(self) -> bool:
        return time.monotonic() < self.until

    def begin(self, why: str) -> None:
        """Start nothing for a while, longer each time."""
        if not self.why:
            self._log.say("short", f"nothing new is started for now: {why}")
        self.why = why
        self.until = time.monotonic() + self.pause
        self.pause = min(self.pause * 2, LONGEST)

    def end(self) -> None:
        """The last start went well."""
        if self.why:
            self._log.say("enough", "runs are started again")
        self.why, self.pause = "", PAUSE
