"""Text on a terminal: text of tasks and agents is shown as it is and never obeyed, cut to a width,
coloured; times, spans and counts take few characters.
"""

import os
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from unicodedata import category, east_asian_width

from fleet.schemas.shown_text import one_line

#: The width of output that goes to a file or a program: nothing is cut.
ENDLESS = 10_000

_SGR: Mapping[str, str] = MappingProxyType(
    {
        "bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "magenta": "35",
        "cyan": "36", "bold red": "1;31", "bold green": "1;32", "bold magenta": "1;35",
    }
)  # fmt: skip
_STYLED = re.compile(r"\x1b\[[\d;]*m")


def first_line(text: str) -> str:
    """The first line of a text, where there is room for one."""
    return one_line(text.strip().partition("\n")[0])


def told_ending(outcome: str, why: str) -> str:
    """`Stalled (silent): nothing moved for 7m`: the outcome, and why, each of them once."""
    rest = first_line(why).rstrip(": ")
    reason = outcome.partition("(")[2].removesuffix(")")
    for known in (outcome, f"{reason}:" if reason else ""):
        if known and rest.lower().startswith(known.lower()):
            rest = rest[len(known) :].lstrip(": ")
    return f"{outcome}: {rest}" if rest else outcome


def lines(text: str, indent: str = "  ") -> str:
    """Text on its own lines, each indented and free of control characters."""
    return "\n".join(f"{indent}{one_line(line)}".rstrip() for line in text.splitlines())


def duration(seconds: float) -> str:
    """A time span in its two largest units: 45s, 3m 05s, 1h 02m, 2d 03h."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole}s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes}m {rest:02}s"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours}h {minutes:02}m"
    return f"{hours // 24}d {hours % 24:02}h"


def moment(at: datetime, now: datetime) -> str:
    """A time in the zone of `now`; with its day if that is not the day of `now`."""
    local = at.astimezone(now.tzinfo)
    return f"{local:%H:%M:%S}" if local.date() == now.date() else f"{local:%b %d %H:%M}"


def count(number: int) -> str:
    """A number of tokens or events in few characters: 950, 12.3k, 180k, 1.2M."""
    if number < 1000:
        return str(number)
    if number < 999_500:
        return f"{number / 1000:.1f}k" if number < 99_950 else f"{number / 1000:.0f}k"
    return f"{number / 1_000_000:.1f}M"


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
    """Text in a colour, bold or dim; as it is without a style, or where colours are not wanted."""
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


def unstyled(text: str) -> str:
    """A text without its colours."""
    return _STYLED.sub("", text)


def cells(text: str) -> int:
    """How many columns of a terminal a text takes: wide letters take two, marks and styles none."""
    plain = unstyled(text)
    return len(plain) if plain.isascii() else sum(map(_cells_of, plain))


def _cells_of(letter: str) -> int:
    if category(letter) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if east_asian_width(letter) in "WF" else 1


def cut(text: str, width: int) -> str:
    """The beginning of a text, as much of it as fits."""
    return _shortened(text, width, lambda rest: rest[:-1], "{}…")


def cut_front(text: str, width: int) -> str:
    """The end of a text: of a path it tells most."""
    return _shortened(text, width, lambda rest: rest[1:], "…{}")


def _shortened(text: str, width: int, less: Callable[[str], str], mark: str) -> str:
    if cells(text) <= width:
        return text
    while text and cells(text) > width - 1:
        text = less(text)
    return mark.format(text) if width > 0 else ""


def wrapped(text: str, width: int) -> Iterator[str]:
    """A line broken between words; a word that is too long is cut."""
    line = ""
    for word in text.split(" "):
        longer = f"{line} {word}" if line else word
        if line and cells(longer) > width:
            yield cut(line, width)
            longer = word
        line = longer
    yield cut(line, width)


def folded(text: str, indent: int = 0, width: int | None = None, begin: int | None = None) -> str:
    """A text broken between words for a terminal, its later lines indented; in a pipe one line.

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
