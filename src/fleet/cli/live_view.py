"""Lines that are drawn anew in their place on a terminal."""

import os
import sys
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from itertools import cycle

from fleet.cli.terminal_text import painted
from fleet.errors import BadInput, QueueError
from fleet.schemas.shown_text import one_line

#: Without wrapping the terminal cuts a line that is too long, so that a line takes one row.
_BEGIN, _END = "\x1b[?25l\x1b[?7l", "\x1b[?25h\x1b[?7h"
_CLEAR_BELOW = "\x1b[J"
_CLEAR_LINE = "\r\x1b[K"
#: Seconds after which silence is explained, and between two pictures of the sign that turns.
_SILENCE, _TURN = 1.0, 0.2
#: Seconds from one look of --watch to the next; and how many times longer the pause is than the
#: look before it, so that a slow queue is asked less often.
_PAUSE, _REST = 1.0, 9


@contextmanager
def live_view() -> Generator[Callable[[Sequence[str]], None]]:
    """A function that draws lines over the lines that were drawn before; stdout is a terminal."""
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


def watch_lines(lines: Callable[[], Sequence[str]], instead: str) -> None:
    """Draw lines over and over, until Ctrl-C; `instead` is the command line for a program."""
    if not sys.stdout.isatty():
        raise BadInput("--watch needs a terminal", hint=f"For a program: {instead}")
    with suppress(KeyboardInterrupt), live_view() as draw:  # Ctrl-C is how a person leaves
        while True:
            began = time.monotonic()
            try:
                draw(lines())
            except QueueError as error:  # the queue may answer the next look
                draw([painted(one_line(error.message), "red")])
            time.sleep(max(_PAUSE, _REST * (time.monotonic() - began)))


@contextmanager
def waiting(
    what: str, *, quiet: bool = False, after: float = _SILENCE
) -> Generator[Callable[[], None]]:
    """Say on a terminal's stderr what is waited for, once the wait is longer than a moment.

    Gives a function that takes the line away again, for a block that prints. `quiet` (as with
    --json), or a stderr that is no terminal: nothing is said.
    """
    over = threading.Event()
    if quiet or not sys.stderr.isatty():
        yield over.set
        return
    telling = threading.Thread(target=_tell, args=(what, over, after), daemon=True)

    def end() -> None:
        over.set()
        telling.join()

    telling.start()
    try:
        yield end
    finally:
        end()


def _tell(what: str, over: threading.Event, after: float) -> None:
    err, begun = sys.stderr, time.monotonic()
    if over.wait(after):
        return
    for sign in cycle("|/-\\"):
        err.write(f"{_CLEAR_LINE}{sign} {what} … {time.monotonic() - begun:.0f} s")
        err.flush()
        if over.wait(_TURN):
            break
    err.write(_CLEAR_LINE)
    err.flush()
