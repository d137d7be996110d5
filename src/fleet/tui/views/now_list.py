"""*Now* as lines: what needs the person, what runs, what waits and why, what is done; and the
questions of agents alone. Pure.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from functools import partial

from fleet.control.view.now import Group, GroupCounts, Now, TaskRow
from fleet.schemas.budget import Spend, shown_usd
from fleet.schemas.receipt import VERDICT_COLOURS
from fleet.schemas.shown_text import cells, cut, duration, fullness, moment
from fleet.tui.spans import (
    EMPTY,
    Listing,
    ListingDraft,
    Span,
    SpanLine,
    clipped,
    column,
    fact,
    paragraph,
    said,
)

_HEADS: Mapping[Group, tuple[str, str]] = {
    "needs_you": ("NEEDS YOU", "bold magenta"),
    "running": ("RUNNING", "bold green"),
    "waiting": ("WAITING", "bold yellow"),
    "done": ("DONE", "bold"),
}
_EMPTY: Mapping[Group, str] = {
    "needs_you": "nothing",
    "running": "nothing; fleet run works through the queue",
    "waiting": "nothing; n makes a task",
    "done": "nothing yet",
}
_NO_QUESTION = "No agent asks anything. What else needs you: 1"
_VERDICT_MARKS = {"checked": "✓", "unchecked": "~", "rejected": "✗", "out of scope": "✗"}
#: The widest id that is shown whole; the share of the room that titles may take, in a wide list
#: and in a narrow one; the columns before an id, and of an age.
_LONGEST_ID, _TITLE_SHARE, _NARROW_SHARE = 16, 0.5, 0.66
_MARKS, _AGE = 3, 7
_WIDE = 76
#: From this width of a list on the coder stands in its line.
_WITH_CODER = 90


def now_listing(
    now: Now, at: datetime, width: int, *, wanted: str = "", marked: Collection[str] = ()
) -> Listing:
    """The rows that hold the wanted text, by group, below the name and size of each group."""
    draft = ListingDraft()
    rows = [row for row in now.rows if matches(row, wanted)]
    columns = _columns(rows, width)
    for group, (head, style) in _HEADS.items():
        mine = [row for row in rows if row.group == group]
        if wanted and not mine:
            continue
        draft.add(_head(head, style, mine, now.counts, group, wanted))
        for row in mine:
            is_marked = row.id in marked
            draft.add(partial(_row, row, at, width, columns, is_marked=is_marked), row.id)
        if not mine:
            is_at_work = group == "running" and now.supervisor.alive
            draft.add(((f"  {'nothing' if is_at_work else _EMPTY[group]}", "dim"),))
    if wanted and not rows:
        draft.add(((f"nothing holds {said(wanted)!r}; Esc shows all", "dim"),))
    return draft.done()


def matches(row: TaskRow, wanted: str) -> bool:
    """Whether a row holds every word of a filter, in any case."""
    text = " ".join(
        (row.id, row.title, row.coder, row.model, row.account, row.project, row.reason, row.status,
         row.group, *row.labels)
    ).lower()  # fmt: skip
    return all(word in text for word in wanted.lower().split())


def _head(
    head: str, style: str, mine: Sequence[TaskRow], counts: GroupCounts, group: Group, wanted: str
) -> SpanLine:
    total = len(mine) if wanted else max(len(mine), getattr(counts, group))
    line: list[Span] = [(head, style), (f" {total}", "bold")]
    if total > len(mine):
        line.append((f"  the first {len(mine)}; / filters", "dim"))
    return tuple(line)


def _columns(rows: Sequence[TaskRow], width: int) -> tuple[int, int]:
    """The widths of the ids and of the titles: as wide as the widest, if there is room."""
    ids = min(_LONGEST_ID, max((cells(said(row.id)) for row in rows), default=0))
    room = width - _MARKS - ids - 1 - _AGE - 2
    most = int(room * (_TITLE_SHARE if width >= _WIDE else _NARROW_SHARE))
    titles = max((cells(said(row.title)) for row in rows), default=0)
    return ids, max(0, min(titles, most))


def _row(
    row: TaskRow, at: datetime, width: int, columns: tuple[int, int], *, is_marked: bool
) -> SpanLine:
    mark, style = mark_of(row)
    ids, titles = columns
    line: SpanLine = (
        ("*" if is_marked else " ", "bold yellow"),
        (f"{mark} ", style),
        (column(said(row.id), ids), "cyan"),
        (f" {column(_age(row, at), _AGE, right=True)}  ", "dim"),
        (column(said(row.title), titles), _title_style(row)),
        ("  ", ""),
        *detail_of(row, at, width),
    )
    return clipped(line, width)


def _age(row: TaskRow, at: datetime) -> str:
    """How long a run takes so far, to the second; of others how long ago, and that in one unit."""
    if row.run is not None and row.run.started_at is not None:
        return duration((at - row.run.started_at).total_seconds())
    if row.since is None:
        return ""
    return duration((at - row.since).total_seconds()).partition(" ")[0]


def _title_style(row: TaskRow) -> str:
    return "dim" if row.group == "done" else "bold" if row.group == "needs_you" else ""


def mark_of(row: TaskRow) -> tuple[str, str]:
    """A letter that tells how a task stands, for terminals without colours too, and a style."""
    match row.group:
        case "needs_you":
            return ("?", "bold magenta") if row.question else ("!", "bold red")
        case "running":
            unusual = bool(row.reason) or (row.run is not None and row.run.doing != "running")
            return ("●", "yellow" if unusual else "green")
        case "waiting":
            return ("○", "yellow")
        case "done":
            if row.verdict is None:
                return ("·", "dim")
            return (_VERDICT_MARKS[row.verdict], VERDICT_COLOURS[row.verdict])


def detail_of(row: TaskRow, at: datetime, width: int) -> SpanLine:
    """What a row tells behind the title: question, figures and last step, reason or verdict."""
    match row.group:
        case "needs_you":
            return ((_first(row.words), "magenta" if row.question else "red"),)
        case "running":
            return _running(row, width)
        case "waiting":
            until = f"until {moment(row.until, at.astimezone())[:5]}: " if row.until else ""
            return ((f"{until}{_first(row.words)}", "yellow" if row.way_on else "dim"),)
        case "done":
            proved = row.verdict if row.state == "done" else None
            parts = (row.words, proved or "", cost_words(row.spent))
            return ((", ".join(said(part) for part in parts if part), "dim"),)


def _running(row: TaskRow, width: int) -> SpanLine:
    run = row.run
    if run is None:
        return ((said(row.words), "green" if row.landing else "dim"),)
    spans: list[Span] = []
    if width >= _WITH_CODER:
        spans.append((f"{cut(said(row.coder), 10)} ", "dim"))
    if (percent := context_percent(row)) is not None:
        spans.append((f"{percent:>3}% ", fullness(percent)))
    if cost := cost_words(run.spent):
        spans.append((f"{cost} ", "dim"))
    if run.doing != "running":
        spans.append((_first(row.words), "yellow"))
    elif row.reason:
        spans.append((_first(row.reason), "yellow"))
    elif run.last_step:
        spans.append((said(run.last_step), ""))
    return tuple(spans)


def context_percent(row: TaskRow) -> int | None:
    """How full the agent's context is; None if that is not known."""
    run = row.run
    if run is None or not run.context_window:
        return None
    return round(100 * (run.context_tokens or run.context_peak) / run.context_window)


def cost_words(spent: Spend) -> str:
    """A cost in few letters; `~` for fleet's estimate, `$?` where unknown."""
    if spent.usd:
        return f"{'~' if spent.estimated_usd else ''}{shown_usd(spent.usd)}"
    return "$?" if spent.unpriced else ""


def _first(text: str) -> str:
    return said(text.strip().partition("\n")[0])


def question_listing(now: Now, at: datetime, width: int) -> Listing:
    """The tasks whose agents ask, longest waiting first."""
    draft = ListingDraft()
    asked = sorted(
        (row for row in now.rows if row.question), key=lambda row: (row.priority, row.since or at)
    )
    for row in asked:
        draft.add(partial(_question_row, row, at, width), row.id)
    if not asked:
        draft.add(((_NO_QUESTION, "dim"),))
    return draft.done()


def question_page(row: TaskRow, width: int) -> list[SpanLine]:
    """The whole question, and what the question is about."""
    lines: list[SpanLine] = [*paragraph(row.title, width, "bold"), EMPTY]
    lines += [*paragraph(row.question, width), EMPTY]
    if row.way_on:
        lines += fact("way on", row.way_on.line, width, "cyan")
    lines += fact("directory", row.directory or row.project, width, "dim")
    return lines


def _question_row(row: TaskRow, at: datetime, width: int) -> SpanLine:
    age = duration((at - row.since).total_seconds()) if row.since else ""
    return clipped(
        (
            ("? ", "bold magenta"),
            (f"{said(row.id)} ", "cyan"),
            (f"{column(age, 7, right=True)}  ", "dim"),
            (_first(row.question), "bold"),
            (f"  {said(row.title)}", "dim"),
        ),
        width,
    )
