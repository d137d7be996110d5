"""The table of `fleet tasks`, for any width: what has no room for a column of its own moves below
the title, and only then goes. Id and title never go.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from msgspec import Struct
from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from fleet.cli.terminal_text import count, duration, moment, one_line
from fleet.control.tasks.in_progress import Doing, InProgress

#: The width to ask for where nothing is to be cut: output that goes to a file or a program.
UNBOUNDED = 10_000

#: Colours of what is not plainly running. No entry: it passes by itself.
_COLOURS: Mapping[Doing, str] = {
    "stopping": "yellow",
    "unsupervised": "yellow",
    "waiting": "yellow",
    "held": "cyan",
    "elsewhere": "cyan",
    "invalid": "red",
}
_UNKNOWN = Text("-", style="dim")


class View(Struct, frozen=True, kw_only=True):
    """What a cell depends on beside its task."""

    now: datetime
    width: int
    #: The columns there is room for.
    columns: frozenset[str]


class Column(Struct, frozen=True):
    """A column, and from which width on there is room for it."""

    name: str
    from_width: int
    cell: "Callable[[InProgress, View], Text | Flexible]"
    right: bool = False
    #: It gives way where there is too little room.
    yields: bool = False


class Flexible:
    """A cell that makes the best of the width it gets."""

    def __init__(self, fit: Callable[[int], Text]) -> None:
        self._fit = fit

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        del console
        width = max(line.cell_len for line in self._fit(UNBOUNDED).split(allow_blank=True))
        return Measurement(min(12, width), width).with_maximum(options.max_width)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        del console
        yield self._fit(options.max_width)


def table(tasks: Sequence[InProgress], now: datetime, width: int) -> Table:
    """The table for a terminal of this width."""
    columns = [column for column in COLUMNS if width >= column.from_width]
    view = View(now=now, width=width, columns=frozenset(column.name for column in columns))
    made = Table(box=SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for column in columns:
        made.add_column(
            column.name,
            justify="right" if column.right else "left",
            # Figures and the id are never cut: half of one is worse than none.
            no_wrap=not column.yields,
            min_width=None if column.yields else _widest(column, tasks, view),
        )
    for task in tasks:
        made.add_row(*(column.cell(task, view) for column in columns))
    return made


def _widest(column: Column, tasks: Sequence[InProgress], view: View) -> int:
    cells = [column.cell(task, view) for task in tasks]
    return max([len(column.name), *(cell.cell_len for cell in cells if isinstance(cell, Text))])


def cut(text: str, width: int) -> str:
    """The beginning of a text, as much of it as fits."""
    return _shortened(text, width, lambda rest: rest[:-1], "{}…")


def cut_front(text: str, width: int) -> str:
    """The end of a text: of a path it tells most."""
    return _shortened(text, width, lambda rest: rest[1:], "…{}")


def _shortened(text: str, width: int, less: Callable[[str], str], mark: str) -> str:
    if cell_len(text) <= width:
        return text
    while text and cell_len(text) > width - 1:
        text = less(text)
    return mark.format(text) if width > 0 else ""


def short(path: str) -> str:
    """A path as people write it, with ~ for their home."""
    try:
        home = str(Path.home())
    except RuntimeError:  # nobody's home is known
        return path
    return f"~{path[len(home) :]}" if path == home or path.startswith(f"{home}/") else path


def _id(task: InProgress, view: View) -> Text:
    del view
    return Text(task.id, style="cyan")


def _started(task: InProgress, view: View) -> Text:
    return Text(moment(task.started_at, view.now)) if task.started_at else _UNKNOWN


def _elapsed(task: InProgress, view: View) -> Text:
    return _since(task.started_at, view)


def _idle(task: InProgress, view: View) -> Text:
    return _since(task.last_event_at, view)


def _since(at: datetime | None, view: View) -> Text:
    return Text(duration((view.now - at).total_seconds())) if at else _UNKNOWN


def _context(task: InProgress, view: View) -> Text:
    percent = task.context_percent
    if percent is None:
        return _UNKNOWN
    style = "red" if percent >= 80 else "yellow" if percent >= 50 else "green"
    tokens = f"{count(task.context_peak)} " if "Events" in view.columns else ""
    return Text(f"{tokens}{percent:>2}%", style=style)


def _events(task: InProgress, view: View) -> Text:
    del view
    return Text(str(task.events))


def _coder(task: InProgress, view: View) -> Text:
    del view
    return Text(one_line(task.coder), style=_weight(task, "coder"))


def _model(task: InProgress, view: View) -> Text:
    if not task.model:
        return _UNKNOWN  # the coder leaves the choice to its CLI
    room = UNBOUNDED if view.width >= UNBOUNDED else 24
    return Text(cut(one_line(task.model), room), style=_weight(task, "model"))


def _weight(task: InProgress, name: str) -> str:
    """What the task insists on is bold, what it inherits is dim."""
    return "bold" if name in task.overrides else "dim"


def _title(task: InProgress, view: View) -> Flexible:
    """The title, and below it what is not as it should be, and what has no column."""

    def fit(width: int) -> Text:
        text = Text(cut(one_line(task.title), width))
        if task.doing != "running":
            said = f"{task.doing}: {one_line(task.reason)}" if task.reason else task.doing
            text.append(f"\n{said}", style=_COLOURS.get(task.doing, "dim"))
        elif task.reason:
            text.append(f"\n{one_line(task.reason)}", style="yellow")
        below = _below(task, view, width)
        return Text("\n").join([text, below]) if below else text

    return Flexible(fit)


def _below(task: InProgress, view: View, width: int) -> Text:
    below = Text()
    if "Coder" not in view.columns and task.coder:
        below.append_text(_coder(task, view)).append("/", style="dim")
        below.append_text(_model(task, view)).append(" ")
    if "cwd" not in view.columns and task.cwd:
        where = cut_front(one_line(short(task.cwd)), max(0, width - below.cell_len))
        below.append(where, style=_cwd_style(task))
    return below


def _cwd(task: InProgress, view: View) -> Flexible:
    del view
    where, style = one_line(short(task.cwd)), _cwd_style(task)
    return Flexible(lambda width: Text(cut_front(where, width), style=style))


def _cwd_style(task: InProgress) -> str:
    """Every task has a directory of its own, so that is nothing to be bold about."""
    return "" if "cwd" in task.overrides else "dim"


COLUMNS = (
    Column("ID", 0, _id),
    Column("Started", 100, _started),
    Column("Elapsed", 40, _elapsed, right=True),
    Column("Idle", 60, _idle, right=True),
    Column("Context", 70, _context, right=True),
    Column("Events", 90, _events, right=True),
    Column("Coder", 110, _coder),
    Column("Model", 110, _model),
    Column("Title", 0, _title, yields=True),
    Column("cwd", 140, _cwd, yields=True),
)
