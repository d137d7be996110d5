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
#: The events whose text is the agent's.
_SAYING = ("assistant_text", "thinking", "tool_use")
#: Characters of what is repeated, for people.
_SHOWN = 200


class News(Struct, kw_only=True):
    """The new and the repeated of a run so far. Only `add` changes it."""

    #: Events with something new.
    count: int = 0
    #: Results and sentences in a row that brought nothing new, and the last of them.
    repeats: int = 0
    repeated: str = ""
    _seen: dict[bytes | int, None] = field(default_factory=dict[bytes | int, None])

    def add(self, event: Event, calls: Mapping[str, "OpenCall"]) -> None:
        """Take in one event; `calls` are those that were open before it, by id."""
        fresh, seen = event.kind in ("session_started", "session_ended", "compaction"), self._seen
        for what in _contents(event, calls):
            if what in seen:
                del seen[what]  # it is the latest again
            else:
                fresh = True
            seen[what] = None
        while len(seen) > _MOST:
            del seen[next(iter(seen))]
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


def _contents(event: Event, calls: Mapping[str, "OpenCall"]) -> Iterator[bytes | int]:
    """A digest of each call, result and sentence of an event. Most lines are a sentence, and have
    the cheapest one.
    """
    for call in event.calls:
        yield mark_of(call)
    for result in event.results:
        mark = calls[result.id].mark if result.id in calls else b""
        text = result.text.encode(errors="replace")
        yield sha256(b"%s\0%d\0%s" % (mark, result.is_error, text)).digest()
    if event.kind in _SAYING and (text := event.text.strip()):
        yield hash(text)


def mark_of(call: ToolCall) -> bytes:
    """A digest of name and input: equal for equal calls."""
    try:
        given = msgspec.json.encode(call.input, order="deterministic")
    except (TypeError, ValueError, OverflowError, RecursionError):
        given = repr(call.input).encode(errors="replace")  # a custom coder may put anything there
    return sha256(call.name.encode(errors="replace") + b"\0" + given).digest()
