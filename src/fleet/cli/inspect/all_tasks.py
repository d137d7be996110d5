"""`fleet tasks --all`: beside what runs, what needs the person, what waits and why, and what was
done today, one line a task.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

from fleet.cli.terminal_text import cells, cut, duration, moment, one_line, painted, wrapped
from fleet.control import Control
from fleet.control.view.now import Now, TaskRow
from fleet.control.view.read_now import NowReader

#: How far a reason stands in below the task, where there is no room behind the title.
_INDENT = 4
_VERDICTS = {"checked": "green", "plausible": "cyan", "unverified": "red", "out_of_scope": "red"}


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
    title, (reason, style) = one_line(row.title), _reason(row, now)
    room = width - cells(head)
    shown = painted(f"{one_line(row.id):<{ids}}", "cyan") + painted(f"  {age:>4}  ", "dim")
    if not reason or cells(title) + 3 + cells(reason) <= room:
        yield f"{shown}{title}" + (f" · {painted(reason, style)}" if reason else "")
        return
    yield f"{shown}{cut(title, room)}"
    for line in wrapped(reason, max(20, width - _INDENT)):
        yield f"{'':{_INDENT}}{painted(line, style)}"


def _reason(row: TaskRow, now: datetime) -> tuple[str, str]:
    """Why a task stands where it stands, with the way on, and a colour."""
    if row.group == "done":
        words = row.landing_words or row.verdict or ""
        return one_line(words.replace("_", " ")), _VERDICTS.get(row.verdict or "", "dim")
    words = (row.question or row.reason).strip().partition("\n")[0]
    until = f" until {moment(row.until, now)}" if row.until else ""
    line = row.way_on.line if row.way_on else ""
    way_on = "" if line in words else f" ({line})"
    return one_line(f"{words}{until}{way_on}"), "magenta" if row.question else "yellow"
