"""The questions of agents as lines, and one of them whole. Pure."""

from datetime import datetime
from functools import partial

from fleet.control.view.now import Now, TaskRow
from fleet.schemas.shown_text import duration
from fleet.tui.listing import Listing, ListingDraft
from fleet.tui.spans import EMPTY, SpanLine, clipped, column, fact, paragraph, said

_NONE = "No agent asks anything. What else needs you: 1"


def question_listing(now: Now, at: datetime, width: int) -> Listing:
    """The tasks whose agents ask, longest waiting first."""
    draft = ListingDraft()
    asked = sorted(
        (row for row in now.rows if row.question), key=lambda row: (row.priority, row.since or at)
    )
    for row in asked:
        draft.add(partial(_row, row, at, width), row.id)
    if not asked:
        draft.add(((_NONE, "dim"),))
    return draft.done()


def question_page(row: TaskRow, width: int) -> list[SpanLine]:
    """The whole question, and what the question is about."""
    lines: list[SpanLine] = [*paragraph(row.title, width, "bold"), EMPTY]
    lines += [*paragraph(row.question, width), EMPTY]
    if row.way_on:
        lines += fact("way on", row.way_on.line, width, "cyan")
    lines += fact("directory", row.directory or row.project, width, "dim")
    return lines


def _row(row: TaskRow, at: datetime, width: int) -> SpanLine:
    age = duration((at - row.since).total_seconds()) if row.since else ""
    head = row.question.strip().partition("\n")[0]
    return clipped(
        (
            ("? ", "bold magenta"),
            (f"{said(row.id)} ", "cyan"),
            (f"{column(age, 7, right=True)}  ", "dim"),
            (said(head), "bold"),
            (f"  {said(row.title)}", "dim"),
        ),
        width,
    )
