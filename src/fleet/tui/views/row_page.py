"""One task as lines: how it stands, why, and what its run does. Pure."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from fleet.control.view.now import TaskRow
from fleet.schemas.shown_text import count, duration, moment
from fleet.tui.spans import EMPTY, Line, bar, column, fact, paragraph
from fleet.tui.views.now_list import context_percent, fullness, mark_of

_GROUPS = {"needs_you": "needs you", "running": "running", "waiting": "waiting", "done": "done"}
_GAUGE = 20


def row_page(row: TaskRow, at: datetime, width: int) -> list[Line]:
    """What the list tells of a task, whole."""
    lines: list[Line] = [*_head(row, at, width)]
    if row.question:
        lines += [EMPTY, (("ASKS", "bold magenta"),), *paragraph(row.question, width, indent=2)]
    lines += _run_now(row, at, width)
    lines += [EMPTY, *fact("id", f"{row.id}  P{row.priority}  {row.issue_type}", width)]
    lines += fact("directory", row.directory or row.project, width)
    lines += fact("spent", row.spent.words(), width)
    return lines


def _head(row: TaskRow, at: datetime, width: int) -> Iterator[Line]:
    yield from paragraph(row.title, width, "bold")
    mark, style = mark_of(row)
    group = _GROUPS[row.group]
    since = f" for {duration((at - row.since).total_seconds())}" if row.since else ""
    if row.group == "done" and row.since:
        since = f" {duration((at - row.since).total_seconds())} ago"
    yield ((f"{mark} {group}", style), (since, "dim"))
    if row.reason:
        yield from fact("why", row.reason, width, "yellow")
    if row.until:
        yield from fact("until", moment(row.until, at.astimezone()), width)
    if row.way_on:
        yield from fact("way on", row.way_on.line, width, "cyan")
    if row.landing_words and row.group != "needs_you":
        yield from fact("landing", row.landing_words, width)


def _run_now(row: TaskRow, at: datetime, width: int) -> Iterator[Line]:
    run = row.run
    if run is None:
        return
    yield from _section(f"RUN {run.number}")
    coder = f"{row.coder} {row.model}".strip()
    account = f" on {row.account}" if row.account not in ("", row.coder) else ""
    yield from fact("doing", f"{run.doing}, {coder}{account}", width)
    if run.last_step:
        quiet = (at - run.last_event_at).total_seconds() if run.last_event_at else 0
        yield from fact("last step", f"{run.last_step} ({duration(quiet)} ago)", width)
    if (percent := context_percent(row)) is not None:
        gauge = bar(percent / 100, _GAUGE)
        used = count(run.context_used or run.context_peak)
        words = f" {percent}% of {count(run.context_size)} ({used})"
        yield ((column("context", 12), "dim"), (gauge, fullness(percent)), (words, ""))
    took = duration((at - run.started_at).total_seconds()) if run.started_at else "?"
    parts = [took, f"{run.events} events", f"{run.tool_calls} tool calls", run.spent.words()]
    yield from fact("so far", ", ".join(parts), width)
    for near in run.near:
        yield from fact("near", near, width, "yellow")


def _section(name: str) -> Sequence[Line]:
    return [EMPTY, ((name, "bold"),)]
