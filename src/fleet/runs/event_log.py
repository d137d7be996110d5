"""`events.jsonl`: all events of a task's runs, each written once, also across supervisors.

A line is `{"run":N,"at":[S,T],…}`: S and T tell how far the run's stdout and its coder's second
stream were read when the line was written. So a supervisor that takes the run over knows what is
written already, even if its coder sees other events in the same bytes. Lines of fleet's own have
no `at`.
"""

import os
from collections.abc import Generator, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct, structs

from fleet.files.append_file import append_in
from fleet.files.safe_read import SAFELY, is_regular
from fleet.runs.run_directory import Run
from fleet.schemas import Event, typed

FILE = "events.jsonl"
#: A task's event file that grew to this size takes no more; the raw stream is kept in the run.
LARGEST = 256 << 20
_TEXT_CAP = 4000
_CHUNK = 1 << 16
_COMMA = ord(",")

_encoder = msgspec.json.Encoder()


class _Position(Struct, frozen=True):
    at: tuple[int, int] = (0, 0)


def put_line(lines: bytearray, event: Event, run: int, at: tuple[int, int]) -> None:
    """Put the line of an event behind others, without the raw line of the stream, which is in the
    run's stdout.

    Into one buffer: lines that are made apart and joined are copied three times, which takes as
    long as making them.
    """
    is_short = event.raw is None and len(event.text) <= _TEXT_CAP
    short = event if is_short else structs.replace(event, raw=None, text=event.text[:_TEXT_CAP])
    lines += b'{"run":%d,"at":[%d,%d]' % (run, *at)
    begin = len(lines)
    try:
        _encoder.encode_into(short, lines, begin)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        # A custom coder may put anything into an event; a bad one shall not end the run.
        text = f"an event of kind {event.kind!r} cannot be written: {error}"
        plain = Event(kind="bad", ts=event.ts, text=text.encode(errors="replace").decode())
        _encoder.encode_into(plain, lines, begin)
    lines[begin] = _COMMA  # in place of the event's own brace: run and at are fields beside its own
    lines += b"\n"


def note_of(kind: str, run: int, facts: Mapping[str, object]) -> bytes:
    """The line of a note of fleet's own among the agent's events."""
    return b'{"run":%d,"kind":"%s",' % (run, kind.encode()) + _encoder.encode(facts)[1:] + b"\n"


def add(task_dir: Path, lines: bytes | bytearray) -> bool:
    """Add whole lines at the end. False: the file is as large as it may get."""
    return append_in(task_dir, FILE, lines, limit=LARGEST)


def written(run: Run) -> tuple[int, int]:
    """How far the run's two streams are in the file. Cuts off half a line that a crash left."""
    own, mark = b'{"run":%d,' % run.number, b'{"run":%d,"at":[' % run.number
    for line in _backwards(run.task_dir / FILE):
        if line.startswith(mark):
            try:
                return typed.decode(line, _Position).at
            except msgspec.DecodeError:
                break  # another program wrote here
        if not line.startswith(own):
            break  # an earlier run's: this one has written nothing
    return (0, 0)


def ends_with(run: Run, kind: str) -> bool:
    """The last line of the file is fleet's own note of this kind, on this run."""
    last = next(_backwards(run.task_dir / FILE), b"")
    return last.startswith(b'{"run":%d,"kind":"%s",' % (run.number, kind.encode()))


def _backwards(path: Path) -> Generator[bytes]:
    """The lines from the last to the first."""
    try:
        fd = os.open(path, os.O_RDWR | SAFELY)
    except OSError:  # there is none, or what is no file is put aside with the next line
        return
    try:
        if not is_regular(fd):
            return
        at = _cut_to_whole_lines(fd)
        tail = b""
        while at > 0:
            step = min(_CHUNK, at)
            at -= step
            tail, *lines = (os.pread(fd, step, at) + tail).split(b"\n")
            yield from (line for line in reversed(lines) if line)
        if tail:
            yield tail
    finally:
        os.close(fd)


def _cut_to_whole_lines(fd: int) -> int:
    """Truncate the file behind the last whole line; returns that line's end."""
    size = at = os.fstat(fd).st_size
    end = 0
    while at > 0 and not end:
        step = min(_CHUNK, at)
        at -= step
        found = os.pread(fd, step, at).rfind(b"\n")
        end = at + found + 1 if found >= 0 else 0
    if end < size:
        os.ftruncate(fd, end)
    return end
