"""The table of `fleet tasks`, for any width: what has no room for a column moves below the title,
and only then goes. Id and title never go.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from fleet.cli.terminal_text import (
    ENDLESS,
    cells,
    count,
    cut,
    cut_front,
    duration,
    moment,
    one_line,
    painted,
    wrapped,
)
from fleet.control.tasks.in_progress import Doing, InProgress

#: Colours of what is not plainly running. No entry: it passes by itself.
_COLOURS: Mapping[Doing, str] = {
    "stopping": "yellow",
    "unsupervised": "yellow",
    "waiting": "yellow",
    "held": "cyan",
    "elsewhere": "cyan",
    "invalid": "red",
}
_GAP = "  "
#: The share of the room that a directory takes from a title, and the least that a title needs.
_CWD_SHARE, _LEAST_TITLE = 0.4, 12
_MOST_MODEL = 24


class Span(NamedTuple):
    """Some text in one style."""

    text: str
    style: str = ""


#: One line of a cell; a cell has one or more of them.
Line = Sequence[Span]
_UNKNOWN: Line = (Span("-", "dim"),)


class View(NamedTuple):
    """What a cell depends on beside its task."""

    now: datetime
    #: The names of the columns that there is room for.
    columns: frozenset[str]
    #: Nothing is cut: the output goes to a file or a program.
    endless: bool


#: The lines of a task's cell in a given width.
Cell = Callable[[InProgress, View, int], Sequence[Line]]


class Column(NamedTuple):
    """A column, and from which width of the terminal on it is shown."""

    name: str
    from_width: int
    cell: Cell
    right: bool = False


def table(tasks: Sequence[InProgress], now: datetime, width: int, *, colour: bool) -> Iterator[str]:
    """The lines of the table for a terminal of this width."""
    columns = [column for column in COLUMNS if width >= column.from_width]
    names = frozenset(column.name for column in columns)
    view = View(now=now, columns=names, endless=width >= ENDLESS)
    widths = _widths(columns, tasks, view, width)
    head = [[[Span(column.name, "bold")]] for column in columns]
    yield from _row(head, columns, widths, colour=colour)
    yield "─" * (sum(widths) + len(_GAP) * (len(widths) - 1))
    for task in tasks:
        row = [column.cell(task, view, room) for column, room in zip(columns, widths, strict=True)]
        yield from _row(row, columns, widths, colour=colour)


def _widths(
    columns: Sequence[Column], tasks: Sequence[InProgress], view: View, width: int
) -> list[int]:
    """Each column as wide as its cells; title and directory share what the others leave."""
    wanted = {
        column.name: max([len(column.name), *(_widest(column, task, view) for task in tasks)])
        for column in columns
    }
    rest = width - len(_GAP) * (len(columns) - 1)
    rest -= sum(room for name, room in wanted.items() if name not in ("Title", "cwd"))
    if "cwd" in wanted and wanted["Title"] + wanted["cwd"] > rest:
        wanted["cwd"] = min(wanted["cwd"], max(int(rest * _CWD_SHARE), rest - wanted["Title"]))
    wanted["Title"] = max(_LEAST_TITLE, min(wanted["Title"], rest - wanted.get("cwd", 0)))
    return [wanted[column.name] for column in columns]


def _widest(column: Column, task: InProgress, view: View) -> int:
    return max(map(_cells, column.cell(task, view, ENDLESS)))


def _cells(line: Line) -> int:
    return sum(cells(span.text) for span in line)


def _row(
    row: Sequence[Sequence[Line]], columns: Sequence[Column], widths: Sequence[int], *, colour: bool
) -> Iterator[str]:
    """A row as lines; cells with fewer lines than others are empty below."""
    for number in range(max(map(len, row))):
        parts: list[str] = []
        for cell, column, room in zip(row, columns, widths, strict=True):
            line = cell[number] if number < len(cell) else ()
            text = "".join(painted(*span) if colour else span.text for span in line)
            gap = " " * (room - _cells(line))
            parts.append(f"{gap}{text}" if column.right else f"{text}{gap}")
        yield _GAP.join(parts).rstrip()


def short(path: str) -> str:
    """A path with ~ for the user's home."""
    try:
        home = str(Path.home())
    except RuntimeError:  # the user has no home
        return path
    return f"~{path[len(home) :]}" if path == home or path.startswith(f"{home}/") else path


def _plain(text: Callable[[InProgress, View], Line]) -> Cell:
    """A cell of one line that is never cut: half of a figure or an id is worse than none."""

    def cell(task: InProgress, view: View, width: int) -> Sequence[Line]:
        del width
        return [text(task, view)]

    return cell


def _id(task: InProgress, view: View) -> Line:
    del view
    return [Span(task.id, "cyan")]


def _started(task: InProgress, view: View) -> Line:
    return [Span(moment(task.started_at, view.now))] if task.started_at else _UNKNOWN


def _elapsed(task: InProgress, view: View) -> Line:
    return _since(task.started_at, view)


def _idle(task: InProgress, view: View) -> Line:
    return _since(task.last_event_at, view)


def _since(at: datetime | None, view: View) -> Line:
    return [Span(duration((view.now - at).total_seconds()))] if at else _UNKNOWN


def _context(task: InProgress, view: View) -> Line:
    percent = task.context_percent
    if percent is None:
        return _UNKNOWN
    style = "red" if percent >= 80 else "yellow" if percent >= 50 else "green"
    tokens = f"{count(task.context_peak)} " if "Events" in view.columns else ""
    return [Span(f"{tokens}{percent:>2}%", style)]


def _events(task: InProgress, view: View) -> Line:
    del view
    return [Span(str(task.events))]


def _coder(task: InProgress, view: View) -> Line:
    del view
    return [Span(one_line(task.coder), _weight(task, "coder"))]


def _model(task: InProgress, view: View) -> Line:
    if not task.model:
        return _UNKNOWN  # the coder leaves the choice to its CLI
    name = one_line(task.model)
    return [Span(name if view.endless else cut(name, _MOST_MODEL), _weight(task, "model"))]


def _weight(task: InProgress, name: str) -> str:
    """What the task asked for is bold, what it inherits is dim."""
    return "bold" if name in task.overrides else "dim"


def _title(task: InProgress, view: View, width: int) -> Sequence[Line]:
    """The title; below it what is not as usual, and what has no column."""
    lines: list[Line] = [[Span(cut(one_line(task.title), width))]]
    reason = one_line(task.reason)
    if task.doing != "running":
        reason, style = f"{task.doing}: {reason}", _COLOURS.get(task.doing, "dim")
    else:
        style = "yellow"
    lines += [[Span(line, style)] for line in wrapped(reason.removesuffix(": "), width) if line]
    below = _below(task, view, width)
    return [*lines, below] if below else lines


def _below(task: InProgress, view: View, width: int) -> Line:
    spans: list[Span] = []
    if "Coder" not in view.columns and task.coder:
        spans += [*_coder(task, view), Span("/", "dim"), *_model(task, view), Span(" ")]
        if _cells(spans) > width:
            spans = [Span(cut("".join(span.text for span in spans), width), "dim")]
    if "cwd" not in view.columns and task.cwd:
        room = max(0, width - _cells(spans))
        spans.append(Span(cut_front(one_line(short(task.cwd)), room), _cwd_style(task)))
    return spans


def _cwd(task: InProgress, view: View, width: int) -> Sequence[Line]:
    del view
    return [[Span(cut_front(one_line(short(task.cwd)), width), _cwd_style(task))]]


def _cwd_style(task: InProgress) -> str:
    """Every task has a directory of its own, so that is not bold."""
    return "" if "cwd" in task.overrides else "dim"


COLUMNS = (
    Column("ID", 0, _plain(_id)),
    Column("Started", 100, _plain(_started)),
    Column("Elapsed", 40, _plain(_elapsed), right=True),
    Column("Idle", 60, _plain(_idle), right=True),
    Column("Context", 70, _plain(_context), right=True),
    Column("Events", 90, _plain(_events), right=True),
    Column("Coder", 110, _plain(_coder)),
    Column("Model", 110, _plain(_model)),
    Column("Title", 0, _title),
    Column("cwd", 140, _cwd),
)
