"""The table of `fleet tasks`, for any width: what has no room for a column moves below the title,
and only then goes. Id and title never go.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

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
    table,
    wrapped,
)
from fleet.control.tasks.in_progress import Doing, InProgress

#: Colours of what is not plainly running. No entry: it passes by itself.
_COLOURS: Mapping[Doing, str] = {
    "stopping": "yellow",
    "unsupervised": "yellow",
    "waiting": "yellow",
    "held": "cyan",
    "landing": "green",
    "elsewhere": "cyan",
    "invalid": "red",
}
#: Each column, and the width of the terminal from which on it is shown.
_FROM_WIDTH = {
    "ID": 0, "Started": 100, "Elapsed": 40, "Idle": 60, "Context": 70, "Events": 90, "Coder": 110,
    "Model": 110, "Title": 0, "cwd": 140,
}  # fmt: skip
_RIGHT = frozenset({"Elapsed", "Idle", "Context", "Events"})
#: The share of the room that a directory takes from a title, and the least that a title needs.
_CWD_SHARE, _LEAST_TITLE = 0.4, 12
_MOST_MODEL = 24


def tasks_table(tasks: Sequence[InProgress], now: datetime, width: int) -> Iterator[str]:
    """The lines of the table for a terminal of this width."""
    names = [name for name, least in _FROM_WIDTH.items() if width >= least]
    rows = [_figures(task, now, names, endless=width >= ENDLESS) for task in tasks]
    fixed = [name for name in names if name in rows[0]]
    rest = width - 2 * (len(names) - 1)
    rest -= sum(max(cells(name), *(cells(row[name]) for row in rows)) for name in fixed)
    title_room, cwd_room = _shared(tasks, names, rest)
    for task, row in zip(tasks, rows, strict=True):
        row["Title"] = "\n".join(_title(task, names, title_room))
        row["cwd"] = _cwd(task, cwd_room)
    return table(names, [[row[name] for name in names] for row in rows], right=_RIGHT)


def _shared(tasks: Sequence[InProgress], names: Collection[str], rest: int) -> tuple[int, int]:
    """The rooms of title and directory, which share what the other columns leave."""
    cwd = 0
    if "cwd" in names:
        titles = [line for task in tasks for line in _title(task, names, ENDLESS)]
        cwd = max(rest - max(map(cells, titles)), int(rest * _CWD_SHARE))
        cwd = min(cwd, max(len("cwd"), *(cells(_cwd(task, ENDLESS)) for task in tasks)))
    return max(_LEAST_TITLE, rest - cwd), cwd


def _figures(
    task: InProgress, now: datetime, names: Collection[str], *, endless: bool
) -> dict[str, str]:
    """The cells that are never cut: half of a figure or an id is worse than none."""
    return {
        "ID": painted(task.id, "cyan"),
        "Started": moment(task.started_at, now) if task.started_at else painted("-", "dim"),
        "Elapsed": _since(task.started_at, now),
        "Idle": _since(task.last_event_at, now),
        "Context": _context(task, with_tokens="Events" in names),
        "Events": str(task.events),
        "Coder": _coder(task),
        "Model": _model(task, ENDLESS if endless else _MOST_MODEL),
    }


def short(path: str) -> str:
    """A path with ~ for the user's home."""
    try:
        home = str(Path.home())
    except RuntimeError:  # the user has no home
        return path
    return f"~{path[len(home) :]}" if path == home or path.startswith(f"{home}/") else path


def _since(at: datetime | None, now: datetime) -> str:
    return duration((now - at).total_seconds()) if at else painted("-", "dim")


def _context(task: InProgress, *, with_tokens: bool) -> str:
    percent = task.context_percent
    if percent is None:
        return painted("-", "dim")
    style = "red" if percent >= 80 else "yellow" if percent >= 50 else "green"
    tokens = f"{count(task.context_peak)} " if with_tokens else ""
    return painted(f"{tokens}{percent:>2}%", style)


def _coder(task: InProgress) -> str:
    return painted(one_line(task.coder), _weight(task, "coder"))


def _model(task: InProgress, width: int) -> str:
    if not task.model:
        return painted("-", "dim")  # the coder leaves the choice to its CLI
    return painted(cut(one_line(task.model), width), _weight(task, "model"))


def _weight(task: InProgress, name: str) -> str:
    """What the task asked for is bold, what it inherits is dim."""
    return "bold" if name in task.overrides else "dim"


def _title(task: InProgress, names: Collection[str], width: int) -> Iterator[str]:
    """The title; below it what is not as usual, and what has no column."""
    yield cut(one_line(task.title), width)
    reason, style = one_line(task.reason), "yellow"
    if task.doing != "running":
        reason, style = f"{task.doing}: {reason}", _COLOURS.get(task.doing, "dim")
    yield from (painted(line, style) for line in wrapped(reason.removesuffix(": "), width) if line)
    below = ""
    if "Coder" not in names and task.coder:
        below = f"{_coder(task)}{painted('/', 'dim')}{_model(task, _MOST_MODEL)} "
        if cells(below) > width:
            below = painted(cut(f"{one_line(task.coder)}/{one_line(task.model)}", width), "dim")
    if "cwd" not in names and task.cwd:
        below += _cwd(task, max(0, width - cells(below)))
    if below:
        yield below


def _cwd(task: InProgress, width: int) -> str:
    """Every task has a directory of its own, so that is not bold. Of a clone the project is shown,
    which people know; where the clone is, `fleet show` and --json say.
    """
    style = "" if "cwd" in task.overrides else "dim"
    where = f"{short(task.project)} (clone)" if task.project else short(task.cwd)
    return painted(cut_front(one_line(where), width), style)
