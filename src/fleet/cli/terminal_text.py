"""Text on its way to a person: on a terminal text of tasks and agents is shown and never obeyed, in
columns and in colours, and broken between words at the terminal's width; in a pipe or a file each
sentence stays one line.
"""

import os
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType

from fleet.schemas.shown_text import cells, one_line

#: The width of output that goes to a file or a program: nothing is cut.
ENDLESS = 10_000
#: Where the text of a line of the log begins, behind its time.
AFTER_TIME = 10
#: The least room that a text is broken for: in less, each word would stand alone.
_LEAST_ROOM = 20
_SGR: Mapping[str, str] = MappingProxyType(
    {
        "bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "magenta": "35",
        "cyan": "36",
    }
)  # fmt: skip


def print_line(text: str = "", indent: int = 2, *, err: bool = False) -> None:
    """Print a sentence, or several on lines of their own; what does not fit is indented."""
    out = sys.stderr if err else sys.stdout
    width = terminal_width() if out.isatty() else ENDLESS
    shown = (_broken(line, indent, width) for line in text.split("\n"))
    print("\n".join(shown), file=out, flush=True)


def print_row(name: str, value: str, column: int) -> None:
    """Print `name: value`, the value in a column. Without a name: more of the row above."""
    print(row(name, value, column), flush=True)


def row(name: str, value: str, column: int) -> str:
    """What `print_row` prints."""
    head = f"{name}: " if name else ""
    return f"{head:<{column}}{folded(value, column)}"


def _broken(line: str, indent: int, width: int) -> str:
    words = line.lstrip(" ")
    begin = len(line) - len(words)
    return " " * begin + folded(words, begin + indent, width, begin)


def lines(text: str, indent: str = "  ") -> str:
    """Text line by line, each indented and free of control characters."""
    return "\n".join(f"{indent}{one_line(line)}".rstrip() for line in text.splitlines())


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
    """Text in a colour, bold, dim or several of these; unchanged without a style, or where colours
    are not wanted.
    """
    if not (style and text and wants_colour()):
        return text
    return f"\x1b[{';'.join(_SGR[word] for word in style.split())}m{text}\x1b[0m"


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
