"""What the process trees of all runs use: CPU and memory from one pass over the process table, I/O,
and bytes received over TCP.

Linux: /proc, one file a process, since the watchdog counts every few seconds and psutil takes nine
times as long (7 ms instead of 0.8 for 100 processes). Elsewhere: psutil.
"""

import os
import socket
import struct
import sys
from collections.abc import Collection, Iterable

from msgspec import Struct

from fleet.processes.process_identity import LINUX, read_proc

_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
#: How the line of a process that holds a box ends, before the bracket behind its name.
_BOX = (b"(bwrap", b"(fleet-box")

#: The kernel's own count of what TCP sockets received (sock_diag), which psutil does not tell.
_SOCK_DIAG, _BY_FAMILY, _DUMP, _DONE, _ERROR = 4, 20, 0x301, 3, 2
_INFO = 2  # the attribute that holds struct tcp_info
_HEADER = struct.Struct("=IHHII")
#: A request for all TCP sockets of a family, in any state, with their tcp_info.
_REQUEST = struct.Struct("=BBBxI48x")
#: Behind family, state, address: expiry, two queues, owner, inode.
_INODE = struct.Struct("=68xI")
_ATTRIBUTE = struct.Struct("=HH")
#: Where struct tcp_info counts the bytes that were received.
_RECEIVED = 128


class ProcessInfo(Struct, frozen=True):
    """One process."""

    pid: int
    parent: int
    #: Seconds of CPU, with those of its children that have ended.
    cpu: float
    #: Resident bytes.
    memory: int
    #: Seconds from boot to its start.
    started: float
    #: The process holds a box: what it started is the agent, or holds the box too.
    holds_box: bool = False


class ThreadTimes(Struct, frozen=True):
    """What one thread got of the machine so far, in seconds."""

    #: On a core.
    ran: float
    #: Ready to run, while others had the cores; without the wait that lasts.
    waited: float
    #: How often it was given a core.
    turns: int
    #: The thread runs or waits for a core at this moment.
    ready: bool


class ProcessTree(Struct, frozen=True):
    """A run's processes: the keeper first, then all descendants."""

    processes: tuple[ProcessInfo, ...] = ()

    @property
    def count(self) -> int:
        """How many processes there are, without the keeper."""
        return max(0, len(self.processes) - 1)

    @property
    def memory(self) -> int:
        """Resident bytes; a shared page counts for each process: an upper bound."""
        return sum(process.memory for process in self.processes)

    @property
    def cpu(self) -> float:
        return sum(process.cpu for process in self.processes)

    @property
    def youngest(self) -> float:
        """The start of the youngest process that is neither the keeper nor the agent; 0: none."""
        root = self.processes[0].pid if self.processes else 0
        above = {root}
        while agent := self._first_below(root):
            above.add(agent.pid)
            if not agent.holds_box:
                break
            root = agent.pid
        return max((each.started for each in self.processes if each.pid not in above), default=0.0)

    def _first_below(self, pid: int) -> ProcessInfo | None:
        children = (process for process in self.processes if process.parent == pid)
        return min(children, key=lambda process: process.started, default=None)


def process_trees(roots: Collection[int]) -> dict[int, ProcessTree]:
    """The tree below each of these process numbers; empty for a root that has ended."""
    known = {process.pid: process for process in _all_processes()}
    found: dict[int, list[ProcessInfo]] = {root: [] for root in roots}
    root_of: dict[int, int] = {root: root for root in roots}
    for pid in known:
        path: list[int] = []
        above = pid
        while above not in root_of and above in known:
            path.append(above)
            root_of[above] = 0  # for now, so that a circle of stale parents ends
            above = known[above].parent
        for each in path:
            root_of[each] = root_of.get(above, 0)
    for pid, process in known.items():
        if root_of.get(pid):
            found[root_of[pid]].append(process)
    return {
        root: ProcessTree(tuple(sorted(members, key=lambda process: process.pid != root)))
        for root, members in found.items()
    }


def unshared_memory(pids: Iterable[int]) -> int | None:
    """Bytes with every shared page counted once. Slow: for a tree that seems to use too much.

    None where the system does not tell.
    """
    total, known = 0, False
    for pid in pids:
        for line in read_proc(f"/proc/{pid}/smaps_rollup").splitlines():
            if line.startswith(b"Pss:"):
                total, known = total + int(line.split()[1]) * 1024, True
    return total if known else None


def io_bytes(pids: Iterable[int]) -> int:
    """Bytes that these processes read and wrote, files and pipes alike."""
    total = 0
    for pid in pids:
        for line in read_proc(f"/proc/{pid}/io").splitlines()[:2]:  # rchar, wchar
            total += int(line.split()[1])
    return total


def thread_times(pids: Iterable[int]) -> dict[int, ThreadTimes]:
    """The times of all living threads of these processes; empty where the kernel does not tell."""
    found: dict[int, ThreadTimes] = {}
    for pid in pids:
        try:
            threads = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208
        except OSError:
            continue
        for thread in threads:
            state = read_proc(f"/proc/{pid}/task/{thread}/stat").rpartition(b") ")[2][:1]
            if fields := read_proc(f"/proc/{pid}/task/{thread}/schedstat").split():
                ran, waited, turns = map(int, fields)
                found[int(thread)] = ThreadTimes(ran / 1e9, waited / 1e9, turns, state == b"R")
    return found


def _all_processes() -> Iterable[ProcessInfo]:
    if not LINUX:
        return _from_psutil()
    names = os.listdir("/proc")  # noqa: PTH208 - all of it is read every few seconds
    return [info for name in names if name.isdecimal() and (info := _from_proc(name))]


def _from_proc(pid: str) -> ProcessInfo | None:
    # The name may hold spaces and brackets, so the fields are counted from behind it.
    head, _, tail = read_proc(f"/proc/{pid}/stat").rpartition(b")")
    fields = tail.split()
    if not fields:
        return None
    boxes = head.endswith(_BOX)
    cpu = (int(fields[11]) + int(fields[12]) + int(fields[13]) + int(fields[14])) / _TICKS
    memory = int(fields[21]) * _PAGE
    return ProcessInfo(int(pid), int(fields[1]), cpu, memory, int(fields[19]) / _TICKS, boxes)


def _from_psutil() -> Iterable[ProcessInfo]:
    import psutil

    wanted = ["pid", "ppid", "cpu_times", "memory_info", "create_time"]
    for process in psutil.process_iter(wanted):
        about = process.info
        times, memory = about["cpu_times"], about["memory_info"]
        cpu = times.user + times.system if times else 0.0
        started = about["create_time"] - psutil.boot_time()
        yield ProcessInfo(about["pid"], about["ppid"], cpu, memory.rss if memory else 0, started)


def received_bytes(pids: Iterable[int]) -> int:
    """Bytes received so far through the TCP sockets that these processes hold open; 0 wherever the
    kernel does not tell.

    An agent that reads a long answer of its model prints nothing, writes nothing and needs hardly
    any CPU: received bytes are then the one sign of life.
    """
    if not LINUX:
        return 0
    inodes = {inode for pid in pids for inode in _sockets_of(pid)}
    if not inodes:
        return 0
    counts: dict[int, int] = {}
    for family in (socket.AF_INET, socket.AF_INET6):
        counts |= _received_by_inode(family)
    return sum(counts.get(inode, 0) for inode in inodes)


def _sockets_of(pid: int) -> Iterable[int]:
    try:
        names = os.listdir(f"/proc/{pid}/fd")  # noqa: PTH208
    except OSError:
        return
    for name in names:
        try:
            target = os.readlink(f"/proc/{pid}/fd/{name}")  # noqa: PTH115
        except OSError:
            continue  # closed meanwhile
        if target.startswith("socket:["):
            yield int(target[8:-1])


def _received_by_inode(family: int) -> dict[int, int]:
    body = _REQUEST.pack(family, socket.IPPROTO_TCP, 1 << (_INFO - 1), 0xFFFFFFFF)
    head = _HEADER.pack(_HEADER.size + len(body), _BY_FAMILY, _DUMP, 1, 0)
    found: dict[int, int] = {}
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, _SOCK_DIAG) as kernel:
            kernel.settimeout(1.0)
            kernel.send(head + body)
            while _take(kernel.recv(1 << 16), found):
                pass
    except OSError:  # a sandbox, or a kernel without sock_diag: the other signs of life have to do
        return {}
    return found


def _take(data: bytes, found: dict[int, int]) -> bool:
    """Read one answer of the kernel into `found`; False: that was the last."""
    at = 0
    while at + _HEADER.size <= len(data):
        length, kind, *_ = _HEADER.unpack_from(data, at)
        if kind in (_DONE, _ERROR) or length < _HEADER.size:
            return False
        message = data[at + _HEADER.size : at + length]
        if len(message) >= _INODE.size:
            found[_INODE.unpack_from(message)[0]] = _received_in(message[_INODE.size :])
        at += (length + 3) & ~3
    return True


def _received_in(attributes: bytes) -> int:
    at = 0
    while at + _ATTRIBUTE.size <= len(attributes):
        length, kind = _ATTRIBUTE.unpack_from(attributes, at)
        if kind == _INFO and length >= 4 + _RECEIVED + 8:
            count = attributes[at + 4 + _RECEIVED : at + 12 + _RECEIVED]
            return int.from_bytes(count, sys.byteorder)
        if length < _ATTRIBUTE.size:
            break
        at += (length + 3) & ~3
    return 0
