"""`fleet tasks --all`: beside what runs, what needs the person, what waits and why, and what was
done today, one line a task.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

from fleet.cli.inspect.tasks_table import with_reason
from fleet.cli.terminal_text import painted
from fleet.control import Control
from fleet.control.view.now import Now, TaskRow
from fleet.control.view.read_now import NowReader
from fleet.schemas.receipt import VERDICT_COLOURS
from fleet.schemas.shown_text import cells, duration, moment, one_line


def read_all(fleet: Control, now: datetime) -> Now:
    """Every task that is not closed, and those that were closed today."""
    return NowReader(fleet).read(now, now.replace(hour=0, minute=0, second=0, microsecond=0))


def all_view(
    seen: Now, running: Sequence[str], now: datetime, width: int, limit: int
) -> Iterator[str]:
    """The groups below their names; `running` is the table of what runs."""
    ids = max((cells(one_line(row.id)) for row in seen.rows), default=0)
    yield from _group(seen, "needs_you", "Needs you", "magenta", now, width, limit, ids)
    yield painted(f"Running {seen.counts.running}", "bold green")
    yield from running
    yield from _group(seen, "waiting", "Waiting", "yellow", now, width, limit, ids)
    yield from _group(seen, "done", "Done today", "bold", now, width, limit, ids)


def _group(
    seen: Now, group: str, name: str, style: str, now: datetime, width: int, limit: int, ids: int
) -> Iterator[str]:
    rows = [row for row in seen.rows if row.group == group]
    total = max(len(rows), getattr(seen.counts, group))
    yield painted(f"{name} {total}", "bold" if style == "bold" else f"bold {style}")
    for row in rows[:limit]:
        yield from _lines(row, now, width, ids)
    if total > len(rows[:limit]):
        yield painted(f"and {total - len(rows[:limit])} more (--limit {total})", "dim")


def _lines(row: TaskRow, now: datetime, width: int, ids: int) -> Iterator[str]:
    """One line; a second one where the reason has no room."""
    age = duration((now - row.since).total_seconds()).partition(" ")[0] if row.since else ""
    head = f"{one_line(row.id):<{ids}}  {age:>4}  "
    shown = painted(f"{one_line(row.id):<{ids}}", "cyan") + painted(f"  {age:>4}  ", "dim")
    title, below = with_reason(row.title, *_reason(row, now), width - cells(head), width)
    yield f"{shown}{title}"
    yield from below


def _reason(row: TaskRow, now: datetime) -> tuple[str, str]:
    """Why a task stands where it stands, with the way on, and a colour."""
    if row.group == "done":
        words = row.landing_words or row.verdict or ""
        style = VERDICT_COLOURS[row.verdict] if row.verdict else "dim"
        return one_line(words.replace("_", " ")), style
    words = (row.question or row.reason).strip().partition("\n")[0]
    until = f" until {moment(row.until, now)}" if row.until else ""
    line = row.way_on.line if row.way_on else ""
    way_on = "" if line in words else f" ({line})"
    return one_line(f"{words}{until}{way_on}"), "magenta" if row.question else "yellow"
