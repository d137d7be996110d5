"""A model with a script: an HTTP server that answers a real agent CLI as it was told to.

It speaks Anthropic's messages and OpenAI's responses, both streamed, on a loopback port of its
own. Each request of the agent takes the next step of the script; the last step repeats. A step
that depends on the moment is a function.
Everything that was asked is kept in `requests`, so that a test can see what the CLI really sent.
"""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from tests.scripted_model import anthropic, responses


@dataclass(frozen=True, kw_only=True)
class Tokens:
    fresh: int = 1200
    cached: int = 5000
    output: int = 42


@dataclass(frozen=True, kw_only=True)
class Step:
    headers: dict[str, str] = field(default_factory=dict)
    tokens: Tokens = Tokens()


@dataclass(frozen=True, kw_only=True)
class Say(Step):
    text: str = "Done."


@dataclass(frozen=True, kw_only=True)
class Shell(Step):
    """Call whatever this CLI's shell tool is called."""

    command: str


@dataclass(frozen=True, kw_only=True)
class Call(Step):
    tool: str
    input: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Refuse(Step):
    """An error instead of an answer."""

    status: int
    body: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Stall(Step):
    """Take the request and never answer, until the server closes."""

    #: Begin the answer, and fall silent then.
    begun: bool = False


class ScriptedModel:
    """Use as a context: the server lives inside it."""

    def __init__(self, *script: Step | Callable[[], Step]) -> None:
        self.script = script
        #: The body of each request that took a step, in order.
        self.requests: list[dict[str, Any]] = []
        #: What logged each of them in, as its header said it.
        self.logins: list[str] = []
        #: Set by the first of them.
        self.asked = threading.Event()
        self.closing = threading.Event()
        self._lock = threading.Condition()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self.handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    def handler(self) -> type[BaseHTTPRequestHandler]:
        """What answers each request."""
        return _handler(self)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def wait_for(self, requests: int, seconds: float = 60.0) -> None:
        """Wait until so many requests took a step."""
        with self._lock:
            enough = self._lock.wait_for(lambda: len(self.requests) >= requests, seconds)
        assert enough, f"{len(self.requests)} requests came"

    def take(self, body: dict[str, Any], login: str = "") -> Step:
        """The step for a request. A side request (a title, a summary) offers no tools: no step."""
        if not body.get("tools"):
            return Say(text="aside")
        with self._lock:
            step = self.script[min(len(self.requests), len(self.script) - 1)]
            step = step if isinstance(step, Step) else step()
            self.requests.append(body)
            self.logins.append(login)
            self._lock.notify_all()
        self.asked.set()
        return step


def _handler(model: ScriptedModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def do_HEAD(self) -> None:
            self.reply(200, {})

        def do_GET(self) -> None:
            self.reply(200 if self.path.split("?")[0].endswith("/models") else 404, {"data": []})

        def do_POST(self) -> None:
            raw = self.body()
            path = self.path.split("?")[0]
            dialect = {"/messages": anthropic, "/responses": responses}.get(path[path.rfind("/") :])
            if dialect is None:
                tokens = path.endswith("/count_tokens")
                self.reply(200 if tokens else 404, {"input_tokens": len(raw) // 4})
                return
            body = json.loads(raw)
            login = self.headers.get("x-api-key") or self.headers.get("authorization") or ""
            self.answer(dialect, body, model.take(body, login.removeprefix("Bearer ")))

        def body(self) -> bytes:
            """The request's body, of a length told before or in chunks, as a proxy may send it."""
            if "chunked" not in self.headers.get("transfer-encoding", "").lower():
                return self.rfile.read(int(self.headers.get("content-length") or 0))
            data = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                data += self.rfile.read(size)
                self.rfile.readline()
            while self.rfile.readline().strip():  # trailers
                pass
            return data

        def answer(self, dialect: Any, body: dict[str, Any], step: Step) -> None:
            match step:
                case Refuse(status=status, body=error):
                    self.reply(status, error, step.headers)
                case Stall(begun=begun):
                    if begun:
                        self.stream([], step.headers)
                        self.wfile.flush()
                    model.closing.wait(timeout=60)
                    self.close_connection = True
                case _ if body.get("stream"):
                    self.stream(dialect.events(body, step), step.headers)
                case _:
                    self.reply(200, dialect.whole(body, step), step.headers)

        def reply(
            self, status: int, body: dict[str, Any], headers: dict[str, str] | None = None
        ) -> None:
            data = b"" if self.command == "HEAD" else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def stream(self, events: list[dict[str, Any]], headers: dict[str, str]) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("connection", "close")
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            for event in events:
                data = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
                self.wfile.write(data.encode())
            self.close_connection = True

    return Handler
