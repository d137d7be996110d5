"""The lines around everything: the views with the supervisor's state, where the person is, and the
two lines that stay behind at exit. Pure.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from fleet.control.view.now import Now, SupervisorNow, TaskRow
from fleet.schemas.shown_text import cells, cut, duration, some
from fleet.tui.spans import Span, SpanLine, plain, said, sides

VIEWS: Mapping[str, str] = {
    "now": "Now",
    "questions": "Questions",
    "timeline": "Timeline",
    "usage": "Usage",
    "log": "Log",
}
TABS: Sequence[str] = ("receipt", "transcript", "diff", "plan", "runs")
#: How many tasks the lines at exit name, and seconds until what is shown counts as old.
_NAMED, _OLD = 4, 8.0


def top_line(now: Now | None, view: str, width: int, at: datetime | None = None) -> SpanLine:
    """The views, and whether tasks are started; `at`: the moment, if later than *now*."""
    left: list[Span] = []
    for number, (name, words) in enumerate(VIEWS.items(), 1):
        asked = sum(bool(row.question) for row in now.rows) if now and name == "questions" else 0
        text = f" {number} {words}{f' {asked}' if asked else ''} "
        left.append((text, "reverse bold" if name == view else "bold magenta" if asked else ""))
    return sides(tuple(left), _supervisor(now, at) if now else (("…", "dim"),), width)


def view_at(now: Now | None, x: int) -> str:
    """The view whose name stands at a column of the top line."""
    at = 0
    for (text, _), name in zip(top_line(now, "", 10_000), VIEWS, strict=False):
        at += cells(text)
        if x < at:
            return name
    return ""


def _supervisor(now: Now, at: datetime | None) -> SpanLine:
    seen = now.supervisor
    slots: Span = (f"{seen.runs}/{seen.slots} ", "bold" if seen.runs else "dim")
    if not seen.alive:
        live = sum(row.run is not None and row.run.doing == "unsupervised" for row in now.rows)
        agents = f"{live} agents run on, " if live else ""
        return ((f"{agents}no supervisor: fleet run ", "bold red"),)
    if seen.paused_since is not None:
        return (slots, ("paused: P resumes ", "bold yellow"))
    moment = max(now.as_of, at or now.as_of)
    since = duration((moment - seen.since).total_seconds()) if seen.since else ""
    return (slots, (f"up {since} ", "green"))


def place_line(
    crumbs: Sequence[str], trouble: str, width: int, *, wanted: str = "", marked: int = 0
) -> SpanLine:
    """Where the person is, what is filtered and selected, and what is wrong."""
    left: list[Span] = [(" > ".join(crumbs), "bold")]
    if wanted:
        left.append((f"  /{said(wanted)}", "bold yellow"))
    if marked:
        left.append((f"  {marked} selected", "bold yellow"))
    room = width - cells(plain(tuple(left))) - 4
    right: SpanLine = ((f" {cut(said(trouble), max(0, room))} ", "bold red"),) if trouble else ()
    return sides(tuple(left), right, width)


def trouble_of(now: Now | None, busy: float | None, problem: str) -> str:
    """The one thing that a person has to know of what is shown; empty: all is well."""
    if problem:
        return problem
    if busy is not None and busy > _OLD:
        old = f"; shown is how it was {duration(busy)} ago" if now else ""
        return f"the queue has not answered for {duration(busy)}{old}"
    if now is None:
        return ""
    return _hindrance(now.supervisor)


def _hindrance(seen: SupervisorNow) -> str:
    if seen.queue_problem:
        return f"the queue fails: {seen.queue_problem}. {seen.queue_hint}"
    if seen.shortage:
        return f"nothing starts: {seen.shortage}"
    if seen.lost_log_lines:
        return f"{seen.lost_log_lines} lines of the log could not be written"
    return seen.hindrances[0] if seen.hindrances else ""


def tab_line(tab: str, width: int) -> SpanLine:
    """The tabs of a task."""
    spans: list[Span] = [(f" {each} ", "reverse" if each == tab else "dim") for each in TABS]
    return sides(tuple(spans), (), width)


def tab_at(x: int) -> str:
    """The tab whose name stands at a column."""
    at = 0
    for each in TABS:
        at += len(each) + 2
        if x < at:
            return each
    return ""


def exit_lines(now: Now | None, at: datetime) -> list[str]:
    """What stays in the scrollback: what runs, and what waits for the person."""
    if now is None:
        return []
    runs = [row for row in now.rows if row.group == "running"]
    needs = [row for row in now.rows if row.group == "needs_you"]
    old = (at - now.as_of).total_seconds()
    stale = f" ({duration(old)} ago)" if old > _OLD else ""
    alone = "" if now.supervisor.alive else ", without a supervisor (fleet run)"
    running = f"{len(runs) or 'Nothing'} {'run' if len(runs) > 1 else 'runs'}{alone}{stale}"
    asking = f"{len(needs) or 'Nothing'} {'need' if len(needs) > 1 else 'needs'} you"
    return [f"{running}{_names(runs)}", f"{asking}{_names(needs)}"]


def _names(rows: Sequence[TaskRow]) -> str:
    named = [f"{said(row.id)}{' asks' if row.question else ''}" for row in rows]
    return f": {some(named, _NAMED)}" if named else ""
