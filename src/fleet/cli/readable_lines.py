"""JSON lines of logs and events as sentences, for people at a terminal."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from fleet.cli.print_file import whole_lines
from fleet.cli.terminal_text import folded, painted, terminal_width
from fleet.control.tasks.task_files import log_line
from fleet.control.view.task.event_entries import entries_of
from fleet.control.view.task.transcript import TranscriptEntry
from fleet.schemas.shown_text import cut, moment, one_line

#: The least room of an event on a terminal, however narrow that is.
_LEAST_ROOM = 20
_STYLES = {"error": "red", "note": "cyan", "sign": "dim"}


def readable(chunks: Iterable[bytes], now: datetime) -> Iterator[str]:
    """A line of text for each JSON line that tells something; what is no JSON is shown as it is."""
    for raw in whole_lines(chunks):
        yield from _shown(raw, now)


def _shown(raw: bytes, now: datetime) -> Iterator[str]:
    """What fleet did is told whole; what an agent did, as far as it fits on a line."""
    if not raw.lstrip().startswith(b"{"):
        if raw.strip():
            yield one_line(raw.decode(errors="replace"))
        return
    width = terminal_width()
    if (line := log_line(raw)) is not None:
        head = _when(line.ts, now)
        yield painted(head, "dim") + folded(one_line(line.text), len(head), width)
        return
    for entry in entries_of(0, raw):
        if (words := _words(entry)) is not None:
            head = _when(entry.ts, now)
            room = max(_LEAST_ROOM, width - len(head))
            style = "red" if entry.failed else _STYLES.get(entry.kind, "")
            yield painted(head, "dim") + painted(cut(one_line(words), room), style)


def _when(at: datetime | None, now: datetime) -> str:
    return f"{moment(at, now) if at else '':8}  "


def _words(entry: TranscriptEntry) -> str | None:
    """What an entry says; None: a thought, or a result without an error, which need no line."""
    run = f"run {entry.run}: " if entry.run else ""
    if entry.kind == "call" and not entry.tool:
        return f"{run}failed: {entry.line}" if entry.failed else None
    return None if entry.kind == "thinking" else f"{run}{entry.line}"
