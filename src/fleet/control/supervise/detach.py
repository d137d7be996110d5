"""`fleet run --detach`: a supervisor in a new session, which no terminal ends."""

import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from fleet.control import Control
from fleet.errors import FleetError
from fleet.files.put_aside import open_or_put_aside
from fleet.files.safe_read import tail
from fleet.processes.own_program import OWN_PROGRAM
from fleet.processes.supervisor_lock import AlreadyRunning, Holder, supervisor_of

#: What a detached supervisor prints: nothing, unless Python or a signal ends it in mid-sentence.
FILE = "detached.out"
#: Seconds that a supervisor may take until it holds the home's lock.
_PATIENCE = 30.0
#: Seconds between two looks.
_LOOK = 0.02
#: How much of its last words is told, in characters.
_MOST = 2000


def detach(fleet: Control, flags: Sequence[str]) -> Holder:
    """Start a supervisor with these flags of `fleet run`; returns once the supervisor holds the
    home's lock.
    """
    running = supervisor_of(fleet.home)
    if running is not None:
        raise AlreadyRunning(
            f"a supervisor is already running on {fleet.home.path} (process {running.who.pid})",
            hint="See it: fleet status. Swap it: fleet restart. End it: fleet shutdown",
        )
    words = fleet.home.logging / FILE
    process = _start(fleet, flags, words)
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        holder = supervisor_of(fleet.home)
        if holder is not None and holder.who.pid == process.pid:
            return holder
        if process.poll() is not None:
            raise FleetError(
                f"the supervisor ended at once: {tail(words, _MOST).strip() or 'it said nothing'}",
                hint="See what it did: fleet log 5",
            )
        time.sleep(_LOOK)
    raise FleetError(
        f"the supervisor (process {process.pid}) does not begin",
        hint="It may wait for a disk or a queue: fleet status, fleet log 5",
    )


def _start(fleet: Control, flags: Sequence[str], words: Path) -> "subprocess.Popen[bytes]":
    """The supervisor's process, in a new session and with the home as working directory: the
    directory that a person happens to be in stays free to be removed.
    """
    argv = (*OWN_PROGRAM, "run", "--quiet", *flags)
    env = {**os.environ, "FLEET_HOME": str(fleet.home.path)}
    out = open_or_put_aside(words, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        return subprocess.Popen(
            argv, cwd=fleet.home.path, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
            start_new_session=True,
        )  # fmt: skip
    finally:
        os.close(out)
