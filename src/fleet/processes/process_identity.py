"""Which process is which: identities, trees, marks, and signals that reach nobody else.

It reads /proc on Linux and asks psutil elsewhere, and starts nothing.
"""

import contextlib
import ctypes
import os
import signal
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from msgspec import Struct

from fleet.runs.run_directory import ProcessId

LINUX = sys.platform == "linux"
#: The environment variable that every process of a run bears, with the run's id as its value.
MARK = "FLEET_RUN_ID"

_PROC = Path("/proc")
#: Two system calls that not every Python was built to know. Their numbers are the same on every
#: architecture that we meet.
_PIDFD_SEND_SIGNAL, _PIDFD_OPEN = 424, 434


class Row(Struct, frozen=True):
    """One line of the process table."""

    who: ProcessId
    parent: int


@cache
def boot_id() -> str:
    return (_PROC / "sys/kernel/random/boot_id").read_text().strip() if LINUX else ""


def identify(pid: int) -> ProcessId | None:
    """The process that bears this number now; None if there is none, or only its corpse."""
    row = _row(pid)
    return row.who if row else None


def alive(who: ProcessId) -> bool:
    now = identify(who.pid)
    if now is None or LINUX:
        return now == who
    # Elsewhere a recorded start is only a moment at which the process was there already.
    return now.start_ticks <= who.start_ticks


def table() -> list[Row]:
    """All living processes that we may see."""
    rows = (_row(pid) for pid in _pids())
    return [row for row in rows if row is not None]


def tree(*roots: ProcessId) -> list[ProcessId]:
    """The roots that live, and all that descends from them, parents first."""
    rows = table()
    found = [row.who for row in rows if row.who in roots]
    for who in found:  # it grows while we walk it
        found += [row.who for row in rows if row.parent == who.pid and row.who not in found]
    return found


def marked(run_id: str) -> list[ProcessId]:
    """Every process that bears a run's mark in the environment it was started with."""
    return [who for pid in _pids() if (who := identify(pid)) and _has_mark(pid, run_id)]


def marks(prefix: str) -> set[str]:
    """The marks that begin so, of all processes that we may see."""
    found = (_mark(pid) for pid in _pids())
    return {mark for mark in found if mark.startswith(prefix)}


def marks_above(pid: int) -> list[str]:
    """The marks that a process and those above it were started with, its own first.

    An agent can give a child any environment; what it was itself started with stays on record.
    """
    found: list[str] = []
    seen: set[int] = set()
    while pid > 0 and pid not in seen:
        seen.add(pid)
        if mark := _mark(pid):
            found.append(mark)
        row = _row(pid)
        pid = row.parent if row is not None else 0
    return found


def bearers(prefix: str) -> dict[str, list[Row]]:
    """The living processes that bear a mark that begins so, by that mark. One look at all."""
    found: dict[str, list[Row]] = {}
    for pid in _pids():
        mark = _mark(pid)
        if mark.startswith(prefix) and (row := _row(pid)) is not None:
            found.setdefault(mark, []).append(row)
    return found


def holders(lock: Path) -> list[ProcessId]:
    """Every process through which the lock at this path is held. Empty where we cannot know."""
    if not LINUX:
        return []
    return [who for pid in _pids() if (who := identify(pid)) and _holds(pid, lock)]


def may_be_locked(lock: Path) -> bool:
    """Whether it is worth looking for holders, which takes a look at every open file."""
    if not LINUX:
        return False
    try:
        inode = lock.stat().st_ino
        return f":{inode} ".encode() in _read("/proc/locks")
    except FileNotFoundError:
        return False
    except OSError:
        return True


def pidfd(who: ProcessId) -> int | None:
    """A descriptor that becomes readable when this very process ends.

    None if it has ended already, and where the system has no such thing.
    """
    fd = open_pidfd(who.pid)
    if fd is not None and not alive(who):
        os.close(fd)
        return None
    return fd


def open_pidfd(pid: int) -> int | None:
    """The same by number. Only for a child that is not reaped: its number cannot change hands."""
    fd = _syscall(_PIDFD_OPEN, pid, 0)
    return fd if fd >= 0 else None


def send(who: ProcessId, number: signal.Signals) -> bool:
    """Signal this very process. False, and nothing done, if it is gone or not ours to signal."""
    fd = pidfd(who)
    if fd is not None:
        try:
            return _syscall(_PIDFD_SEND_SIGNAL, fd, number, None, 0) == 0
        finally:
            os.close(fd)
    if not alive(who):
        return False
    try:
        os.kill(who.pid, number)  # no pidfd here: a reuse since the line above is beyond us
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _syscall(*arguments: int | None) -> int:
    return int(ctypes.CDLL(None).syscall(*arguments)) if LINUX else -1


def _pids() -> Iterable[int]:
    if LINUX:
        return [int(entry) for entry in os.listdir(_PROC) if entry.isdecimal()]  # noqa: PTH208
    import psutil

    return psutil.pids()


def _row(pid: int) -> Row | None:
    if not LINUX:
        return _psutil_row(pid)
    try:
        # The name may hold spaces and brackets, so the fields are counted from behind it.
        fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    except OSError:
        return None
    if not fields or fields[0] in (b"Z", b"X"):
        return None
    who = ProcessId(pid=pid, start_ticks=int(fields[19]), boot_id=boot_id())
    return Row(who, int(fields[1]))


def _read(path: str) -> bytes:
    """A file of /proc. Not through a file object: whole process tables are read with this."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = b""
        while more := os.read(fd, 1 << 14):
            data += more
        return data
    finally:
        os.close(fd)


def _psutil_row(pid: int) -> Row | None:
    import psutil

    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        ticks = int(process.create_time() * 100)
        return Row(ProcessId(pid=pid, start_ticks=ticks, boot_id=""), process.ppid())
    except psutil.Error:
        return None


def _has_mark(pid: int, run_id: str) -> bool:
    return _mark(pid) == run_id


def _mark(pid: int) -> str:
    """A process's mark; empty if it bears none, is gone or another user's."""
    if LINUX:
        try:
            environment = _read(f"/proc/{pid}/environ")
        except OSError:
            return ""
        own = f"{MARK}=".encode()
        found = [pair for pair in environment.split(b"\0") if pair.startswith(own)]
        return found[0].removeprefix(own).decode(errors="replace") if found else ""
    import psutil

    try:
        return psutil.Process(pid).environ().get(MARK, "")
    except (psutil.Error, OSError):
        return ""


def _holds(pid: int, lock: Path) -> bool:
    """It has the file open, and through that descriptor the file is locked."""
    folder = _PROC / str(pid)
    with contextlib.suppress(OSError):
        wanted = lock.stat()
        for link in (folder / "fd").iterdir():
            with contextlib.suppress(OSError):
                if os.path.samestat(link.stat(), wanted):
                    about = (folder / "fdinfo" / link.name).read_text()
                    if "FLOCK" in about:
                        return True
    return False
