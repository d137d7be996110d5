"""Bytes that processes have received over TCP, from the kernel's own count (sock_diag).

An agent that reads a long answer of its model prints nothing, writes nothing and needs hardly any
CPU: received bytes are then the one sign of life. 0 wherever the kernel does not tell; psutil does
not.
"""

import os
import socket
import struct
import sys
from collections.abc import Iterable

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


def received(pids: Iterable[int]) -> int:
    """Bytes received so far through the TCP sockets that these processes hold open."""
    if not sys.platform.startswith("linux"):
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
