"""Lines of the screen as values: stretches of text, each with a style; and listings: lines, each
with what it stands for. Pure.

All text of tasks and agents passes `said`, so that no terminal ever obeys it.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import overload

from msgspec import Struct

from fleet.schemas.shown_text import cells, cut, one_line, wrapped

#: A text and its style: `bold`, `dim`, a colour, or several of them; empty: plain.
Span = tuple[str, str]
SpanLine = tuple[Span, ...]

EMPTY: SpanLine = ()
#: The least room that a text is broken for.
_LEAST_ROOM = 16
#: How wide a tab of a file is drawn.
_TAB = "    "
#: How far a line of a text may stand in.
_DEEPEST = 24


def said(text: str) -> str:
    """Text of a task or an agent on one line, with every control character as an escape."""
    return one_line(text.replace("\t", _TAB))


def plain(line: SpanLine) -> str:
    """The text of a line."""
    return "".join(text for text, _ in line)


def clipped(line: SpanLine, width: int) -> SpanLine:
    """As much of a line as fits; what is cut ends in `…`."""
    room = width
    found: list[Span] = []
    for text, style in line:
        size = cells(text)
        if size > room:
            found.append((cut(text, room), style))
            return tuple(found)
        found.append((text, style))
        room -= size
    return tuple(found)


def standing_out(line: SpanLine, wanted: str) -> SpanLine:
    """The line with every occurrence of a text reversed, in any case."""
    found: list[Span] = []
    for text, style in line:
        at = 0
        for hit in re.finditer(re.escape(wanted), text, re.IGNORECASE):
            found += [(text[at : hit.start()], style), (hit[0], f"{style} reverse".strip())]
            at = hit.end()
        found.append((text[at:], style))
    return tuple(span for span in found if span[0])


def sides(left: SpanLine, right: SpanLine, width: int) -> SpanLine:
    """A line with `right` at the right edge; `left` is cut where both have no room."""
    room = width - cells(plain(right))
    head = clipped(left, max(0, room - 1))
    return (*head, (" " * (room - cells(plain(head))), ""), *right)


def column(text: str, width: int, *, right: bool = False) -> str:
    """A text in a column of this width."""
    short = cut(text, width)
    gap = " " * (width - cells(short))
    return gap + short if right else short + gap


def paragraph(text: str, width: int, style: str = "", indent: int = 0) -> Iterator[SpanLine]:
    """A text of several lines, each broken between words; how far a line stands in is kept."""
    for part in text.strip("\n").splitlines():
        words = part.replace("\t", _TAB).lstrip(" ")
        begin = indent + min(_DEEPEST, len(part.replace("\t", _TAB)) - len(words))
        for row in wrapped(said(words.rstrip()), max(_LEAST_ROOM, width - begin)):
            yield ((" " * begin, ""), (row, style))


def fact(
    name: str, value: str, width: int, style: str = "", column_width: int = 12
) -> list[SpanLine]:
    """A named value; what has no room goes on below, in the same column."""
    column_width = max(column_width, cells(name) + 1)
    rows = list(wrapped(said(value), max(_LEAST_ROOM, width - column_width)))
    head: SpanLine = ((column(name, column_width), "dim"), (rows[0], style))
    return [head, *(((" " * column_width, ""), (row, style)) for row in rows[1:])]


class LazyLines(Sequence[SpanLine]):
    """Lines that are made when they are first looked at: of a long list only what is in sight."""

    def __init__(self, makers: Sequence[SpanLine | Callable[[], SpanLine]]) -> None:
        self._makers = makers
        self._made: dict[int, SpanLine] = {}

    def __len__(self) -> int:
        return len(self._makers)

    @overload
    def __getitem__(self, index: int) -> SpanLine: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[SpanLine]: ...
    def __getitem__(self, index: int | slice) -> SpanLine | Sequence[SpanLine]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        if index not in self._made:
            maker = self._makers[index]
            self._made[index] = maker() if callable(maker) else maker
        return self._made[index]


class Listing(Struct, frozen=True):
    """Lines, and the key of each; a line with an empty key cannot be chosen."""

    lines: Sequence[SpanLine] = ()
    keys: Sequence[str] = ()


class ListingDraft:
    """A listing in the making."""

    def __init__(self) -> None:
        self._lines: list[SpanLine | Callable[[], SpanLine]] = []
        self._keys: list[str] = []

    def add(self, line: SpanLine | Callable[[], SpanLine] = EMPTY, key: str = "") -> None:
        self._lines.append(line)
        self._keys.append(key)

    def done(self) -> Listing:
        return Listing(LazyLines(self._lines), self._keys)
