"""Lines that are shown anew in their place on a terminal, until Ctrl-C."""

import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

#: Seconds from one look to the next; and how many times longer the pause is than the look before
#: it, so that a slow queue is asked less often.
_PAUSE, _REST = 1.0, 9

_HIDE_CURSOR, _SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"
_CLEAR_BELOW = "\x1b[J"


def show_live(look: Callable[[], Sequence[str]], pause: float = _PAUSE) -> None:
    """Print the lines that `look` returns over those of the look before; stdout is a terminal."""
    out, shown = sys.stdout, 0
    out.write(_HIDE_CURSOR)
    try:
        with suppress(KeyboardInterrupt):  # Ctrl-C is how a person leaves: no error
            while True:
                began = time.monotonic()
                height = os.get_terminal_size(out.fileno()).lines or 24
                lines = look()[: height - 1]
                up = f"\x1b[{shown}F" if shown else ""
                out.write(up + _CLEAR_BELOW + "".join(f"{line}\n" for line in lines))
                out.flush()
                shown = len(lines)
                time.sleep(max(pause, _REST * (time.monotonic() - began)))
    finally:
        out.write(_SHOW_CURSOR)
        out.flush()
