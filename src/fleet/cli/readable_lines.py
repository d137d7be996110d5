"""JSON lines of logs and events as sentences, for people at a terminal."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, cast

import msgspec

from fleet.cli.terminal_text import (
    cut,
    first_line,
    folded,
    moment,
    one_line,
    painted,
    terminal_width,
)
from fleet.schemas.event import call_line

#: The least room of an event on a terminal, however narrow that is.
_LEAST_ROOM = 20

#: Events that tell a person nothing by themselves.
_QUIET = frozenset({"other", "usage", "rate_limit_info", "thinking"})
_STYLES = {"error": "red", "bad": "red", "rate_limit": "yellow", "retry": "yellow"}

JsonRow = Mapping[str, Any]


def readable(chunks: Iterable[bytes], now: datetime) -> Iterator[str]:
    """A line of text for each JSON line that tells something; what is no JSON stays unchanged."""
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        for raw in whole:
            yield from _shown(raw, now)
    if rest:
        yield from _shown(rest, now)


def _shown(raw: bytes, now: datetime) -> Iterator[str]:
    try:
        line = msgspec.json.decode(raw)
    except msgspec.DecodeError:
        line = None
    if not isinstance(line, dict):
        if raw.strip():
            yield one_line(raw.decode(errors="replace"))
        return
    try:
        words = _words(cast("JsonRow", line))
    except (AttributeError, TypeError):  # a line of another shape than fleet writes
        words = one_line(raw.decode(errors="replace")), ""
    if words is None:
        return
    text, style = words
    head, width = f"{_when(cast('JsonRow', line), now)}  ", terminal_width()
    room = max(_LEAST_ROOM, width - len(head))
    # What fleet did is told whole; what an agent did, as far as it fits on a line.
    words = folded(text, len(head), width) if "action" in line else cut(text, room)
    yield painted(head, "dim") + painted(words, style)


def _when(line: JsonRow, now: datetime) -> str:
    try:
        return moment(datetime.fromisoformat(str(line["ts"])), now)
    except (KeyError, ValueError):
        return " " * 8


def _words(line: JsonRow) -> tuple[str, str] | None:
    """What a line says, and in which style; None: nothing for a person."""
    if "action" in line:
        return one_line(str(line.get("text", ""))), ""
    kind = str(line.get("kind", ""))
    run = f"run {line['run']}: " if "run" in line else ""
    if kind.startswith("fleet_"):
        return f"{run}{_note(kind, line)}", "cyan"
    if calls := line.get("calls"):
        return run + "; ".join(_call(call) for call in calls), ""
    if results := line.get("results"):
        return _results(run, results)
    if kind in _QUIET:
        return None
    text = first_line(str(line.get("text", "")))
    if kind == "assistant_text":
        return f"{run}{text}", ""
    return f"{run}{kind.replace('_', ' ')}{': ' if text else ''}{text}", _STYLES.get(kind, "dim")


def _note(kind: str, line: JsonRow) -> str:
    """A note of fleet's own: name and facts."""
    facts = [
        f"{name} {one_line(_plain(value))}"
        for name, value in line.items()
        if name not in ("run", "kind", "ts", "at") and value not in ("", None, [], ())
    ]
    what = kind.removeprefix("fleet_").replace("_", " ")
    return f"fleet: {what}" + (f" ({', '.join(facts)})" if facts else "")


def _plain(value: object) -> str:
    """A value as a person writes it: the parts of a list behind each other."""
    if isinstance(value, list):
        return "; ".join(_plain(part) for part in cast("list[object]", value))
    if isinstance(value, dict):
        pairs = cast("dict[str, object]", value).items()
        return ", ".join(f"{name} {_plain(part)}" for name, part in pairs)
    return str(value)


def _call(call: JsonRow) -> str:
    given = cast("JsonRow", call.get("input") or {})
    return one_line(call_line(str(call.get("name", "")), given))


def _results(run: str, results: Iterable[JsonRow]) -> tuple[str, str] | None:
    """What failed; a tool without an error needs no line."""
    failed = [first_line(str(each.get("text", ""))) for each in results if each.get("is_error")]
    return (f"{run}failed: {'; '.join(failed)}", "red") if failed else None
