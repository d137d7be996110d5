"""The timeline as lines: one a slot, above them what kept fleet from working, below them how many
tasks waited. Pure.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from fleet.control.view.timeline import Band, Segment, Timeline
from fleet.schemas.shown_text import counted, duration, moment
from fleet.tui.spans import EMPTY, Listing, ListingDraft, Span, SpanLine, column, fact, said

_LABEL, _LEAST = 14, 20
#: Minutes between two marks of the ruler, and the columns that a mark takes.
_STEPS, _MARK = (5, 10, 15, 30, 60, 120, 180, 360, 720, 1440), 7
#: How a run ended: what is drawn for it, and in which colour.
_SHOWN, _GOES_ON, _PUT_OFF, _FAILED = ("█", "green"), ("▓", "cyan"), ("▒", "yellow"), ("x", "red")
_BANDS = {
    "account": "account",
    "vendor": "vendor fails",
    "budget": "budget",
    "supervisor": "no supervisor",
    "paused": "paused",
}
_LEGEND: SpanLine = (
    ("█", "green"), (" done  ", "dim"), ("▓", "cyan"), (" runs  ", "dim"),
    ("▒", "yellow"), (" put off  ", "dim"), ("x", "red"), (" failed  ", "dim"),
    ("3", "yellow"), (" tasks wait", "dim"),
)  # fmt: skip


def timeline_listing(seen: Timeline, width: int) -> Listing:
    """The lanes between two moments; a lane can be chosen."""
    draft = ListingDraft()
    room = max(_LEAST, width - _LABEL)
    draft.add(_ruler(seen, room))
    for name, bands in _by_name(seen.bands).items():
        cells = _drawn([(each.start, each.end, ("─", "magenta")) for each in bands], seen, room)
        draft.add((_label(name, "magenta"), *cells))
    for lane in seen.lanes:
        cells = _drawn([(each.start, each.end, _ended(each)) for each in lane.segments], seen, room)
        draft.add((_label(f"slot {lane.number}", ""), *cells), f"lane:{lane.number}")
    if not seen.lanes:
        draft.add((("Nothing ran in this time.", "dim"),))
    if seen.waits:
        draft.add((_label("waiting", "yellow"), *_waiting(seen.waits, seen, room)))
    if seen.more:
        draft.add(((f"not shown: {counted(seen.more, 'run')} more", "dim"),))
    draft.add(EMPTY)
    draft.add(_LEGEND)
    return draft.done()


def lane_page(seen: Timeline, key: str, width: int) -> list[SpanLine]:
    """The runs of one lane, latest first."""
    lane = next((each for each in seen.lanes if f"lane:{each.number}" == key), None)
    if lane is None:
        return [(("Choose a slot.", "dim"),)]
    lines: list[SpanLine] = [((f"Slot {lane.number}", "bold"),)]
    for each in reversed(lane.segments):
        lines += [EMPTY, *_segment(each, seen.as_of, width)]
    return lines


def _segment(each: Segment, at: datetime, width: int) -> list[SpanLine]:
    sign, style = _ended(each)
    end = each.end or at
    took = duration((end - each.start).total_seconds())
    head: SpanLine = (
        (f"{sign} ", style),
        (f"{said(each.task_id)}  ", "cyan"),
        (said(each.title), ""),
    )
    words = f"{moment(each.start, at.astimezone())}, {took}, {each.coder} {each.model}".rstrip()
    rejected = "rejected" if each.verdict == "rejected" else ""  # the reason has the other verdicts
    ended = f"{each.outcome} {rejected}".strip() or "goes on"
    lines = [head, *fact("", f"run {each.run}: {words}", width, "dim", 2)]
    lines += fact("", f"{ended}{': ' if each.why else ''}{_first(each.why)}", width, style, 2)
    return lines


def _ended(each: Segment) -> Span:
    if not each.outcome:
        return _GOES_ON
    name = each.outcome.partition(" ")[0]  # `Failed (auth)` says why, too
    if name == "Finished":
        return _SHOWN if each.verdict in ("checked", "unchecked") else _FAILED
    return _FAILED if name in ("Failed", "Stalled", "LimitExceeded", "Lost") else _PUT_OFF


def _ruler(seen: Timeline, room: int) -> SpanLine:
    """The hours along the top."""
    whole = (seen.end - seen.start).total_seconds() or 1.0
    letters = [" "] * room
    step = next((each for each in _STEPS if whole / 60 / each * _MARK <= room), _STEPS[-1])
    at = seen.start.astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    while at <= seen.end:
        place = int((at - seen.start).total_seconds() / whole * room)
        if 0 <= place <= room - 5:
            letters[place : place + 5] = f"{at:%H:%M}"
        at += timedelta(minutes=step)
    day = f"{seen.end.astimezone():%b %d}"
    return ((column(day, _LABEL), "dim"), ("".join(letters), "dim"))


def _drawn(
    parts: Iterable[tuple[datetime, datetime | None, Span]], seen: Timeline, room: int
) -> list[Span]:
    """Stretches of time as cells."""
    cells: list[Span] = [("·", "dim")] * room
    for start, end, span in parts:
        for at in _cells_of(start, end, seen, room):
            cells[at] = span
    return _merged(cells)


def _cells_of(start: datetime, end: datetime | None, seen: Timeline, room: int) -> range:
    """The cells of a stretch of time; one that is shorter than a cell still has one."""
    whole = (seen.end - seen.start).total_seconds() or 1.0
    first = int((start - seen.start).total_seconds() / whole * room)
    last = int(((end or seen.end) - seen.start).total_seconds() / whole * room)
    return range(max(0, first), min(room, max(last, first + 1)))


def _waiting(waits: Sequence[Segment], seen: Timeline, room: int) -> list[Span]:
    """How many tasks waited, a digit a cell."""
    numbers = [0] * room
    for each in waits:
        for at in _cells_of(each.start, each.end, seen, room):
            numbers[at] += 1
    return _merged(
        [(str(each) if each < 10 else "+", "yellow") if each else ("·", "dim") for each in numbers]
    )


def _merged(cells: Sequence[Span]) -> list[Span]:
    """Cells of one style as one span."""
    found: list[Span] = []
    for text, style in cells:
        if found and found[-1][1] == style:
            found[-1] = (found[-1][0] + text, style)
        else:
            found.append((text, style))
    return found


def _by_name(bands: Sequence[Band]) -> dict[str, list[Band]]:
    found: dict[str, list[Band]] = {}
    for each in bands:
        name = (
            each.name
            if each.kind in ("account", "vendor", "budget") and each.name
            else _BANDS[each.kind]
        )
        found.setdefault(said(name), []).append(each)
    return found


def _label(text: str, style: str) -> Span:
    return (f"{column(text, _LABEL - 1)} ", style)


def _first(text: str) -> str:
    return text.strip().partition("\n")[0]
