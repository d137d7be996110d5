"""What the audience sees: a table that changes in place, or plain lines where there is no
terminal.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from textwrap import fill
from typing import Protocol, Self

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from fleet.demo.progress import Row, State
from fleet.demo.summary import Line

_STYLES: Mapping[State, str] = {
    "waiting": "dim",
    "ready": "",
    "running": "cyan",
    "pausing": "yellow",
    "asking": "magenta",
    "blocked": "red",
    "closed": "green",
}
#: Lines of the screen that are neither rows of the table nor lines of the log.
_FRAME = 6
_SHORTEST_LOG = 3

HEADLINE = Text("fleet demo: the agents are simulated, all else is real. Ctrl-C ends it.", "bold")


class Screen(Protocol):
    """Where the show is shown. A context: leave it to have the last picture stay."""

    def say(self, text: str, seconds: float, *, style: str = "", title: str = "") -> None:
        """One more line of what happens; `title` is that of the task which it begins with."""
        ...

    def show(self, rows: Sequence[Row]) -> None:
        """How the tasks stand now."""
        ...

    def tell(self, lines: Iterable[Line]) -> None:
        """Text that is not part of the running picture."""
        ...

    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...


class Plain:
    """Lines, as they come: for files, pipes and people who listen to their screen."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def say(self, text: str, seconds: float, *, style: str = "", title: str = "") -> None:
        del style
        task_id, colon, rest = text.partition(":")
        words = f"{task_id} {title}{colon}{rest}" if title else text
        self._console.print(f"{seconds:5.1f} s  {words}", soft_wrap=True)

    def show(self, rows: Sequence[Row]) -> None:
        del rows

    def tell(self, lines: Iterable[Line]) -> None:
        _print(self._console, lines)

    def __enter__(self) -> Self:
        self._console.print(HEADLINE)
        return self

    def __exit__(self, *_: object) -> None:
        pass


class Picture:
    """A table with the last lines of the log below it, drawn anew in place."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, auto_refresh=False, vertical_overflow="crop")
        self._log: deque[Text] = deque(maxlen=50)
        self._rows: Sequence[Row] = ()

    def say(self, text: str, seconds: float, *, style: str = "", title: str = "") -> None:
        del title  # the table has it
        self._log.append(Text(f"{seconds:5.1f} s  {text}", style=style or "dim"))
        self._draw()

    def show(self, rows: Sequence[Row]) -> None:
        self._rows = rows
        self._draw()

    def tell(self, lines: Iterable[Line]) -> None:
        _print(self._console, lines)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def _draw(self) -> None:
        room = max(_SHORTEST_LOG, self._console.height - len(self._rows) - _FRAME)
        lines = list(self._log)[-room:]
        for line in lines:
            line.no_wrap, line.overflow = True, "ellipsis"
        parts = [table(self._rows)] if self._rows else []
        self._live.update(Group(HEADLINE, *parts, *lines), refresh=True)


def table(rows: Sequence[Row]) -> Table:
    """The tasks, one a line, whatever the width."""
    made = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), expand=True)
    made.add_column("Task", no_wrap=True)
    made.add_column("P", no_wrap=True)
    made.add_column("Title", no_wrap=True, overflow="ellipsis", max_width=24)
    made.add_column("Run", no_wrap=True, justify="right")
    made.add_column("State", no_wrap=True, min_width=7)
    made.add_column("", no_wrap=True, overflow="ellipsis", ratio=1)
    for row in rows:
        style = _STYLES[row.state]
        number = len(row.endings) + (row.state == "running")
        made.add_row(
            Text(row.task.id, style="cyan"),
            str(row.task.priority),
            row.scene.title,
            str(number) if number else "",
            Text(row.state, style=style),
            Text(row.what, style="dim" if row.state in ("waiting", "closed") else ""),
        )
    return made


def _print(console: Console, lines: Iterable[Line]) -> None:
    for line in lines:
        margin = " " * line.indent
        # What wraps goes on two places to the right, so that a line is seen to begin.
        text = fill(
            line.text,
            console.width,
            initial_indent=margin,
            subsequent_indent=f"{margin}  ",
            break_long_words=False,
            break_on_hyphens=False,
        )
        console.print(Text(text, style=line.style), soft_wrap=True)


def screen_for(console: Console) -> Screen:
    """A picture on a terminal, lines elsewhere."""
    return Picture(console) if console.is_terminal else Plain(console)
