"""One supervisor for each home: the lock, which process holds the lock, and that process closed to
others.
"""

import os
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime

import msgspec
from msgspec import Struct

from fleet.errors import FleetError
from fleet.files.file_lock import locked
from fleet.files.json_record import JsonRecord
from fleet.home import Home
from fleet.processes import process_identity
from fleet.runs.run_directory import ProcessId

LOCK = "supervisor.lock"
#: Seconds that the lock of a killed supervisor may live on in a child that the supervisor was just
#: starting; the child lets go of the lock when it executes its program.
_LINGERS = 3.0
#: The option of prctl(2), in every Linux since 2.3.
_PR_SET_DUMPABLE = 4


class Holder(Struct, frozen=True, kw_only=True):
    """The process that supervises a home: the content of supervisor.lock."""

    who: ProcessId
    since: datetime
    #: The coder of `fleet run --coder`, which replaces the configured one; empty: not given.
    coder: str = ""


_RECORD = JsonRecord(Holder)


class AlreadyRunning(FleetError):
    """Another supervisor runs on this home."""

    exit_code = 9


@contextmanager
def sole_supervisor(home: Home, coder: str = "") -> Generator[None]:
    """Hold the home's lock while inside. Raises AlreadyRunning if another process holds it."""
    end = time.monotonic() + _LINGERS
    while True:
        with locked(home.path / LOCK) as lock:
            if lock is not None:
                me = process_identity.identify(os.getpid())
                assert me is not None
                os.ftruncate(lock.fd, 0)
                holder = Holder(who=me, since=datetime.now(UTC), coder=coder)
                os.pwrite(lock.fd, msgspec.json.encode(holder), 0)
                yield
                return
        holder = supervisor_of(home)
        if holder is not None or time.monotonic() > end:
            who = f"process {holder.who.pid}" if holder else "another process"
            raise AlreadyRunning(
                f"a supervisor is already running on {home.path} ({who})",
                hint="See it with fleet status, or swap it for a new one with fleet restart.",
            )
        time.sleep(0.01)


def supervisor_of(home: Home) -> Holder | None:
    """The running supervisor of a home, if there is one."""
    holder = _RECORD.read_or_none(home.path / LOCK)  # half written while its holder begins
    return holder if holder is not None and process_identity.alive(holder.who) else None


def refuse_dumps() -> bool:
    """Let no process of this user read or trace this one: agents run as the same user, and would
    find the secrets of every account in the supervisor's environment and memory. Root can still
    read them. False where the system cannot do that.

    A program that this process starts is not held to it: the kernel allows reading again with exec.
    So a keeper stays readable, and runs are found by the mark in their environments; what hides one
    agent from another is the box.
    """
    if sys.platform != "linux":
        return False
    import ctypes  # costs a millisecond, and a supervisor alone asks for this

    return int(ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)) == 0
