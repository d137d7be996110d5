"""Lines that are drawn anew in their place on a terminal."""

import os
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

#: Without wrapping the terminal cuts a line that is too long, so that a line takes one row.
_BEGIN, _END = "\x1b[?25l\x1b[?7l", "\x1b[?25h\x1b[?7h"
_CLEAR_BELOW = "\x1b[J"


@contextmanager
def live_view() -> Generator[Callable[[Sequence[str]], None]]:
    """A function that draws lines over those it drew before; stdout is a terminal."""
    out, shown = sys.stdout, 0

    def draw(lines: Sequence[str]) -> None:
        nonlocal shown
        height = os.get_terminal_size(out.fileno()).lines or 24
        fitting = lines[: height - 1]
        up = f"\x1b[{shown}F" if shown else ""
        out.write(up + _CLEAR_BELOW + "".join(f"{line}\n" for line in fitting))
        out.flush()
        shown = len(fitting)

    out.write(_BEGIN)
    try:
        yield draw
    finally:
        out.write(_END)
        out.flush()
