"""Starts the page's server: where the server listens, which hosts are answered, and the browser."""

import asyncio
import os
import socket
import stat
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from types import FrameType
from typing import cast

import uvicorn
from msgspec import Struct
from starlette.types import Scope
from uvicorn.protocols.http.h11_impl import H11Protocol

from fleet.control import Control
from fleet.control.page.page_address import last_port, only_page, write_address
from fleet.control.page.peer_process import run_of_pid, run_of_port, socket_peer
from fleet.control.page.session_store import FOLDER, SessionStore
from fleet.errors import BadInput, FleetError
from fleet.web.door import AllowedHosts
from fleet.web.page_server import PageServer

SOCKET = "web.sock"
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
#: How a connection over the socket names its process in the place of an address.
_PID = "pid:"


class Listening(Struct, frozen=True, kw_only=True):
    """Where the page is offered."""

    host: str = "127.0.0.1"
    #: 0: the port of last time, or a free one.
    port: int = 0
    #: A Unix socket instead of a port, for ssh to forward.
    socket: bool = False
    #: Other names that the page is reached by.
    allowed: tuple[str, ...] = ()
    cert: str = ""
    key: str = ""
    #: The address of a proxy that has TLS and stands before this server.
    proxy: str = ""

    @property
    def is_local(self) -> bool:
        return self.socket or self.host in ("127.0.0.1", "localhost", "::1")


def check(where: Listening) -> None:
    """Refuse what would open the page to others unprotected. Raises BadInput."""
    if bool(where.cert) != bool(where.key):
        raise BadInput("--cert and --key go together")
    if where.is_local:
        return
    if not where.allowed:
        raise BadInput(
            f"the page is not offered on {where.host} without the name that it is reached by",
            hint="Give it: --allow-host NAME. To reach it from elsewhere without that:"
            " ssh -L 7373:127.0.0.1:PORT HOST",
        )
    if not where.cert and not where.proxy:
        raise BadInput(
            f"the page is not offered on {where.host} without TLS",
            hint="Give --cert FILE --key FILE, or the proxy that has it: --proxy ADDRESS",
        )


def _check_certificate(where: Listening) -> None:
    """Refuse a certificate that no connection could be made with. Raises BadInput."""
    if not where.cert:
        return
    import ssl

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(where.cert, where.key)
    except (OSError, ValueError) as error:  # ssl's own error is an OSError
        raise BadInput(
            f"the certificate {where.cert} cannot be used with {where.key}: {error}",
            hint="Both are PEM files; the key is that of the certificate, without a password.",
        ) from None


class PeerProtocol(H11Protocol):
    """Connections over the Unix socket name the process at their other end."""

    def connection_made(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, transport: asyncio.Transport
    ) -> None:
        super().connection_made(transport)
        found = cast("socket.socket | None", transport.get_extra_info("socket"))
        if found is not None and found.family == socket.AF_UNIX:
            self.client = (f"{_PID}{socket_peer(found)}", 0)


def start(
    reopen: Callable[[], Control],
    store: SessionStore,
    where: Listening,
) -> "ListeningServer":
    """Bind, and make the application. Raises FleetError if the address is taken."""
    check(where)
    _check_certificate(where)
    home = reopen().home
    (home.path / FOLDER).mkdir(mode=0o700, exist_ok=True)
    with ExitStack() as held:
        is_only = held.enter_context(only_page(home))
        listener = _unix(home.path / SOCKET) if where.socket else _tcp(last_port(home), where)
        listener.listen(128)  # a browser that is sooner than the loop waits
        server = ListeningServer(reopen, store, where, listener)
        if is_only:
            write_address(home, server.address, server.port)
        server.held = held.pop_all()
    return server


class ListeningServer:
    """A bound server."""

    def __init__(
        self,
        reopen: Callable[[], Control],
        store: SessionStore,
        where: Listening,
        listener: socket.socket,
    ) -> None:
        self._listener = listener
        #: What is held for as long as the page answers.
        self.held = ExitStack()
        self._where = where
        self.port = 0 if where.socket else int(listener.getsockname()[1])
        self._page = PageServer(reopen, store)
        app = self._page.app(_hosts(where, self.port), self._peer_run, proxy=where.proxy)
        config = uvicorn.Config(
            app,
            http=PeerProtocol,
            ws="none",
            loop="asyncio",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=2,
            h11_max_incomplete_event_size=1 << 16,
            limit_concurrency=512,
            ssl_certfile=where.cert or None,
            ssl_keyfile=where.key or None,
        )
        self._server = _Server(config, self._page)

    @property
    def address(self) -> str:
        """Where a browser finds the page."""
        if self._where.socket:
            return "http://localhost:7373"
        if self._where.proxy and self._where.allowed:
            return f"https://{self._where.allowed[0]}"  # the proxy has TLS, and a port of its own
        scheme = "https" if self._where.cert else "http"
        host = f"[{self._where.host}]" if ":" in self._where.host else self._where.host
        name = self._where.allowed[0] if self._where.allowed else host
        has_port = name.rpartition(":")[2].isdecimal()
        return f"{scheme}://{name}" + ("" if has_port else f":{self.port}")

    def serve(self) -> None:
        """Answer until SIGINT or SIGTERM."""
        try:
            self._server.run(sockets=[self._listener])
        finally:
            self._listener.close()
            self.held.close()

    def stop(self) -> None:
        """End soon; from any thread."""
        self._server.end()

    def _peer_run(self, scope: Scope) -> str:
        client: tuple[str, int] | None = scope.get("client")
        if client is None:
            return ""
        if client[0].startswith(_PID):
            return run_of_pid(int(client[0].removeprefix(_PID)))
        return run_of_port(client[1], self.port)


class _Server(uvicorn.Server):
    """Tells open streams that the server ends, so that none of them is waited for."""

    def __init__(self, config: uvicorn.Config, page: PageServer) -> None:
        super().__init__(config)
        self._page = page
        self._end: tuple[asyncio.AbstractEventLoop, asyncio.Event] | None = None

    async def main_loop(self) -> None:
        """Wait to be told to end; uvicorn's own loop looks ten times a second."""
        self._end = asyncio.get_running_loop(), asyncio.Event()
        if not self.should_exit:
            await self._end[1].wait()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        self.end()

    def end(self) -> None:
        """End soon; from any thread."""
        self.should_exit = True
        if self._end is not None:
            loop, told = self._end
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(told.set)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._page.stream.over = True
        await super().shutdown(sockets)


def _hosts(where: Listening, port: int) -> AllowedHosts:
    if where.socket:
        # ssh maps the socket to whatever port the person chose on the other machine.
        return AllowedHosts(any_port=frozenset({"127.0.0.1", "localhost", *where.allowed}))
    exact = {f"{name}:{port}" for name in _LOOPBACK}
    named = {name.lower() for name in where.allowed}
    return AllowedHosts(
        exact=frozenset(exact | named | {f"{name}:{port}" for name in named if ":" not in name})
    )


def _tcp(last: int, where: Listening) -> socket.socket:
    """A bound socket: on the port that was asked for, the one of last time, or a free one."""
    ports: Sequence[int] = (where.port,) if where.port else (last, 0)
    family = socket.AF_INET6 if ":" in where.host else socket.AF_INET
    problem = ""
    for port in ports:
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((where.host, port))
        except OSError as error:
            listener.close()
            problem = error.strerror or str(error)
            continue
        return listener
    raise FleetError(
        f"{where.host}:{where.port} cannot be used: {problem}",
        hint="Give another port, or none for a free one: fleet web",
    )


def _unix(path: Path) -> socket.socket:
    """The socket in the home, for the owner alone. One that no server listens on is replaced."""
    if len(os.fsencode(path)) > 100:
        raise FleetError(f"{path} is too long for a socket", hint="Use a port: fleet web")
    with suppress(OSError):
        if stat.S_ISSOCK(path.lstat().st_mode):
            if _answers(path):
                raise FleetError(
                    f"another page is offered on {path}", hint="To use that one: fleet web pair"
                )
            path.unlink()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        listener.bind(str(path))
    except OSError as error:
        listener.close()
        raise FleetError(f"{path} cannot be used: {error.strerror}") from None
    finally:
        os.umask(before)
    return listener


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True
