"""Text on a terminal: text of tasks and agents is shown and never obeyed, broken between words, in
columns and in colours.
"""

import os
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType

from fleet.schemas.shown_text import cells, one_line

#: The width of output that goes to a file or a program: nothing is cut.
ENDLESS = 10_000

_SGR: Mapping[str, str] = MappingProxyType(
    {
        "bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "magenta": "35",
        "cyan": "36", "bold red": "1;31", "bold yellow": "1;33",
        "bold green": "1;32", "bold magenta": "1;35",
    }
)  # fmt: skip


def lines(text: str, indent: str = "  ") -> str:
    """Text line by line, each indented and free of control characters."""
    return "\n".join(f"{indent}{one_line(line)}".rstrip() for line in text.splitlines())


#: The least room that a text is broken for: in less, each word would stand alone.
_LEAST_ROOM = 20


def terminal_width() -> int:
    """How many characters a line may have: $COLUMNS, the terminal's width, or no limit."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns):
        return int(columns)
    if not sys.stdout.isatty():
        return ENDLESS
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or 80
    except OSError:
        return 80


def wants_colour() -> bool:
    """Stdout is a terminal that shows colours, and the user has not switched them off."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return sys.stdout.isatty() and not plain


def painted(text: str, style: str) -> str:
    """Text in a colour, bold or dim; unchanged without a style, or where colours are not wanted."""
    return f"\x1b[{_SGR[style]}m{text}\x1b[0m" if style and text and wants_colour() else text


def table(
    head: Sequence[str],
    rows: Sequence[Sequence[str] | str],
    *,
    right: Collection[str] = (),
    width: int = ENDLESS,
    drop: Sequence[str] = (),
) -> Iterator[str]:
    """Aligned columns below their bold names; the columns named in `right` end at one edge.

    A cell may have several lines, and be painted. A row that is a text stands by itself. Where the
    table is wider than `width`, the columns named in `drop` go, one after the other.
    """
    columns = list(zip(head, *(row for row in rows if not isinstance(row, str)), strict=True))
    widths = {
        name: max(cells(line) for cell in (name, *column) for line in cell.split("\n"))
        for name, *column in columns
    }
    for name in drop:
        if sum(widths.values()) + 2 * (len(widths) - 1) > width:
            del widths[name]
    for row in ([painted(name, "bold") for name in head], *rows):
        if isinstance(row, str):
            yield row
            continue
        shown = {n: cell.split("\n") for n, cell in zip(head, row, strict=True) if n in widths}
        for number in range(max(map(len, shown.values()))):
            parts: list[str] = []
            for name, lines in shown.items():
                line = lines[number] if number < len(lines) else ""
                gap = " " * (widths[name] - cells(line))
                parts.append(f"{gap}{line}" if name in right else f"{line}{gap}")
            yield "  ".join(parts).rstrip()


def folded(text: str, indent: int = 0, width: int | None = None, begin: int | None = None) -> str:
    """A text broken between words for a terminal, later lines indented; in a pipe one line.

    The first line begins at the column `begin`, or where the others do. A word that is too long
    stays whole: it may be a path.
    """
    if width is None:
        width = terminal_width() if sys.stdout.isatty() else ENDLESS
    lines, at = [""], indent if begin is None else begin
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if lines[-1] and cells(longer) > max(_LEAST_ROOM, width - at):
            lines.append(word)
            at = indent
        else:
            lines[-1] = longer
    return f"\n{'':{indent}}".join(line.rstrip(" ") for line in lines)
