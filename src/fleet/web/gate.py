"""Carries out the rules of the door: an ASGI layer around the whole application."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from fleet.control.acts.each_act import Role
from fleet.control.page.session_store import ROLES, PageSession, SessionStore
from fleet.web.door import API, HEADERS, LARGEST_BODY, AllowedHosts, Denial, bearer_key, refused

#: After this many wrong keys or codes within this many seconds, no code and no other wrong key is
#: answered for a while.
_WRONG, _WITHIN = 10, 60.0
#: Exchanges a code for a key, and so has none yet.
SESSION = f"{API}v1/session"
#: Figures for Prometheus, which comes with a key like any other reader.
METRICS = "/metrics"

#: Finds the run that the other end of a connection belongs to; empty: none.
PeerRun = Callable[[Scope], str]


class RequestGate:
    """Answers what is refused, and hands on the rest with the session."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        hosts: AllowedHosts,
        store: SessionStore,
        peer_run: PeerRun,
        proxy: str = "",
    ) -> None:
        self._app = app
        self._hosts = hosts
        self._store = store
        self._peer_run = peer_run
        #: The only address that connections may come from; empty: any.
        self._proxy = proxy
        self._wrong: deque[float] = deque(maxlen=_WRONG)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return  # neither web sockets nor anything else is offered
        headers = _headers(scope)
        method, path = str(scope["method"]), str(scope["path"])
        denial = refused(method, path, headers, self._hosts) or self._stranger(scope)
        if denial is None and (path.startswith(API) or path == METRICS):
            denial = await self._admit(scope, method, path, headers)
        if denial is not None:
            await _answer(send, denial)
            return
        await self._app(scope, bounded(receive), _with_headers(send, path))

    def _stranger(self, scope: Scope) -> Denial | None:
        client: tuple[str, int] | None = scope.get("client")
        if not self._proxy or (client is not None and client[0] == self._proxy):
            return None
        return Denial(status=403, error="the request does not come from the proxy")

    async def _admit(
        self, scope: Scope, method: str, path: str, headers: Mapping[str, str]
    ) -> Denial | None:
        """The session of a request, put into the scope; or why there is none."""
        session = self._store.of_key(bearer_key(headers))
        if session is None and self._is_tried_out():  # a guess of another takes no session its key
            return Denial(status=429, error="too many wrong keys", hint="Try again in a minute.")
        if method in ("POST", "DELETE"):
            run = await asyncio.to_thread(self._peer_run, scope)
            if run:
                return Denial(
                    status=403,
                    error="an agent cannot do this",
                    hint="A person does that, outside of any run.",
                )
        if path == SESSION and method == "POST":
            return None
        if session is None:
            if bearer_key(headers):
                self.note_wrong()
            hint = "Open the page anew: fleet web. For another device: fleet web pair"
            return Denial(status=401, error="this browser has no session", hint=hint)
        scope.setdefault("state", {})["session"] = session
        return None

    def note_wrong(self) -> None:
        """A wrong key or code was given."""
        self._wrong.append(time.monotonic())

    def _is_tried_out(self) -> bool:
        full = len(self._wrong) == _WRONG
        return full and time.monotonic() - self._wrong[0] < _WITHIN


def allows(session: PageSession, role: Role) -> bool:
    """The session may do what needs this role."""
    return ROLES.index(session.role) >= ROLES.index(role)


def _headers(scope: Scope) -> dict[str, str]:
    """Header names are lower case; of one that comes twice, both count."""
    found: dict[str, str] = {}
    for raw, value in scope["headers"]:
        name = raw.decode("latin-1")
        text = value.decode("latin-1")
        found[name] = f"{found[name]}, {text}" if name in found else text
    return found


def bounded(receive: Receive) -> Receive:
    """The request's body, cut off at the greatest length."""
    taken = 0

    async def limited() -> Message:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        if taken > LARGEST_BODY:
            return {"type": "http.disconnect"}
        return message

    return limited


def _with_headers(send: Send, path: str) -> Send:
    """Every answer has the headers of the door; data is not kept by any cache."""
    more = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
    cache = b"no-store" if path.startswith(API) else b"no-cache"
    more.append((b"cache-control", cache))

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            names = {name for name, _ in more}
            kept = [pair for pair in message.get("headers", ()) if pair[0].lower() not in names]
            message = {**message, "headers": [*kept, *more]}
        await send(message)

    return sent


async def _answer(send: Send, denial: Denial) -> None:
    body: Any = {"error": denial.error, "hint": denial.hint}
    data = msgspec.json.encode(body)
    head = [(b"content-type", b"application/json"), (b"content-length", str(len(data)).encode())]
    if denial.status == 401:
        head.append((b"www-authenticate", b"Bearer"))
    send = _with_headers(send, API)
    await send({"type": "http.response.start", "status": denial.status, "headers": head})
    await send({"type": "http.response.body", "body": data})
