"""JSON over HTTP with the standard library, bounded in time and size."""

import json
from collections.abc import Mapping
from http.client import HTTPException
from typing import Any, cast
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from msgspec import Struct

#: No answer that is read is longer.
_LARGEST = 4 << 20


class HttpAnswer(Struct, frozen=True):
    """What a server answered; a status of 0: no answer, and `text` says why."""

    status: int
    text: str

    @property
    def value(self) -> dict[str, Any]:
        """The answer as an object; empty if the answer is no object."""
        try:
            found = json.loads(self.text)
        except ValueError:
            return {}
        return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def ask(
    url: str,
    body: Mapping[str, Any] | None = None,
    *,
    timeout: float,
    headers: Mapping[str, str] | None = None,
) -> HttpAnswer:
    """POST an object, or GET without one. Never raises for what the other side does."""
    data = None if body is None else json.dumps(body).encode()
    given = {"Content-Type": "application/json", **(headers or {})}
    request = Request(url, data, given)  # noqa: S310 - the settings allow http and https alone
    try:
        with urlopen(request, timeout=timeout) as answer:  # noqa: S310
            return HttpAnswer(answer.status, answer.read(_LARGEST).decode(errors="replace"))
    except HTTPError as error:
        with error:
            return HttpAnswer(error.code, error.read(_LARGEST).decode(errors="replace"))
    except (OSError, ValueError, HTTPException) as error:
        return HttpAnswer(0, str(getattr(error, "reason", "") or error) or type(error).__name__)
