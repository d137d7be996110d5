"""Text from tasks and agents on a person's terminal: shown as it is, never obeyed. And how long
and when, in few characters.
"""

import shutil
import sys
from datetime import datetime

#: As wide as anything: a pipe has no edge.
ENDLESS = 10_000


def one_line(text: str) -> str:
    """Text on one line; control characters are shown as escapes."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def first_line(text: str) -> str:
    """The first of some lines, where there is room for one."""
    return one_line(text.strip().partition("\n")[0])


def lines(text: str, indent: str = "  ") -> str:
    """Text on its own lines, each indented and free of control characters."""
    return "\n".join(f"{indent}{one_line(line)}".rstrip() for line in text.splitlines())


def harmless(text: str) -> str:
    """Text with its own lines and tabs, and every other control character as an escape."""
    return "".join(c if c.isprintable() or c in "\n\t" else repr(c)[1:-1] for c in text)


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
    """A moment on the reader's clock, whose zone is that of `now`; with its day if not today."""
    local = at.astimezone(now.tzinfo)
    return f"{local:%H:%M:%S}" if local.date() == now.date() else f"{local:%b %d %H:%M}"


def count(number: int) -> str:
    """A number of tokens or events in few characters: 950, 12.3k, 180k, 1.2M."""
    if number < 1000:
        return str(number)
    if number < 999_500:
        return f"{number / 1000:.1f}k" if number < 99_950 else f"{number / 1000:.0f}k"
    return f"{number / 1_000_000:.1f}M"


def terminal_width() -> int:
    """How many characters a line may have."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else ENDLESS
