"""`fleet restart`: have the running supervisor replaced by a new one."""

import os
import time
from collections.abc import Sequence
from signal import SIGHUP
from typing import NoReturn

from fleet.control import Control
from fleet.errors import FleetError
from fleet.files.inotify import DirectoryWatch
from fleet.home import Home
from fleet.processes import process_identity
from fleet.processes.own_program import OWN_PROGRAM
from fleet.processes.supervisor_lock import Holder, supervisor_of

#: Seconds that a supervisor may take to make way for its successor: the supervisor finishes what
#: it asked of the queue, and only a hanging queue makes that long.
PATIENCE = 45.0


def restart(fleet: Control, patience: float = PATIENCE) -> Holder:
    """Have the supervisor replaced by a new one; returns the successor. Agents run on.

    The successor has the same process number: only the time at which it took the lock is new.
    """
    before = supervisor_of(fleet.home)
    if before is None:
        raise FleetError(
            f"no supervisor is running on {fleet.home.path}", hint="Start one: fleet run"
        )
    watch = DirectoryWatch()
    watch.add(fleet.home.path)
    try:
        if not process_identity.send(before.who, SIGHUP):
            raise FleetError(
                f"the supervisor (process {before.who.pid}) ended, or is not yours to signal",
                hint="Start one: fleet run",
            )
        return _successor(fleet.home, before, watch, time.monotonic() + patience)
    finally:
        watch.close()


def start_over(args: Sequence[str]) -> NoReturn:
    """Replace this process by fleet with the command line `args`. Raises OSError."""
    os.execv(OWN_PROGRAM[0], [*OWN_PROGRAM, *args])  # noqa: S606


def _successor(home: Home, before: Holder, watch: DirectoryWatch, end: float) -> Holder:
    while True:
        now = supervisor_of(home)
        if now is not None and now.since > before.since:
            return now
        if now is None and not process_identity.alive(before.who):
            raise FleetError(
                "the supervisor ended and no new one took its place",
                hint="See why: fleet log 5. Start one: fleet run",
            )
        left = end - time.monotonic()
        if left <= 0:
            raise FleetError(
                f"the supervisor (process {before.who.pid}) was told to restart and has not yet",
                hint="The supervisor goes on working. It may wait for the queue: fleet status,"
                " fleet log 5",
            )
        watch.changed(min(left, 0.5))
