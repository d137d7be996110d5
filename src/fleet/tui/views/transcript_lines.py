"""A transcript as lines: one an entry, tool calls folded, errors open. Pure."""

from collections.abc import Collection, Iterator, Mapping

from fleet.control.view.task.transcript import EntryKind, TranscriptEntry
from fleet.tui.spans import Listing, ListingDraft, SpanLine, clipped, paragraph, said, standing_out

_STYLES: Mapping[EntryKind, str] = {
    "text": "",
    "thinking": "dim",
    "call": "cyan",
    "error": "red",
    "note": "magenta",
    "sign": "dim",
    "person": "bold yellow",
}
_MARKS: Mapping[EntryKind, str] = {"error": "✗", "note": "◆", "sign": "─", "person": "»"}
#: The column that texts begin at, behind the time; how many lines of an open entry are shown.
_INDENT, _MOST = 9, 400


def key_of(entry: TranscriptEntry) -> str:
    """What names an entry, whatever else is read of the same file."""
    return f"{entry.at}.{entry.part}"


def entry_of(key: str) -> str:
    """The entry that a line of a listing belongs to."""
    return key.partition("/")[0]


def transcript_listing(
    entries: Collection[TranscriptEntry],
    width: int,
    *,
    turned: Collection[str] = (),
    all_open: bool = False,
    above: str = "",
    below: str = "",
    wanted: str = "",
) -> Listing:
    """The lines of some entries. `turned`: entries that a person opened or closed against the rule
    that texts and errors are open; `above`, `below`: what the first and last line say; `wanted`:
    a text that stands out.
    """
    draft = ListingDraft()
    if above:
        draft.add(((above, "dim"),))
    run = None
    for entry in entries:
        if entry.run != run and entry.run:
            run = entry.run
            draft.add(((f"── run {run} ".ljust(width, "─"), "dim"),))
        key = key_of(entry)
        is_open = (all_open or _is_open(entry)) != (key in turned)
        for number, line in enumerate(_lines(entry, width, is_open=is_open)):
            draft.add(standing_out(line, wanted) if wanted else line, f"{key}/{number}")
    if below:
        draft.add(((below, "dim"),))
    return draft.done()


def _is_open(entry: TranscriptEntry) -> bool:
    return entry.kind in ("text", "error", "person") or entry.failed


def _lines(entry: TranscriptEntry, width: int, *, is_open: bool) -> Iterator[SpanLine]:
    when = f"{entry.ts.astimezone():%H:%M:%S} " if entry.ts else " " * _INDENT
    style = "red" if entry.failed or entry.denied else _STYLES[entry.kind]
    mark = _MARKS.get(entry.kind, "")
    if entry.kind == "call":
        mark = "▾" if is_open else "▸"
    head = f"{mark} " if mark else ""
    ending = "  denied" if entry.denied else "  failed" if entry.failed else ""
    if not is_open or entry.kind == "call":
        line: SpanLine = ((when, "dim"), (f"{head}{said(entry.line)}", style), (ending, "red"))
        yield clipped(line, width)
        if is_open:
            yield from _inside(entry, width)
        return
    rows = list(paragraph(entry.text or entry.line, width, style, _INDENT))[:_MOST]
    first = rows[0] if rows else ((" " * _INDENT, ""),)
    yield ((when, "dim"), (head, style), *first[1:])
    yield from rows[1:]
    if entry.cut:
        yield ((" " * _INDENT, ""), ("… the rest is in events.jsonl", "dim"))


def _inside(entry: TranscriptEntry, width: int) -> Iterator[SpanLine]:
    """The input of a call, and the result."""
    parts = ((entry.text, "dim"), (entry.result, "red" if entry.failed else ""))
    for text, style in parts:
        rows = list(paragraph(text, width, style, _INDENT + 2))
        yield from rows[:_MOST]
        if len(rows) > _MOST:
            yield ((" " * _INDENT, ""), (f"  … {len(rows) - _MOST} more lines", "dim"))
