"""Print files: byte for byte into a pipe; on a terminal with control characters escaped, JSON lines
as sentences and diffs in colour. The supervisor's log is sentences in a pipe too.
"""

import codecs
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from fleet.cli.terminal_text import folded, painted, terminal_width
from fleet.control.tasks.task_files import log_line
from fleet.control.view.task.transcript import TranscriptEntry, entries_of
from fleet.schemas import FileChange
from fleet.schemas.shown_text import cut, harmless, headline, moment, one_line

#: The least room of an event on a terminal, however narrow that is.
_LEAST_ROOM = 20
_STYLES = {"error": "red", "note": "cyan", "sign": "dim"}
_DIFF_STYLES = (("+++", "bold"), ("---", "bold"), ("+", "green"), ("-", "red"), ("@@", "cyan"))


def put_lines(chunks: Iterable[bytes], *, raw: bool) -> None:
    """Print JSON lines as sentences, or as they are."""
    if raw:
        put(chunks)
        return
    for line in readable(chunks, datetime.now().astimezone()):
        print(line, flush=True)


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
        way = f"fleet task {line.task} receipt" if line.task else ""
        yield painted(head, "dim") + folded(headline(line.text, way), len(head), width)
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


def put_diff(chunks: Iterable[bytes]) -> None:
    """Print a diff: in colour on a terminal."""
    if not sys.stdout.isatty():
        put(chunks)
        return
    for line in coloured_diff(chunks):
        print(line)


def coloured_diff(chunks: Iterable[bytes]) -> Iterator[str]:
    """The lines of a diff, in colour where colours are wanted."""
    for raw in whole_lines(chunks):
        line = raw.decode(errors="replace").removesuffix("\r")  # of a file with CRLF
        style = next((style for start, style in _DIFF_STYLES if line.startswith(start)), "")
        yield painted(harmless(line), style)


def changed_file(file: FileChange) -> str:
    """A file that a run changed, in one line."""
    return f"{file.kind:<8}{one_line(file.path)}  +{file.added} -{file.removed}"


def whole_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of a stream that comes in chunks; at the end also what has no end of line."""
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        yield from whole
    if rest:
        yield rest


def paged(lines: Sequence[str], *, pager: bool = True) -> None:
    """Print lines: through a pager where they are longer than the terminal."""
    import click

    rows = shutil.get_terminal_size().lines
    if pager and sys.stdout.isatty() and sum(line.count("\n") + 1 for line in lines) >= rows:
        click.echo_via_pager("\n".join(lines) + "\n")
        return
    for line in lines:
        click.echo(line)


def put(chunks: Iterable[bytes]) -> None:
    """Print each chunk at once."""
    out = sys.stdout.buffer
    if not sys.stdout.isatty():
        for chunk in chunks:
            out.write(chunk)
            out.flush()
        return
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    for chunk in chunks:
        sys.stdout.write(harmless(decoder.decode(chunk)))
        sys.stdout.flush()
    sys.stdout.write(harmless(decoder.decode(b"", final=True)))
