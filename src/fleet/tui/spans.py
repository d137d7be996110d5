"""Lines of the screen as values: stretches of text, each with a style. Pure.

All text of tasks and agents passes `said`, so that no terminal ever obeys it.
"""

import re
from collections.abc import Iterator, Sequence

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


def joined(parts: Sequence[SpanLine], between: str = "  ") -> SpanLine:
    """One line out of several, with a text between them."""
    found: list[Span] = []
    for number, part in enumerate(part for part in parts if part):
        if number:
            found.append((between, ""))
        found.extend(part)
    return tuple(found)
