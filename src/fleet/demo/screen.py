"""What the demo shows: on a terminal a table that is drawn anew in place, elsewhere plain lines."""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from textwrap import fill
from typing import Literal, Self

from msgspec import Struct
from rich.box import SIMPLE_HEAD
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from fleet.demo.script import DemoTask
from fleet.runs.outcome_history import Ending
from fleet.schemas import Task

RowState = Literal["waiting", "ready", "running", "pausing", "asking", "blocked", "closed"]

_STYLES: Mapping[RowState, str] = {
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


class DemoRow(Struct, frozen=True, kw_only=True):
    """One task as the table shows it."""

    demo_task: DemoTask
    task: Task
    state: RowState
    #: What the task does or waits for, in few words.
    what: str = ""
    #: How its runs ended so far.
    endings: tuple[Ending, ...] = ()


class Screen:
    """The table of tasks with the last lines of the log, or only the log without a terminal.

    A context manager: the last table stays on the terminal when the context is left.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live: Live | None = None
        if console.is_terminal:
            self._live = Live(console=console, auto_refresh=False, vertical_overflow="crop")
        self._log: deque[Text] = deque(maxlen=50)
        self._rows: Sequence[DemoRow] = ()

    def __enter__(self) -> Self:
        if self._live is None:
            self._console.print(HEADLINE)
        else:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def say(self, text: str, seconds: float, *, style: str = "", title: str = "") -> None:
        """Add a line to the log; `title` is the title of the task whose id begins the text."""
        if self._live is None:
            task_id, colon, rest = text.partition(":")
            words = f"{task_id} {title}{colon}{rest}" if title else text
            self._console.print(f"{seconds:5.1f} s  {words}", soft_wrap=True)
        else:
            self._log.append(
                Text(f"{seconds:5.1f} s  {text}", style or "dim", no_wrap=True, overflow="ellipsis")
            )
            self._draw(self._live)

    def show(self, rows: Sequence[DemoRow]) -> None:
        """Draw the table anew."""
        self._rows = rows
        if self._live is not None:
            self._draw(self._live)

    def print(self, lines: Iterable[Text]) -> None:
        """Print lines below the table; a long one goes on two places to the right."""
        for line in lines:
            margin = " " * (len(line.plain) - len(line.plain.lstrip()))
            text = fill(
                line.plain,
                self._console.width,
                subsequent_indent=f"{margin}  ",
                break_long_words=False,
                break_on_hyphens=False,
            )
            self._console.print(Text(text, line.style), soft_wrap=True)

    def _draw(self, live: Live) -> None:
        room = max(_SHORTEST_LOG, self._console.height - len(self._rows) - _FRAME)
        lines = list(self._log)[-room:]
        parts = [demo_table(self._rows)] if self._rows else []
        live.update(Group(HEADLINE, *parts, *lines), refresh=True)


def demo_table(rows: Sequence[DemoRow]) -> Table:
    """The tasks, one a line at any width."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), expand=True)
    table.add_column("Task", no_wrap=True)
    table.add_column("P", no_wrap=True)
    table.add_column("Title", no_wrap=True, overflow="ellipsis", max_width=24)
    table.add_column("Run", no_wrap=True, justify="right")
    table.add_column("State", no_wrap=True, min_width=7)
    table.add_column("", no_wrap=True, overflow="ellipsis", ratio=1)
    for row in rows:
        number = len(row.endings) + (row.state == "running")
        table.add_row(
            Text(row.task.id, style="cyan"),
            str(row.task.priority),
            row.task.title,
            str(number) if number else "",
            Text(row.state, style=_STYLES[row.state]),
            Text(row.what, style="dim" if row.state in ("waiting", "closed") else ""),
        )
    return table
