"""One line of a CLI's JSON stream, read without trust: any line, any shape, never an exception.

A CLI changes its fields from one version to the next, and a cut or mixed-up line is ordinary
after a kill. So each accessor takes a path and gives an empty value of the asked type where the
path leads nowhere.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, cast

import msgspec

from fleet.schemas import Event
from fleet.schemas.budget import MOST_TOKENS

JsonObject = Mapping[str, Any]

#: Enough of a tool's output to tell what happened; the whole is in the raw stream.
TEXT_CAP = 4_000

#: Deeper than any CLI nests; deeper still would exhaust the stack when the event is encoded.
_MAX_DEPTH = 200

#: A larger number is a mistake, whatever it counts.
_LARGEST = 10**15
#: No run costs more.
MOST_DOLLARS = 1_000_000.0


def decode(line: str) -> JsonObject | None:
    """The JSON object on a line, or None."""
    if _depth_bound(line) > _MAX_DEPTH:
        return None
    try:
        data: Any = msgspec.json.decode(line)
    except ValueError:
        data = _mended(line)
    return cast("JsonObject", data) if isinstance(data, dict) else None


def _depth_bound(line: str) -> int:
    """An upper bound of how deep a line nests; letters are scanned only where the
    line may be deep.
    """
    if line.count("[") + line.count("{") <= _MAX_DEPTH:
        return 0
    depth = deepest = 0
    quoted = False
    letters = iter(line)
    for letter in letters:
        if letter == '"':
            quoted = not quoted
        elif quoted:
            if letter == "\\":
                next(letters, "")
        elif letter in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif letter in "]}":
            depth -= 1
    return deepest


def _mended(line: str) -> Any:
    """JSON that only a lenient reader takes: raw line breaks in strings, NaN, half a surrogate."""
    try:
        loose = json.loads(line, strict=False)
        clean = json.dumps(loose, ensure_ascii=False).encode("utf-8", "replace")
        return json.loads(clean)
    except (ValueError, RecursionError):
        return None


def bad(line: str) -> Event:
    """The event for a line that is no JSON object."""
    return Event(kind="bad", text=capped(line.encode("utf-8", "replace").decode("utf-8")))


def at(record: JsonObject, *path: str | int) -> Any:
    """What stands at a path of keys and list places, or None."""
    here: Any = record
    for step in path:
        # `__class__`, since every line of every stream comes by here some ten times.
        if here.__class__ is dict:
            here = here.get(step)
        elif here.__class__ is list and isinstance(step, int) and -len(here) <= step < len(here):
            here = here[step]
        else:
            return None
    return here


def text(record: JsonObject, *path: str | int) -> str:
    value = at(record, *path)
    return value if isinstance(value, str) else ""


def number(record: JsonObject, *path: str | int) -> float | None:
    value = at(record, *path)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not -_LARGEST <= value <= _LARGEST:  # no CLI means that, and no float may hold it; nor a NaN
        return None
    return float(value)


def count(record: JsonObject, *path: str | int) -> int:
    """A number of things: never negative or absurd, 0 where there is none."""
    found = number(record, *path) or 0
    return int(found) if 0 <= found <= MOST_TOKENS else 0


def money(record: JsonObject, *path: str | int) -> float | None:
    """A sum in dollars; None where there is none that could be true, which is not nought."""
    amount = number(record, *path)
    return amount if amount is not None and 0 <= amount <= MOST_DOLLARS else None


def moment(record: JsonObject, *path: str | int) -> datetime | None:
    """Seconds since 1970, where they make a date."""
    seconds = number(record, *path)
    if seconds is None or not 0 < seconds < 1e11:
        return None
    return datetime.fromtimestamp(seconds, UTC)


def record(whole: JsonObject, *path: str | int) -> dict[str, Any]:
    value = at(whole, *path)
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def records(whole: JsonObject, *path: str | int) -> list[dict[str, Any]]:
    value = at(whole, *path)
    items = cast("list[Any]", value) if isinstance(value, list) else []
    return [cast("dict[str, Any]", item) for item in items if isinstance(item, dict)]


def texts(whole: JsonObject, *path: str | int) -> list[str]:
    value = at(whole, *path)
    items = cast("list[Any]", value) if isinstance(value, list) else []
    return [item for item in items if isinstance(item, str)]


def capped(words: str) -> str:
    return words if len(words) <= TEXT_CAP else words[:TEXT_CAP] + "…"
