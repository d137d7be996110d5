"""Two differences from the same state, beside each other: lines that both start from stand on one
row. Pure but for the colours.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import click
from msgspec import Struct
from rich.cells import cell_len

from fleet.cli.inspect.tasks_table import cut
from fleet.cli.terminal_text import one_line

#: Narrower columns than this are of no use to anybody.
NARROWEST = 40
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@")
_FILE = "diff --git "
_BETWEEN = " │ "
_GAP = "⋯"
_COLOURS: Mapping[str, str] = {"+": "green", "-": "red"}
#: The line of the old file that a line stands at, or is behind; 0 for that one itself, 1 for what
#: was added behind it; and which of those.
Key = tuple[int, int, int]


class Piece(Struct, frozen=True, kw_only=True):
    """The difference in one file: lines with their `+`, `-` or space, by where they belong."""

    path: str
    lines: dict[Key, str]


def pieces(patch: str) -> dict[str, Piece]:
    """A difference as git prints it, by file."""
    found: dict[str, Piece] = {}
    for part in f"\n{patch}".split(f"\n{_FILE}")[1:]:
        head, _, body = part.partition("\n")
        path = _path(head)
        found[path] = Piece(path=path, lines=dict(_lines(body.splitlines())))
    return found


def _path(head: str) -> str:
    """`a/NAME b/NAME`: nothing is renamed, so both halves are the same."""
    return head[len(head) // 2 + 1 :].strip('"').removeprefix("b/")


def _lines(body: Sequence[str]) -> Iterator[tuple[Key, str]]:
    at = added = 0
    inside = False
    for line in body:
        if found := _HUNK.match(line):
            inside, added = True, 0
            # A hunk without old lines names the one before it.
            at = int(found[1]) - (0 if found[2] == "0" else 1)
        elif not inside:
            if line.startswith("Binary files"):
                yield (0, 0, 0), " (binary)"
        elif line.startswith("+"):
            yield (at, 1, added), line
            added += 1
        elif line.startswith(("-", " ")) or not line:
            at, added = at + 1, 0
            yield (at, 0, 0), line or " "


def beside(left: str, right: str, width: int, names: tuple[str, str]) -> Iterator[str]:
    """The rows of two differences, each half as wide as the terminal."""
    room = (width - len(_BETWEEN)) // 2
    ours, theirs = pieces(left), pieces(right)
    yield _row(names[0], names[1], room, bold=True)
    for path in sorted({*ours, *theirs}):
        yield ""
        yield click.style(cut(one_line(path), width), bold=True, fg="cyan")
        one = ours[path].lines if path in ours else {}
        other = theirs[path].lines if path in theirs else {}
        if not one or not other:
            who = names[0] if not one else names[1]
            yield click.style(cut(f"({one_line(who)} did not change it)", width), dim=True)
        yield from _rows(one, other, room)


def _rows(one: Mapping[Key, str], other: Mapping[Key, str], room: int) -> Iterator[str]:
    keys = sorted({*one, *other})
    for before, key in pairwise([keys[0], *keys] if keys else []):
        if key[0] > before[0] + 1:
            yield click.style(_GAP, dim=True)
        yield _row(one.get(key, ""), other.get(key, ""), room)


def _row(left: str, right: str, room: int, *, bold: bool = False) -> str:
    ours, theirs = (cut(one_line(text.expandtabs(4)), room) for text in (left, right))
    gap = " " * (room - cell_len(ours))
    return f"{_styled(ours, bold)}{gap}{_BETWEEN}{_styled(theirs, bold)}".rstrip()


def _styled(text: str, bold: bool) -> str:
    colour = None if bold else _COLOURS.get(text[:1])
    return click.style(text, fg=colour, bold=bold or None) if text and (colour or bold) else text


def coloured(patch: str) -> Iterator[str]:
    """One difference as it is, with its colours."""
    for line in patch.splitlines():
        text = one_line(line.expandtabs(4))
        if line.startswith(_FILE):
            yield click.style(text, bold=True, fg="cyan")
        elif line.startswith(("+++", "---")) or line[:1] not in _COLOURS:
            yield text
        else:
            yield click.style(text, fg=_COLOURS[line[:1]])
