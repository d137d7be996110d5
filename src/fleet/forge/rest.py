"""Asks a forge's HTTP interface: bounded in time and size, and never led to another host."""

import http.client
import ssl
from typing import Any
from urllib.parse import quote, urlsplit

import msgspec
from msgspec import Struct

from fleet.forge.forge_protocol import ForgeSilent

_PATIENCE = 30.0
_LARGEST = 8 << 20


class RestAnswer(Struct, frozen=True, kw_only=True):
    """An answer of the forge, also one that says no."""

    status: int
    #: None: an answer without content.
    body: Any = None

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    @property
    def why(self) -> str:
        """What the forge says of a failure."""
        said = self.body.get("message", "") if isinstance(self.body, dict) else ""  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
        return f"{said or http.client.responses.get(self.status, 'no')} (HTTP {self.status})"[:500]


class RestClient:
    """The interface of one forge below one address, with one login."""

    def __init__(self, site: str, prefix: str, authorization: str) -> None:
        parts = urlsplit(site)
        self._secure = parts.scheme == "https"
        self._host, self._prefix = parts.netloc, f"{parts.path}{prefix}"
        self._headers = {"Accept": "application/json", "User-Agent": "fleet"}
        if authorization:
            self._headers["Authorization"] = authorization

    def get(self, *words: str, query: str = "") -> RestAnswer | ForgeSilent:
        return self._ask("GET", words, query, None)

    def post(self, *words: str, body: object) -> RestAnswer | ForgeSilent:
        return self._ask("POST", words, "", body)

    def _ask(
        self, method: str, words: tuple[str, ...], query: str, body: object
    ) -> RestAnswer | ForgeSilent:
        path = self._prefix + "".join(f"/{quote(word, safe='')}" for word in words)
        data = msgspec.json.encode(body) if body is not None else None
        headers = self._headers | ({"Content-Type": "application/json"} if data else {})
        try:
            connection = self._connection()
            try:
                connection.request(method, f"{path}?{query}" if query else path, data, headers)
                answer = connection.getresponse()
                text = answer.read(_LARGEST + 1)
            finally:
                connection.close()
        except (OSError, ssl.SSLError, http.client.HTTPException, ValueError) as error:
            return ForgeSilent(why=f"{self._host} gives no answer: {error or type(error).__name__}")
        return _read(self._host, answer.status, text)

    def _connection(self) -> http.client.HTTPConnection:
        if self._secure:
            return http.client.HTTPSConnection(self._host, timeout=_PATIENCE)
        return http.client.HTTPConnection(self._host, timeout=_PATIENCE)


def _read(host: str, status: int, text: bytes) -> RestAnswer | ForgeSilent:
    if status == 429 or status >= 500:
        return ForgeSilent(why=f"{host} answers HTTP {status}")
    if len(text) > _LARGEST:
        return ForgeSilent(why=f"{host} answers with more than {_LARGEST >> 20} MiB")
    try:
        body = msgspec.json.decode(text) if text.strip() else None
    except msgspec.DecodeError:
        if status >= 400:
            return RestAnswer(status=status)
        return ForgeSilent(why=f"{host} answers with something that is no JSON")
    return RestAnswer(status=status, body=body)
