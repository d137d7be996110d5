"""The table of `fleet tasks`: one line a task, for any width. A narrow terminal has fewer columns;
id and title never go. Why a task does not plainly run stands behind its title where there is room,
and on a line below it otherwise: a reason is never cut. With --all: beside what runs, what needs
the person, what waits and why, and what was done today.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from fleet.cli.terminal_text import ENDLESS, painted, table
from fleet.control.tasks.in_progress import Doing, InProgress
from fleet.schemas.shown_text import (
    cells,
    count,
    cut,
    cut_front,
    duration,
    fullness,
    moment,
    one_line,
    wrapped,
)

if TYPE_CHECKING:
    from fleet.control.view.now import Now, TaskRow

#: Colours of what is not plainly running. No entry: the state passes by itself.
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
    "ID": 0, "Started": 150, "Elapsed": 36, "Idle": 60, "Context": 70, "Events": 160, "Coder": 80,
    "Model": 120, "Title": 0, "cwd": 100,
}  # fmt: skip
_RIGHT = frozenset({"Elapsed", "Idle", "Context", "Events"})
#: The share of the room that a directory takes from a title, and the least that a title needs.
_CWD_SHARE, _LEAST_TITLE = 0.4, 12
_MOST_MODEL = 24
#: How far a reason stands in below its task.
_INDENT = 4


def tasks_table(tasks: Sequence[InProgress], now: datetime, width: int) -> Iterator[str]:
    """The lines of the table for a terminal of this width."""
    names = [name for name, least in _FROM_WIDTH.items() if width >= least]
    figures = [_figures(task, now, names, endless=width >= ENDLESS) for task in tasks]
    fixed = [name for name in names if name in figures[0]]
    rest = width - 2 * (len(names) - 1)
    rest -= sum(max(cells(name), *(cells(row[name]) for row in figures)) for name in fixed)
    title_room, cwd_room = _shared(tasks, names, rest)
    rows: list[Sequence[str] | str] = []
    for task, row in zip(tasks, figures, strict=True):
        title, below = _title(task, title_room, width)
        row |= {"Title": title, "cwd": _cwd(task, cwd_room)}
        rows += [[row[name] for name in names], *below]
    return table(names, rows, right=_RIGHT)


def _shared(tasks: Sequence[InProgress], names: Collection[str], rest: int) -> tuple[int, int]:
    """The rooms of title and directory, which share what the other columns leave."""
    cwd = 0
    if "cwd" in names:
        titles = (_title(task, ENDLESS, ENDLESS)[0] for task in tasks)
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
        "Idle": _since(task.progress.last_event_at, now),
        "Context": _context(task, with_tokens="Events" in names),
        "Events": str(task.progress.events),
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
    tokens = f"{count(task.progress.context_peak)} " if with_tokens else ""
    return painted(f"{tokens}{percent:>2}%", fullness(percent))


def _coder(task: InProgress) -> str:
    return painted(one_line(task.progress.coder), _weight(task, "coder"))


def _model(task: InProgress, width: int) -> str:
    if not task.progress.model:
        return painted("-", "dim")  # the coder leaves the choice to its CLI
    return painted(cut(one_line(task.progress.model), width), _weight(task, "model"))


def _weight(task: InProgress, name: str) -> str:
    """What the task asked for is bold, what is inherited is dim."""
    return "bold" if name in task.overrides else "dim"


def _title(task: InProgress, room: int, width: int) -> tuple[str, list[str]]:
    """The title with anything unusual behind it, and the lines below if there is no room."""
    if task.doing == "running" and task.asked is None:
        return with_reason(task.title, task.reason, "yellow", room, width)
    standing, colour = task.standing, _COLOURS.get(task.doing, "dim")
    words = standing.reason if standing.state == "running" else standing.words
    return with_reason(task.title, words, colour, room, width)


def with_reason(
    title: str, reason: str, style: str, room: int, width: int
) -> tuple[str, list[str]]:
    """A title in `room` columns, then the reason, behind the title or on lines of `width` below."""
    title, reason = one_line(title), one_line(reason)
    if not reason:
        return cut(title, room), []
    if cells(title) + 3 + cells(reason) <= room:
        return f"{title} · {painted(reason, style)}", []
    below = wrapped(reason, max(_LEAST_TITLE, width - _INDENT))
    return cut(title, room), [f"{'':{_INDENT}}{painted(line, style)}" for line in below]


def _cwd(task: InProgress, width: int) -> str:
    """The task's directory; never bold, since every task has one. Of a clone the project is shown,
    which people know; where the clone is, `fleet show` and --json say.
    """
    style = "" if "cwd" in task.overrides else "dim"
    where = f"{short(task.project)} (clone)" if task.project else short(task.cwd)
    return painted(cut_front(one_line(where), width), style)


def all_view(
    seen: "Now", running: Sequence[str], now: datetime, width: int, limit: int
) -> Iterator[str]:
    """The groups below their names; `running` is the table of what runs."""
    ids = max((cells(one_line(row.id)) for row in seen.rows), default=0)
    yield from _group(seen, "needs_you", "Needs you", "magenta", now, width, limit, ids)
    yield painted(f"Running {seen.counts.running}", "bold green")
    yield from running
    yield from _group(seen, "waiting", "Waiting", "yellow", now, width, limit, ids)
    yield from _group(seen, "done", "Done today", "bold", now, width, limit, ids)


def _group(
    seen: "Now", group: str, name: str, style: str, now: datetime, width: int, limit: int, ids: int
) -> Iterator[str]:
    rows = [row for row in seen.rows if row.group == group]
    total = max(len(rows), getattr(seen.counts, group))
    yield painted(f"{name} {total}", "bold" if style == "bold" else f"bold {style}")
    for row in rows[:limit]:
        yield from _lines(row, now, width, ids)
    if total > len(rows[:limit]):
        yield painted(f"and {total - len(rows[:limit])} more (--limit {total})", "dim")


def _lines(row: "TaskRow", now: datetime, width: int, ids: int) -> Iterator[str]:
    """One line; a second one where the reason has no room."""
    age = duration((now - row.since).total_seconds()).partition(" ")[0] if row.since else ""
    head = f"{one_line(row.id):<{ids}}  {age:>4}  "
    shown = painted(f"{one_line(row.id):<{ids}}", "cyan") + painted(f"  {age:>4}  ", "dim")
    title, below = with_reason(row.title, *_reason(row, now), width - cells(head), width)
    yield f"{shown}{title}"
    yield from below


def _reason(row: "TaskRow", now: datetime) -> tuple[str, str]:
    """Why a task stands where it stands, with the way on, and a colour."""
    if row.group == "done":
        from fleet.schemas.receipt import VERDICT_COLOURS

        proved = f", {row.verdict}" if row.verdict and row.state == "done" else ""
        words = f"{row.words}{proved}"
        style = VERDICT_COLOURS[row.verdict] if row.verdict else "dim"
        return one_line(words), style
    words = row.words.strip().partition("\n")[0]
    until = f"until {moment(row.until, now)}: " if row.until else ""
    line = row.way_on.line if row.way_on else ""
    way_on = "" if line in words else f" ({line})"
    return one_line(f"{until}{words}{way_on}"), "magenta" if row.question else "yellow"
