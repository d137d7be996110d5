"""Text as a terminal may be given it: what tasks and agents wrote is shown and never obeyed, cut to
a width; times, spans and counts take few characters. Pure.

A terminal obeys control characters, and bidirectional ones change the order in which text is read.
Each is shown as an escape instead. Text that only programs read (JSON in a pipe, files) stays as it
is.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from unicodedata import category, east_asian_width

#: What is not printable and may stand in a JSON text as it is.
_IN_JSON = r"[\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]"

_STYLED = r"\x1b\[[\d;]*m"


def one_line(text: str) -> str:
    """Text on one line; control characters are shown as escapes."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def first_line(text: str) -> str:
    """The first line of a text, where there is room for one."""
    return one_line(text.strip().partition("\n")[0])


def headline(text: str, where: str = "") -> str:
    """The first line of a text, with a mark if it has more; `where` tells where those are read."""
    first, _, rest = text.strip().partition("\n")
    if not rest:
        return one_line(first)
    return one_line(f"{first.rstrip(': ')} …{f' ({where})' if where else ''}")


def ending_words(outcome: str, why: str) -> str:
    """`Stalled (silent): nothing moved for 7m`: the outcome, and why, each of them once."""
    rest = first_line(why).rstrip(": ")
    reason = outcome.partition("(")[2].removesuffix(")")
    for known in (outcome, f"{reason}:" if reason else ""):
        if known and rest.lower().startswith(known.lower()):
            rest = rest[len(known) :].lstrip(": ")
    return f"{outcome}: {rest}" if rest else outcome


def harmless(text: str) -> str:
    """Text with lines and tabs kept, and every other control character as an escape."""
    if text.replace("\n", "").replace("\t", "").isprintable():  # as nearly all text is
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else repr(c)[1:-1] for c in text)


def harmless_json(text: str) -> str:
    """JSON of the same meaning, in which no character is one that a terminal obeys."""
    return re.sub(_IN_JSON, lambda found: f"\\u{ord(found[0]):04x}", text)


def duration(seconds: float) -> str:
    """A time span in the two largest units: 45s, 3m 05s, 1h 02m, 2d 03h."""
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
    """A time in the zone of `now`; with the day if that is not the day of `now`."""
    local = at.astimezone(now.tzinfo)
    return f"{local:%H:%M:%S}" if local.date() == now.date() else f"{local:%b %d %H:%M}"


def count(number: int) -> str:
    """A number of tokens or events in few characters: 950, 12.3k, 180k, 1.2M."""
    if number < 1000:
        return str(number)
    if number < 999_500:
        return f"{number / 1000:.1f}k" if number < 99_950 else f"{number / 1000:.0f}k"
    return f"{number / 1_000_000:.1f}M"


def counted(number: int, one: str, many: str = "") -> str:
    """`1 run`, `3 runs`; `many` is the plural where that is not with an s."""
    return f"{number} {one if number == 1 else many or f'{one}s'}"


def ahead(at: datetime, now: datetime) -> str:
    """A moment that comes, and in how long: `14:05:00 (in 3m 05s)`."""
    return f"{moment(at, now)} (in {duration((at - now).total_seconds())})"


def bar(share: float, width: int) -> str:
    """A gauge of `width` cells: `███░░`."""
    full = round(max(0.0, min(1.0, share)) * width)
    return "█" * full + "░" * (width - full)


def fullness(percent: float) -> str:
    """The colour of a gauge: green, yellow from 50 %, red from 80 %."""
    return "red" if percent >= 80 else "yellow" if percent >= 50 else "green"


def some(names: Sequence[str], most: int, more: int = 0) -> str:
    """The first names, and how many there are beyond these: `a, b and 3 more`. `more` is how many
    there are beside those that are given.
    """
    rest = max(0, len(names) - most) + more
    shown = ", ".join(names[:most])
    return f"{shown} and {rest} more" if rest else shown


def unstyled(text: str) -> str:
    """A text without colours."""
    return re.sub(_STYLED, "", text) if "\x1b" in text else text


def cells(text: str) -> int:
    """How many columns of a terminal a text takes: wide letters take two, marks and styles none."""
    plain = unstyled(text)
    return len(plain) if plain.isascii() else sum(map(_cells_of, plain))


def _cells_of(letter: str) -> int:
    if category(letter) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if east_asian_width(letter) in "WF" else 1


def cut(text: str, width: int) -> str:
    """The beginning of a text, as much as fits."""
    return _shortened(text, width, lambda rest: rest[:-1], "{}…")


def cut_front(text: str, width: int) -> str:
    """The end of a text, which tells the most of a path."""
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
