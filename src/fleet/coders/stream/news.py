"""What is new in a run's stream: calls, results and sentences that were not there before.

The same sentence each second, or the same call with the same result, is no progress. A part of
`RunTotals`. Its size has a bound, however long the run is.
"""

from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct, field

from fleet.schemas import Event, ToolCall

if TYPE_CHECKING:
    from fleet.coders.stream.tool_calls import OpenCall

#: How many calls, results and sentences are remembered, the latest.
_MOST = 2000
#: Characters of what is repeated, for people.
_SHOWN = 200


class News(Struct, kw_only=True):
    """The new and the repeated of a run so far. Only `add` changes it."""

    #: Events with something new.
    count: int = 0
    #: Results and sentences in a row that brought nothing new, and the last of them.
    repeats: int = 0
    repeated: str = ""
    _seen: dict[bytes, None] = field(default_factory=dict[bytes, None])

    def add(self, event: Event, calls: Mapping[str, "OpenCall"]) -> None:
        """Take in one event; `calls` are those that were open before it, by id."""
        fresh = event.kind in ("session_started", "session_ended", "compaction")
        for what in _contents(event, calls):
            fresh |= what not in self._seen
            self._seen.pop(what, None)
            self._seen[what] = None
        while len(self._seen) > _MOST:
            del self._seen[next(iter(self._seen))]
        if fresh:
            self.count += 1
            self.repeats, self.repeated = 0, ""
            return
        says = event.kind == "assistant_text" and not event.calls
        self.repeats += len(event.results) + says
        if event.results:
            call = calls.get(event.results[-1].id)
            self.repeated = call.name if call else self.repeated
        elif says:
            self.repeated = event.text.strip()[:_SHOWN]


def _contents(event: Event, calls: Mapping[str, "OpenCall"]) -> Iterator[bytes]:
    """A digest of each call, result and sentence of an event."""
    for call in event.calls:
        yield mark_of(call)
    for result in event.results:
        mark = calls[result.id].mark if result.id in calls else b""
        text = result.text.encode(errors="replace")
        yield sha256(b"%s\0%d\0%s" % (mark, result.is_error, text)).digest()
    if event.text.strip() and event.kind in ("assistant_text", "thinking", "tool_use"):
        yield sha256(event.text.strip().encode(errors="replace")).digest()


def mark_of(call: ToolCall) -> bytes:
    """A digest of name and input: equal for equal calls."""
    try:
        given = msgspec.json.encode(call.input, order="deterministic")
    except (TypeError, ValueError, OverflowError, RecursionError):
        given = repr(call.input).encode(errors="replace")  # a custom coder may put anything there
    return sha256(call.name.encode(errors="replace") + b"\0" + given).digest()
