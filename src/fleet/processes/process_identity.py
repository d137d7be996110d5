"""Which process is which: identities, trees, run ids in environments, and signals that cannot reach
another process.

Linux: /proc, since agents ask this on every `bd` call and psutil takes longer to import than all of
that. Elsewhere: psutil. Starts no process.
"""

import contextlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from fleet.processes.agent_identity import refuse_agent
from fleet.runs.run_directory import ProcessId

if TYPE_CHECKING:
    import signal

LINUX = sys.platform == "linux"
#: The environment variable that every process of a run bears; its value is the run id.
MARK = "FLEET_RUN_ID"

_PROC = Path("/proc")
#: Two system calls that some builds of Python do not know. Their numbers are the same on all
#: architectures since Linux 5.3.
_PIDFD_SEND_SIGNAL, _PIDFD_OPEN = 424, 434
#: The first of them, where this build does: each run is started with it.
_pidfd_open: Callable[[int], int] | None = getattr(os, "pidfd_open", None)


class ProcessRow(Struct, frozen=True):
    """One line of the process table."""

    who: ProcessId
    parent: int


@cache
def boot_id() -> str:
    return (_PROC / "sys/kernel/random/boot_id").read_text().strip() if LINUX else ""


def identify(pid: int) -> ProcessId | None:
    """The process that has this number now; None if there is none, or only a zombie."""
    row = _row(pid)
    return row.who if row else None


def alive(who: ProcessId) -> bool:
    now = identify(who.pid)
    if now is None or LINUX:
        return now == who
    # Elsewhere a recorded start is only a moment at which the process was there already.
    return now.start_ticks <= who.start_ticks


def table() -> list[ProcessRow]:
    """All living processes that this user may see."""
    rows = (_row(pid) for pid in _pids())
    return [row for row in rows if row is not None]


def tree(*roots: ProcessId) -> list[ProcessId]:
    """The living roots and all of their descendants, parents first."""
    rows = table()
    found = [row.who for row in rows if row.who in roots]
    for who in found:  # the list grows during the loop
        found += [row.who for row in rows if row.parent == who.pid and row.who not in found]
    return found


def marked(run_id: str) -> list[ProcessId]:
    """Every process that was started with this run id in the environment."""
    return [row.who for row in bearers(run_id).get(run_id, ())]


def marks_above(pid: int) -> list[str]:
    """The run ids of a process and of all ancestors, the process's own first.

    An agent can give a child any environment, but cannot change the one that it was started with.
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


def bearers(prefix: str) -> dict[str, list[ProcessRow]]:
    """The living processes whose run id begins with `prefix`, by run id. One pass over all."""
    found: dict[str, list[ProcessRow]] = {}
    for pid in _pids():
        mark = _mark(pid)
        if mark.startswith(prefix) and (row := _row(pid)) is not None:
            found.setdefault(mark, []).append(row)
    return found


def owners_below(folder: Path) -> set[str]:
    """The owners in the run ids of processes whose environment names a path below `folder`.

    So the runs of a home are found that is not there any more, and with it the file `owner`.
    """
    start = f"{folder}/".encode()
    found: set[str] = set()
    for pid in _pids() if LINUX else ():
        pairs = read_proc(f"/proc/{pid}/environ").split(b"\0")
        if any(pair.partition(b"=")[2].startswith(start) for pair in pairs):
            found.add(_mark(pid).partition(".")[0])
    return found - {""}


def holders(lock: Path) -> list[ProcessId]:
    """Every process that holds the lock at this path. Empty where the system does not tell."""
    if not LINUX:
        return []
    return [who for pid in _pids() if (who := identify(pid)) and holds(pid, lock)]


def arguments(pid: int) -> list[str]:
    """The command line that a process was started with; empty where the system does not tell."""
    return os.fsdecode(read_proc(f"/proc/{pid}/cmdline")).split("\0")[:-1] if LINUX else []


def command_lines() -> Iterator[tuple[int, list[str]]]:
    """The number and the command line of every process. Empty where the system does not tell."""
    yield from ((pid, arguments(pid)) for pid in (_pids() if LINUX else ()))


def may_be_locked(lock: Path) -> bool:
    """False if the lock at this path is surely free; asking for `holders` is slow."""
    if not LINUX:
        return False
    try:
        inode = lock.stat().st_ino
    except FileNotFoundError:
        return False
    except OSError:
        return True
    locks = read_proc("/proc/locks")
    return not locks or f":{inode} ".encode() in locks


def at_work(who: ProcessId) -> bool:
    """A thread of the process runs, waits for a core or waits for a disk; False where the system
    does not tell.
    """
    if not LINUX or not alive(who):
        return False
    try:
        threads = os.listdir(f"/proc/{who.pid}/task")  # noqa: PTH208
    except OSError:
        return False
    stats = (read_proc(f"/proc/{who.pid}/task/{thread}/stat") for thread in threads)
    return any(stat.rpartition(b")")[2].lstrip()[:1] in (b"R", b"D") for stat in stats)


def pidfd(who: ProcessId) -> int | None:
    """A descriptor that becomes readable when this very process ends.

    None if the process has ended already, and on systems without pidfd.
    """
    fd = open_pidfd(who.pid)
    if fd is not None and not alive(who):
        os.close(fd)
        return None
    return fd


def open_pidfd(pid: int) -> int | None:
    """A descriptor that becomes readable when the process of this number ends.

    Only for a child that is not reaped: its number is not used again.
    """
    if _pidfd_open is None or not LINUX:
        fd = _syscall(_PIDFD_OPEN, pid, 0)
        return fd if fd >= 0 else None
    try:
        return _pidfd_open(pid)
    except OSError:
        return None


def send(who: ProcessId, number: "signal.Signals") -> bool:
    """Signal this very process. False if it has ended or is another user's."""
    refuse_agent(f"signal process {who.pid}")
    fd = pidfd(who)
    if fd is not None:
        try:
            return _syscall(_PIDFD_SEND_SIGNAL, fd, number, None, 0) == 0
        finally:
            os.close(fd)
    if not alive(who):
        return False
    try:
        # No pidfd here: a number that is used again at this moment cannot be told.
        os.kill(who.pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _syscall(*arguments: int | None) -> int:
    import ctypes  # costs a millisecond, and most commands signal no process

    return int(ctypes.CDLL(None).syscall(*arguments)) if LINUX else -1


def _pids() -> Iterable[int]:
    if LINUX:
        return [int(entry) for entry in os.listdir(_PROC) if entry.isdecimal()]  # noqa: PTH208
    import psutil

    return psutil.pids()


def _row(pid: int) -> ProcessRow | None:
    if not LINUX:
        return _psutil_row(pid)
    # The name may hold spaces and brackets, so the fields are counted from behind it.
    fields = read_proc(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    if not fields or fields[0] in (b"Z", b"X"):
        return None
    who = ProcessId(pid=pid, start_ticks=int(fields[19]), boot_id=boot_id())
    return ProcessRow(who, int(fields[1]))


def read_proc(path: str) -> bytes:
    """A file of /proc; empty if the process has ended or is another user's.

    Not through a file object: whole process tables are read with this.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    data = b""
    try:
        while more := os.read(fd, 1 << 14):
            data += more
    except OSError:
        return b""
    finally:
        os.close(fd)
    return data


def _psutil_row(pid: int) -> ProcessRow | None:
    import psutil

    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        ticks = int(process.create_time() * 100)
        return ProcessRow(ProcessId(pid=pid, start_ticks=ticks, boot_id=""), process.ppid())
    except psutil.Error:
        return None


def _mark(pid: int) -> str:
    """A process's run id; empty if the process has none, has ended or is another user's."""
    if LINUX:
        environment = read_proc(f"/proc/{pid}/environ")
        own = f"{MARK}=".encode()
        found = [pair for pair in environment.split(b"\0") if pair.startswith(own)]
        return found[0].removeprefix(own).decode(errors="replace") if found else ""
    import psutil

    try:
        return psutil.Process(pid).environ().get(MARK, "")
    except (psutil.Error, OSError):
        return ""


def holds(pid: int, lock: Path, fd: int | None = None) -> bool:
    """The process has the file at this path open, and locked through that descriptor.

    `fd` is the descriptor, where it is known: looking through all of them is slow.
    """
    folder = _PROC / str(pid)
    with contextlib.suppress(OSError):
        wanted = lock.lstat()
        names = os.listdir(folder / "fd") if fd is None else [str(fd)]  # noqa: PTH208
        for name in names:
            with contextlib.suppress(OSError):
                if os.path.samestat((folder / "fd" / name).stat(), wanted):
                    about = (folder / "fdinfo" / name).read_text()
                    if "FLOCK" in about:
                        return True
    return False
