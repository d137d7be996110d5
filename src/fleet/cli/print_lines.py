"""Sentences and named rows on their way to a person: on a terminal they are broken between words at
the terminal's width, and later lines are indented; in a pipe or a file each stays one line.
"""

import sys

from fleet.cli.terminal_text import ENDLESS, folded, terminal_width, wants_colour
from fleet.schemas.shown_text import unstyled

#: Where the text of a line of the log begins, behind its time.
AFTER_TIME = 10


def print_line(text: str = "", indent: int = 2, *, err: bool = False) -> None:
    """Print a sentence, or several on lines of their own; what does not fit is indented."""
    _print([_broken(line, indent, err=err) for line in text.split("\n")], err=err)


def print_row(name: str, value: str, column: int) -> None:
    """Print `name: value`, the value in a column. Without a name: more of the row above."""
    _print([row(name, value, column)], err=False)


def row(name: str, value: str, column: int) -> str:
    """What `print_row` prints."""
    head = f"{name}:" if name else ""
    return f"{head:<{column}}{folded(value, column, _width(err=False))}"


def _broken(line: str, indent: int, *, err: bool) -> str:
    words = line.lstrip(" ")
    begin = len(line) - len(words)
    return " " * begin + folded(words, begin + indent, _width(err=err), begin)


def _width(*, err: bool) -> int:
    return terminal_width() if (sys.stderr if err else sys.stdout).isatty() else ENDLESS


def _print(lines: list[str], *, err: bool) -> None:
    text = "\n".join(lines)
    text = text if wants_colour() else unstyled(text)
    print(text, file=sys.stderr if err else sys.stdout, flush=True)
