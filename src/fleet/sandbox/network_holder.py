"""The process that holds a strict box: the box's parent, and the box's only way to the network.

Run as `python -I -S network_holder.py SETTINGS BWRAP ARG…`, outside of the box, with the agent's
environment. The box has a network of its own with nothing in it. What begins in there makes a
socket to listen on and hands that socket out (`hand_over.py`); this process accepts what the
agent's programs ask for as from any HTTP proxy, and connects to the hosts that are named.

Keys stay here: the box has a mark in the place of each. The CLI is told to ask its vendor without
encryption; here the key takes the place of the mark, and the request goes on encrypted.

Imports nothing of fleet: each strict run pays for it.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import sys
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: Where the box's end of the line is, in the process that begins in the box.
LINE = 98
#: The ports of a host that is named without one.
_PORTS = frozenset({80, 443})
_PATIENCE = 30.0
_HEAD, _CHUNK = 64 << 10, 64 << 10
#: Connections at once; further ones wait.
_MOST = 256
_REFUSED = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
_UNREACHED = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class Refusal(Exception):
    """The box does not lead there."""


class Lines:
    """The ways out of one box: the hosts, and the keys that requests to the vendor get."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.hosts = [read_host(host) for host in settings["hosts"]]
        #: The marks in the box and the keys that they stand for.
        self.keys = {
            mark.encode(): os.environb[name.encode()] for name, mark in settings["marks"].items()
        }
        #: The one host and port that keys are sent to, and whether that connection is encrypted.
        self.vendor, self.encrypted = settings["vendor"], settings["encrypted"]


def main() -> None:
    """Start the box, serve the box until the end, and end with the same code."""
    settings, argv = json.loads(sys.argv[1]), sys.argv[2:]
    name = os.open("/proc/self/comm", os.O_WRONLY)
    os.write(name, b"fleet-box")
    os.close(name)
    signal.signal(signal.SIGTERM, ignore)  # the agent has a grace, and needs the network meanwhile
    lines = Lines(settings)
    env = {**os.environ, **settings["marks"]}
    ours, theirs = socket.socketpair()
    box = os.posix_spawn(
        argv[0], argv, env, file_actions=[(os.POSIX_SPAWN_DUP2, theirs.fileno(), LINE)]
    )
    theirs.close()
    threading.Thread(target=serve, args=(ours, lines), daemon=True).start()
    _, status = os.waitpid(box, 0)
    code = os.waitstatus_to_exitcode(status)
    os._exit(code if code >= 0 else 128 - code)


def serve(line: socket.socket, lines: Lines) -> None:
    """Accept on the socket that the box hands out, for as long as the process lives."""
    _, found, _, _ = socket.recv_fds(line, 1, 1)
    if not found:
        return  # the box ended before anything began in it
    listener = socket.socket(fileno=found[0])
    seats = threading.BoundedSemaphore(_MOST)

    def attend(client: socket.socket) -> None:
        with contextlib.suppress(OSError), client:  # the client may be gone at any moment
            answer(client, lines)
        seats.release()

    while True:
        seats.acquire()
        client, _ = listener.accept()
        threading.Thread(target=attend, args=(client,), daemon=True).start()


def answer(client: socket.socket, lines: Lines) -> None:
    """Carry out one request: a tunnel, or one exchange without encryption."""
    try:
        head, rest = read_head(client)
        words = head.split(b" ", 2)
        if words[0] == b"CONNECT":
            host, _, port = b"".join(words[1:2]).decode("ascii").rpartition(":")
            server = connect(host.strip("[]"), int(port), lines)
            first = b""
        else:
            host, port, first = forwarded(words, head)
            server, first = ask(host.strip("[]"), int(port), first, lines)
    except OSError as why:  # before ValueError, which a certificate that does not fit is too
        tell(f"cannot be reached: {why}")
        client.sendall(_UNREACHED)
        return
    except (Refusal, ValueError) as why:
        tell(f"refused: {why}")
        client.sendall(_REFUSED)
        return
    with server:
        try:
            if not first:
                client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            server.sendall(first + rest)
            pump(client, server)
        except OSError:
            pass  # one of the two has gone


def read_head(client: socket.socket) -> tuple[bytes, bytes]:
    """A request's head without the last empty line, and what of the body came along."""
    client.settimeout(_PATIENCE)
    data = b""
    while b"\r\n\r\n" not in data:
        if len(data) > _HEAD or not (more := client.recv(_CHUNK)):
            raise Refusal("no whole request")
        data += more
    client.settimeout(None)
    head, _, rest = data.partition(b"\r\n\r\n")
    return head, rest


def forwarded(words: list[bytes], head: bytes) -> tuple[str, str, bytes]:
    """Host, port and new head of a plain request to a proxy."""
    scheme, _, place = b"".join(words[1:2]).decode("ascii").partition("://")
    if scheme != "http" or not place:
        raise Refusal("this is no request to a proxy")
    authority, _, path = place.partition("/")
    host, _, port = authority.rpartition(":") if ":" in authority else (authority, "", "80")
    lines = head.split(b"\r\n")
    kept = [
        line
        for line in lines[1:]
        if not line.lower().startswith((b"connection:", b"proxy-", b"keep-alive:"))
    ]
    # One request a connection, so that a second one is held against the rules again.
    fresh = b"\r\n".join([b"%s /%s HTTP/1.1" % (words[0], path.encode()), *kept])
    return host, port, fresh + b"\r\nConnection: close\r\n\r\n"


def ask(host: str, port: int, head: bytes, lines: Lines) -> tuple[socket.socket, bytes]:
    """A connection for a plain request, and the request's head. The vendor alone gets keys."""
    if f"{host}:{port}" != lines.vendor:
        return connect(host, port, lines), head
    for mark, key in lines.keys.items():
        head = head.replace(mark, key)
    if not lines.encrypted:
        return connect(host, port, lines), head
    import ssl  # only where a key is put in

    server = connect(host, 443 if port == 80 else port, lines)
    return ssl.create_default_context().wrap_socket(server, server_hostname=host), head


def read_host(text: str) -> tuple[str, int]:
    """A host of the settings, `name` or `*.name` for all hosts below, and the port, or 0."""
    name, colon, port = text.rpartition(":")
    if colon and port.isdecimal():
        return plain(name), int(port)
    return plain(text), 0


def plain(host: str) -> str:
    """The name of a host as names are compared."""
    return host.lower().rstrip(".")


def is_named(hosts: list[tuple[str, int]], host: str, port: int) -> bool:
    """Whether the box leads to this host and port."""
    wanted = plain(host)
    return any(
        (wanted.endswith(name[1:]) and wanted != name[2:] if name[:2] == "*." else wanted == name)
        and (port == only if only else port in _PORTS)
        for name, only in hosts
    )


def may_connect(host: str, address: str) -> bool:
    """A name must lead to an address of the public internet: one that leads to this machine or
    network would open what is not meant. An address in the rules is meant.
    """
    import ipaddress  # only where a connection is made

    where = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(where, ipaddress.IPv6Address) and where.ipv4_mapped:
        where = where.ipv4_mapped
    return plain(host) in (str(where), "localhost") or where.is_global


def connect(host: str, port: int, lines: Lines) -> socket.socket:
    """A connection to an address of the host that was looked up and checked here."""
    if not is_named(lines.hosts, host, port):
        raise Refusal(f"{host}:{port} is not among the hosts of this box (sandbox_hosts)")
    trouble: OSError | None = None
    for *_, found in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        address = str(found[0])
        if not may_connect(host, address):
            raise Refusal(f"{host} leads to {address}, which is this machine or its network")
        try:
            return socket.create_connection((address, port), _PATIENCE)
        except OSError as error:
            trouble = error
    raise trouble or OSError(f"{host} has no address")


def pump(one: socket.socket, other: socket.socket) -> None:
    """Copy in both directions until both have ended."""
    pairs = {one.fileno(): (one, other), other.fileno(): (other, one)}
    for each in (one, other):
        each.settimeout(None)
    poll = select.poll()
    for fd in pairs:
        poll.register(fd, select.POLLIN)
    left = len(pairs)
    while left:
        for fd, _ in poll.poll():
            source, target = pairs[fd]
            if data := receive(source):
                target.sendall(data)
            else:
                poll.unregister(fd)
                left -= 1
                if not hasattr(target, "pending"):  # an encrypted line ends in both directions
                    target.shutdown(socket.SHUT_WR)


def receive(source: Any) -> bytes:
    """What has come, by a read that the kernel counts: a run whose network moves is alive."""
    if not hasattr(source, "pending"):
        return os.read(source.fileno(), _CHUNK)
    data = source.recv(_CHUNK)
    while source.pending():
        data += source.recv(_CHUNK)
    return data


def ignore(*_: object) -> None:
    """Handle a signal by nothing. An ignored one would stay ignored in the agent."""


def tell(words: str) -> None:
    """A line in the run's stderr, where a person looks for what an agent could not reach."""
    os.write(2, f"fleet: {words}\n".encode(errors="replace"))


if __name__ == "__main__":
    main()
