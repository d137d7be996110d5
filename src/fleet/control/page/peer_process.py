"""Which process stands at the other end of a local connection, and which run that process belongs
to.

No fence: agents run as the user, and a determined one finds another way in. The check keeps an
agent from answering its own question, or approving its own work, by the page's own address.
"""

import os
import socket
import struct
import sys

from fleet.processes.process_identity import marks_above, read_proc

_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
_CREDENTIALS = struct.Struct("3i")


def socket_peer(connection: socket.socket) -> int:
    """The process at the other end of a Unix socket; 0: the system does not tell."""
    if not hasattr(socket, "SO_PEERCRED"):
        return 0
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, _, _ = _CREDENTIALS.unpack(raw)
    return int(pid)


def run_of_pid(pid: int) -> str:
    """The run id that a process, or a process above, was started with; empty: none."""
    return next(iter(marks_above(pid)), "") if pid > 0 else ""


def run_of_port(port: int, server_port: int) -> str:
    """The run id of the process whose loopback connection to `server_port` comes from `port`."""
    if sys.platform != "linux":
        return ""
    inode = _inode_of(port, server_port)
    return next((mark for pid in _holders(inode) if (mark := run_of_pid(pid))), "") if inode else ""


def _inode_of(port: int, server_port: int) -> int:
    """The socket of the client's end, by the kernel's table."""
    mine, theirs = f":{port:04X}", f":{server_port:04X}"
    for table in _TABLES:
        for line in read_proc(table).decode(errors="replace").splitlines():
            parts = line.split(None, 10)
            if len(parts) > 9 and parts[1].endswith(mine) and parts[2].endswith(theirs):
                return int(parts[9])
    return 0


def _holders(inode: int) -> list[int]:
    """The processes that hold a socket open, as far as this user may look."""
    wanted, found = f"socket:[{inode}]", list[int]()
    for name in os.listdir("/proc"):  # noqa: PTH208
        if not name.isdecimal():
            continue
        try:
            entries = os.listdir(f"/proc/{name}/fd")  # noqa: PTH208
        except OSError:
            continue  # another user's process, or it is gone
        for entry in entries:
            try:
                if os.readlink(f"/proc/{name}/fd/{entry}") == wanted:  # noqa: PTH115
                    found.append(int(name))
                    break
            except OSError:
                continue
    return found
