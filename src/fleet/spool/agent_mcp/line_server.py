"""The Model Context Protocol on stdin and stdout: one JSON message a line, tools and nothing else.

Two eras are spoken: `initialize` (2024-11-05 to 2025-11-25), and the stateless one with
`server/discover` (2026-07-28). One thread: a tool that waits is asked again and again.
"""

import json
import os
import select
import time

#: Versions that begin with `initialize`, and versions that need no beginning; newest last.
HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STATELESS = ("2026-07-28",)
#: Bytes of one message; a longer one is answered with an error and read past.
LARGEST = 4 << 20
#: Calls that may wait at once, and requests in one batch.
MOST_WAITING = 64
#: Seconds between two looks at a call that waits, and between two signs of life to its client.
_SHORTEST_PAUSE, _LONGEST_PAUSE, _SIGN_OF_LIFE = 0.005, 0.1, 20.0

_PARSE, _INVALID, _NO_METHOD, _BAD_PARAMS, _OTHER_VERSION = -32700, -32600, -32601, -32602, -32022
_META = "io.modelcontextprotocol/"

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` would cost a third of this program's start
    from typing import Any

Json = dict[str, object]


class RpcError(Exception):
    """What is wrong with a request, in terms of JSON-RPC."""

    def __init__(self, code: int, message: str, data: "Json | None" = None) -> None:
        super().__init__(message)
        self.error: Json = {"code": code, "message": message, **({"data": data} if data else {})}


class PendingCall:
    """A call of a tool that has no result yet."""

    #: What the call waits for, for the client's own signs of life.
    words = ""

    def look(self, now: float) -> "Json | None":
        """The result; None: not yet. `now` is on the monotonic clock."""
        raise NotImplementedError

    def cancel(self) -> None:
        """The client no longer wants the result."""


class Tools:
    """What a server offers. `call` returns a result, or a `PendingCall` that will have one."""

    name = "fleet"
    version = "1"
    instructions = ""
    #: Seconds in which calls are still answered after the client has closed its end.
    last_seconds = 0.0
    offered: "tuple[Json, ...]" = ()

    def call(self, name: str, arguments: Json) -> "Json | PendingCall":
        raise NotImplementedError


def said(text: str, *, is_error: bool = False) -> Json:
    """The result of a tool that answers with a text."""
    result: Json = {"content": [{"type": "text", "text": text}]}
    return {**result, "isError": True} if is_error else result


class _OpenCall:
    """A call that waits, and how the client is told so."""

    def __init__(self, waiting: PendingCall, message: Json, *, modern: bool) -> None:
        self.waiting, self.modern = waiting, modern
        self.request_id = message.get("id")
        meta = _table(_table(message.get("params")).get("_meta"))
        self.token = meta.get("progressToken")
        self.began = self.last_sign = time.monotonic()


class LineServer:
    """Serves one client until the client closes the stream."""

    def __init__(self, tools: Tools, source: int = 0, target: int = 1) -> None:
        self._tools, self._source, self._target = tools, source, target
        self._buffer = bytearray()
        #: The rest of a message that is too long is being read past.
        self._skipping = False
        self._open: list[_OpenCall] = []
        self._pause = _SHORTEST_PAUSE

    def serve(self) -> None:
        """Answer until the client is gone; what waits too long then is let go."""
        while True:
            ready, _, _ = select.select([self._source], [], [], self._pause if self._open else None)
            if ready:
                data = os.read(self._source, 1 << 16)
                if not data:
                    self._answer_last()
                    break
                if not self._take(data):
                    break
                self._pause = _SHORTEST_PAUSE
            if not self._look():
                break
            self._pause = min(self._pause * 1.25, _LONGEST_PAUSE)
        for call in self._open:
            call.waiting.cancel()

    def _answer_last(self) -> None:
        """Answer a client, like a pipe of the shell, that asks, closes the stream, and still reads
        the answers.
        """
        until = time.monotonic() + self._tools.last_seconds
        while self._open and time.monotonic() < until and self._look():
            time.sleep(_SHORTEST_PAUSE)

    # Lines.

    def _take(self, data: bytes) -> bool:
        """Read whole lines. False: the client no longer reads."""
        self._buffer += data
        while (end := self._buffer.find(b"\n")) >= 0:
            line = bytes(self._buffer[:end])
            del self._buffer[: end + 1]
            if self._skipping:
                self._skipping = False
            elif line.strip() and not self._message(line):
                return False
        if len(self._buffer) > LARGEST:
            self._buffer.clear()
            if not self._skipping:
                self._skipping = True
                return self._complain(_INVALID, f"a message may have {LARGEST} bytes")
        return True

    def _message(self, line: bytes) -> bool:
        try:
            message: Any = json.loads(line)
        except (ValueError, RecursionError) as error:
            return self._complain(_PARSE, f"it is no JSON: {error}")
        if not _is(list, message):
            return self._answer(message)
        if not 0 < len(message) <= MOST_WAITING:
            return self._complain(_INVALID, f"a batch has 1 to {MOST_WAITING} messages")
        return all(self._answer(each) for each in message)

    def _complain(self, code: int, text: str) -> bool:
        """Answer what names no request."""
        return self._send({"id": None, "error": RpcError(code, text).error})

    def _send(self, message: Json) -> bool:
        """Write one message whole. False: the client no longer reads."""
        text = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=True, separators=(",", ":"))
        left = memoryview(text.encode() + b"\n")
        try:
            while left:
                left = left[os.write(self._target, left) :]
        except OSError:
            return False
        return True

    # Messages.

    def _answer(self, message: "Any") -> bool:
        """Answer one message; a notification, and what answers us, is not answered."""
        if not _is(dict, message) or message.get("jsonrpc") != "2.0":
            return self._complain(_INVALID, "it is no message of JSON-RPC 2.0")
        method, request_id = message.get("method"), message.get("id")
        if not isinstance(method, str):
            return True
        if request_id is None:
            self._notice(method, _table(message.get("params")))
            return True
        if isinstance(request_id, bool) or not isinstance(request_id, int | str):
            return self._complain(_INVALID, "an id is a text or a number")
        try:
            result = self._result(method, message)
        except RpcError as error:
            return self._send({"id": request_id, "error": error.error})
        return result is None or self._send({"id": request_id, "result": result})

    def _notice(self, method: str, params: Json) -> None:
        if method != "notifications/cancelled":
            return
        gone = [call for call in self._open if call.request_id == params.get("requestId")]
        self._open = [call for call in self._open if call not in gone]
        for call in gone:
            call.waiting.cancel()

    def _result(self, method: str, message: Json) -> "Json | None":
        """The result of a request; None: the result comes later."""
        params = message.get("params")
        if params is not None and not _is(dict, params):
            raise RpcError(_BAD_PARAMS, "params is no object")
        given = _table(params)
        modern = _modern(given)
        match method:
            case "initialize":
                return self._handshake(given)
            case "server/discover":
                return _marked(self._described(), self._tools, modern=True, lasts=True)
            case "ping":
                return {"resultType": "complete"} if modern else {}
            case "tools/list":
                tools: Json = {"tools": list(self._tools.offered)}
                return _marked(tools, self._tools, modern=modern, lasts=True)
            case "tools/call":
                return self._call(given, message, modern=modern)
            case _:
                raise RpcError(_NO_METHOD, f"there is no method {method[:100]}")

    def _handshake(self, params: Json) -> Json:
        wanted = params.get("protocolVersion")
        described = self._described()
        del described["supportedVersions"]
        return {
            "protocolVersion": wanted if wanted in HANDSHAKE else HANDSHAKE[-1],
            "serverInfo": _info(self._tools),
            **described,
        }

    def _described(self) -> Json:
        return {
            "supportedVersions": [*HANDSHAKE, *STATELESS],
            "capabilities": {"tools": {}},
            "instructions": self._tools.instructions,
        }

    def _call(self, params: Json, message: Json, *, modern: bool) -> "Json | None":
        name, arguments = params.get("name"), params.get("arguments")
        if not any(tool["name"] == name for tool in self._tools.offered):
            raise RpcError(_BAD_PARAMS, f"there is no tool {str(name)[:100]}")
        if arguments is not None and not _is(dict, arguments):
            raise RpcError(_BAD_PARAMS, "arguments is no object")
        if any(call.request_id == message["id"] for call in self._open):
            raise RpcError(_INVALID, "a call with this id waits already")
        if len(self._open) >= MOST_WAITING:
            return _marked(said("Too many calls wait.", is_error=True), self._tools, modern=modern)
        done = self._tools.call(str(name), _table(arguments))
        if isinstance(done, PendingCall):
            self._open.append(_OpenCall(done, message, modern=modern))
            return None
        return _marked(done, self._tools, modern=modern)

    def _look(self) -> bool:
        """Ask each call that waits. False: the client no longer reads."""
        now = time.monotonic()
        for call in list(self._open):
            result = call.waiting.look(now)
            if result is not None:
                self._open.remove(call)
                self._pause = _SHORTEST_PAUSE
                marked = _marked(result, self._tools, modern=call.modern)
                if not self._send({"id": call.request_id, "result": marked}):
                    return False
            elif call.token is not None and now - call.last_sign >= _SIGN_OF_LIFE:
                call.last_sign = now
                progress: Json = {
                    "progressToken": call.token,
                    "progress": round(now - call.began),
                    "message": call.waiting.words,
                }
                if not self._send({"method": "notifications/progress", "params": progress}):
                    return False
        return True


def _modern(params: Json) -> bool:
    """Whether a request is of the stateless era. Raises RpcError for an unknown version."""
    version = _table(params.get("_meta")).get(f"{_META}protocolVersion")
    if version is None or version in HANDSHAKE:
        return False
    if version not in STATELESS:
        served: Json = {"supported": list(STATELESS), "requested": str(version)[:100]}
        raise RpcError(_OTHER_VERSION, "Unsupported protocol version", served)
    return True


def _marked(result: Json, tools: Tools, *, modern: bool, lasts: bool = False) -> Json:
    """The result with what the stateless era wants of each; `lasts`: the result may be kept."""
    if not modern:
        return result
    kept: Json = {"ttlMs": 3_600_000, "cacheScope": "private"} if lasts else {}
    meta = {f"{_META}serverInfo": _info(tools)}
    return {**result, **kept, "resultType": "complete", "_meta": meta}


def _info(tools: Tools) -> Json:
    return {"name": tools.name, "version": tools.version}


def _table(value: "Any") -> Json:
    return value if _is(dict, value) else {}


def _is(kind: type, value: object) -> bool:
    """What a type checker makes of an unknown list or table is of no use here."""
    return isinstance(value, kind)
