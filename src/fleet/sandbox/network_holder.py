"""The process that holds a strict box: the box's parent, and the box's only way to the network.

Run as `python -I -S network_holder.py SETTINGS BWRAP ARG…`, outside of the box, with the agent's
environment. The box has a network of its own with nothing in it. What begins in there makes a
socket to listen on and hands that socket out (`hand_over.py`); this process accepts what the
agent's programs ask for as from any HTTP proxy, and connects to the hosts that are named.

Keys stay here: the box has a mark in the place of each. The CLI is told to ask its vendor without
encryption. Here the key replaces the mark where the mark is the whole value of the key's own
header, and the request goes on encrypted. A mark anywhere else is refused, since a vendor repeats
paths and unknown headers in its errors. In the answer the keys are masked.

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
    from collections.abc import Callable
    from typing import Any

#: Where the box's end of the line is, in the process that begins in the box.
LINE = 98
#: The ports of a host that is named without one.
_PORTS = frozenset({80, 443})
_PATIENCE = 30.0
_HEAD, _CHUNK = 64 << 10, 64 << 10
#: Connections at once; further ones wait.
_MOST = 256
#: A shorter key is not masked in answers: it may be an ordinary word.
_SHORTEST = 8
#: How many earlier values of a key that changes during the run are still masked.
_EARLIER = 16
#: The longest file of a key.
_LONGEST = 64 << 10
#: Headers that are not passed on to the vendor beside a key: they would have it answer in a form
#: in which the key cannot be found.
_UNSENT = (b"accept-encoding", b"range", b"if-range", b"te", b"upgrade")
_STATUS = {400: "Bad Request", 403: "Forbidden", 502: "Bad Gateway"}


class Refusal(Exception):
    """The box does not lead there."""

    status = 403


class MisplacedKeyMark(Refusal):
    """The mark of a key stands where the key does not belong."""

    status = 400


class Unreadable(Refusal):
    """The vendor's answer has a form in which keys cannot be found."""


class KeptKey:
    """A key that stays outside, its mark in the box, and the one header that it goes out in."""

    def __init__(self, variable: str, settings: dict[str, str]) -> None:
        self.mark = settings["mark"].encode()
        #: As in `authorization: Bearer`: the name, and what stands before the key.
        name, _, scheme = settings["header"].partition(": ")
        self._name, self._scheme = name.lower().encode(), scheme.lower().encode()
        #: Where the key stands now, if it can change during the run.
        self._file = settings.get("file", "")
        #: All values that the key had, the newest last.
        self.values = [] if self._file else [os.environb[variable.encode()]]

    def read(self) -> None:
        """Learn the present value of a key that can change. Raises OSError."""
        if not self._file:
            return
        with open(self._file, "rb") as file:  # noqa: PTH123 - pathlib would be loaded for this alone
            value = file.read(_LONGEST).strip()
        if value not in self.values:
            self.values = [*self.values[-_EARLIER:], value]

    def line(self, name: bytes, value: bytes) -> bytes | None:
        """The header line with the key, if this is the key's header and holds just the mark."""
        scheme, _, rest = value.strip(b" \t").rpartition(b" ")
        is_whole = rest == self.mark and scheme.strip(b" ").lower() == self._scheme
        if name.lower() != self._name or not is_whole:
            return None
        return name + b": " + (scheme + b" " if scheme else b"") + self.values[-1]


class Lines:
    """The ways out of one box: the hosts, and the keys that requests to the vendor get."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.hosts = [read_host(host) for host in settings["hosts"]]
        self.keys = [KeptKey(variable, each) for variable, each in settings["keys"].items()]
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
    env = {**os.environ, **{name: each["mark"] for name, each in settings["keys"].items()}}
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
    veiled = None
    try:
        head, rest = read_head(client)
        words = head.split(b" ", 2)
        if words[0] == b"CONNECT":
            host, _, port = b"".join(words[1:2]).decode("ascii").rpartition(":")
            server = connect(host.strip("[]"), int(port), lines)
            first = b""
        else:
            host, port, first = forwarded(words, head)
            if f"{host}:{port}" == lines.vendor:
                first = with_keys(first, lines.keys)
                veiled = VendorAnswer(Veil(lines.keys), bodiless=words[0] == b"HEAD")
                server = connect_vendor(host.strip("[]"), int(port), lines)
            else:
                server = connect(host.strip("[]"), int(port), lines)
    except OSError as why:  # before ValueError, which a certificate that does not fit is too
        refuse(client, 502, f"cannot be reached: {why}")
        return
    except (Refusal, ValueError) as why:
        refuse(client, why.status if isinstance(why, Refusal) else 403, f"refused: {why}")
        return
    with server:
        try:
            if not first:
                client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            server.sendall(first + rest)
            pump(client, server, veiled)
        except OSError:
            pass  # one of the two has gone
        except (Refusal, ValueError) as why:
            words = f"the vendor's answer is not passed on: {why}"
            if veiled is not None and veiled.begun:
                tell(words)  # an answer that breaks off says the rest
            else:
                refuse(client, 502, words)


def refuse(client: socket.socket, status: int, words: str) -> None:
    """Tell the client and the run's stderr why a request leads nowhere."""
    tell(words)
    text = f"fleet: {words}\n".encode(errors="replace")
    head = f"HTTP/1.1 {status} {_STATUS[status]}\r\nContent-Type: text/plain; charset=utf-8\r\n"
    length = f"Content-Length: {len(text)}\r\nConnection: close\r\n\r\n"
    client.sendall((head + length).encode() + text)


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


def with_keys(head: bytes, keys: list[KeptKey]) -> bytes:
    """The head of a request to the vendor, with each key in the place of its mark.

    A key is inserted as the whole value of its own header. Raises MisplacedKeyMark for a head with
    a mark anywhere else, and for lines that servers read in different ways.
    """
    for key in keys:
        key.read()
    first, *lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    check_unmarked(first, "the address", keys)
    fresh = [first]
    for line in lines:
        name, colon, value = line.partition(b":")
        if not colon or name != name.strip() or b"\n" in line or b"\r" in line:
            raise MisplacedKeyMark("a header line is malformed")
        if name.lower() in _UNSENT:
            check_unmarked(line, f"the header {name.decode('latin-1')[:100]}", keys)
            continue
        keyed = next(filter(None, (key.line(name, value) for key in keys)), None)
        if keyed is None:
            check_unmarked(line, f"the header {name.decode('latin-1')[:100]}", keys)
        fresh.append(keyed or line)
    return b"\r\n".join([*fresh, b"Accept-Encoding: identity"]) + b"\r\n\r\n"


def check_unmarked(text: bytes, where: str, keys: list[KeptKey]) -> None:
    """Raise MisplacedKeyMark if the text holds the mark of a key."""
    if any(key.mark in text for key in keys):
        raise MisplacedKeyMark(
            f"a key goes out only as the whole value of its own header, and its mark is in {where}"
        )


class Veil:
    """Puts a stand-in of the same length in the place of each key, also where a key comes in
    pieces.
    """

    def __init__(self, keys: list[KeptKey]) -> None:
        pairs = [(value, key.mark) for key in keys for value in key.values]
        #: The longest first: a key may be a part of another one.
        self._pairs = sorted(
            (
                (value, (mark + b"*" * len(value))[: len(value)])
                for value, mark in pairs
                if len(value) >= _SHORTEST
            ),
            key=lambda pair: -len(pair[0]),
        )
        self._held = b""

    def whole(self, data: bytes) -> bytes:
        """A text that is complete."""
        for value, stand_in in self._pairs:
            data = data.replace(value, stand_in)
        return data

    def feed(self, data: bytes) -> bytes:
        """The next piece. An end that may be the beginning of a key is held back."""
        data = self.whole(self._held + data)
        cut = len(data) - max((begun(data, value) for value, _ in self._pairs), default=0)
        self._held = data[cut:]
        return data[:cut]

    def rest(self) -> bytes:
        """What was held back, once nothing follows."""
        held, self._held = self._held, b""
        return held


def begun(data: bytes, key: bytes) -> int:
    """How many bytes at the end of the data are the beginning of a key."""
    tail = data[-(len(key) - 1) :]
    at = tail.find(key[:1])
    while at >= 0:
        if key.startswith(tail[at:]):
            return len(tail) - at
        at = tail.find(key[:1], at + 1)
    return 0


class VendorAnswer:
    """The vendor's answer on its way into the box: its framing is read, its keys are masked.

    A key may be cut in two by the chunks of an answer as well as by the reads of a socket, so
    chunks are taken apart and made again.
    """

    def __init__(self, veil: Veil, *, bodiless: bool) -> None:
        self._veil, self._bodiless = veil, bodiless
        self._data = b""
        self._step: Callable[[], bytes | None] = self._head
        #: Bytes that are left of the body or of a chunk; None: the body goes on until the end.
        self._left: int | None = None
        #: Something of the answer was passed on.
        self.begun = False
        #: The answer is complete.
        self.done = False

    def feed(self, data: bytes) -> bytes:
        """What can be passed on after these bytes came. Raises Unreadable, ValueError."""
        self._data += data
        out: list[bytes] = []
        while not self.done and (some := self._step()) is not None:
            out.append(some)
        self.begun = self.begun or any(out)
        return b"".join(out)

    def end(self) -> bytes:
        """What was held back of an answer whose sender has ended."""
        return b"" if self._step == self._chunk else self._veil.rest()

    def _head(self) -> bytes | None:
        head, found, rest = self._data.partition(b"\r\n\r\n")
        if not found:
            if len(self._data) > _HEAD:
                raise Unreadable("its head has no end")
            return None
        self._data = rest
        status = int(head.split(b" ", 2)[1])
        fields = header_fields(head)
        coding = fields.get(b"transfer-encoding", b"").lower()
        plain_body = fields.get(b"content-encoding", b"identity").lower() == b"identity"
        if not plain_body or coding not in (b"", b"chunked") or status in (101, 206):
            raise Unreadable("it is encoded or partial, so that keys cannot be masked in it")
        if status >= 200:  # others come before the answer itself
            self.done = self._bodiless or status in (204, 304)
            length = fields.get(b"content-length")
            self._left = None if length is None else int(length)
            self._step = self._size if coding else self._body
            self.done = self.done or (not coding and self._left == 0)
        return self._veil.whole(head) + found

    def _body(self) -> bytes | None:
        if not self._data:
            return None
        part = self._take()
        if self._left == 0:
            self.done = True
            return self._veil.feed(part) + self._veil.rest()
        return self._veil.feed(part)

    def _size(self) -> bytes | None:
        line, found, rest = self._data.partition(b"\r\n")
        if not found:
            if len(self._data) > _HEAD:
                raise Unreadable("a chunk has no length")
            return None
        self._data = rest
        self._left = int(line.split(b";")[0], 16)
        self._step = self._chunk if self._left else self._trailers
        return b""

    def _chunk(self) -> bytes | None:
        if self._left == 0:
            if len(self._data) < 2:
                return None
            self._data = self._data[2:]
            self._step = self._size
            return b""
        return chunk(self._veil.feed(self._take())) if self._data else None

    def _trailers(self) -> bytes | None:
        line, found, rest = self._data.partition(b"\r\n")
        if not found:
            return None
        self._data = rest
        self.done = not line  # what the trailers say is not passed on
        return chunk(self._veil.rest()) + b"0\r\n\r\n" if self.done else b""

    def _take(self) -> bytes:
        """What has come of the body or of the chunk."""
        if self._left is None:
            part, self._data = self._data, b""
            return part
        part, self._data = self._data[: self._left], self._data[self._left :]
        self._left -= len(part)
        return part


def header_fields(head: bytes) -> dict[bytes, bytes]:
    """The headers of an answer by name. Raises Unreadable for one that is given twice in
    different words where the words decide how the body is read.
    """
    fields: dict[bytes, bytes] = {}
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        name, value = name.strip().lower(), value.strip()
        decides = name in (b"transfer-encoding", b"content-encoding", b"content-length")
        if decides and fields.setdefault(name, value) != value:
            raise Unreadable(f"it has two values of {name.decode()}")
    return fields


def chunk(data: bytes) -> bytes:
    """One chunk of a body; nothing for no data, since an empty chunk ends a body."""
    return b"%x\r\n%b\r\n" % (len(data), data) if data else b""


def connect_vendor(host: str, port: int, lines: Lines) -> socket.socket:
    """A connection for a request with a key, encrypted if the vendor's address says so."""
    if not lines.encrypted:
        return connect(host, port, lines)
    import ssl  # only where a key is put in

    server = connect(host, 443 if port == 80 else port, lines)
    return ssl.create_default_context().wrap_socket(server, server_hostname=host)


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


def pump(client: socket.socket, server: socket.socket, veiled: VendorAnswer | None = None) -> None:
    """Copy in both directions until both have ended, or the answer is complete."""
    pairs = {client.fileno(): (client, server), server.fileno(): (server, client)}
    for each in (client, server):
        each.settimeout(None)
    poll = select.poll()
    for fd in pairs:
        poll.register(fd, select.POLLIN)
    left = len(pairs)
    while left:
        for fd, _ in poll.poll():
            source, target = pairs[fd]
            data = receive(source)
            ended = not data
            if veiled is not None and source is server:
                data = veiled.end() if ended else veiled.feed(data)
            if data:
                target.sendall(data)
            if veiled is not None and veiled.done:
                linger(client)
                return
            if ended:
                poll.unregister(fd)
                left -= 1
                if not hasattr(target, "pending"):  # an encrypted line ends in both directions
                    target.shutdown(socket.SHUT_WR)


def linger(client: socket.socket) -> None:
    """Let a client that still sends read the answer: closing a line with unread bytes cuts the
    answer off.
    """
    client.shutdown(socket.SHUT_WR)
    client.settimeout(1.0)
    for _ in range(_MOST):
        if not client.recv(_CHUNK):
            break


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
