"""`events.jsonl`: all events of a task's runs, each written once, whoever reads the streams.

A line is `{"run":N,"at":[S,T],…}`: S and T tell how far the run's stdout and its coder's second
stream were read when it was written. So whoever takes the run over knows what is written already,
even if its coder sees other events in the same bytes. Lines of fleet's own have no `at`.
"""

import os
from collections.abc import Generator, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct, structs

from fleet.runs.run_directory import Run
from fleet.schemas import Event

FILE = "events.jsonl"
#: A task's event file that grew to this size takes no more; the raw stream is kept in the run.
LARGEST = 256 << 20
_TEXT_CAP = 4000
_CHUNK = 1 << 16

_encode = msgspec.json.Encoder().encode


class _At(Struct, frozen=True):
    at: tuple[int, int] = (0, 0)


def line_of(event: Event, run: int, at: tuple[int, int]) -> bytes:
    """One line: without the raw line of the stream, which is in the run's stdout."""
    head = b'{"run":%d,"at":[%d,%d],' % (run, *at)
    short = structs.replace(event, raw=None, text=event.text[:_TEXT_CAP])
    try:
        return head + _encode(short)[1:] + b"\n"
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        # Anybody's coder may put anything into an event; one line is not the run.
        text = f"an event of kind {event.kind!r} cannot be written: {error}"
        plain = Event(kind="bad", ts=event.ts, text=text.encode(errors="replace").decode())
        return head + _encode(plain)[1:] + b"\n"


def note_of(kind: str, run: int, facts: Mapping[str, object]) -> bytes:
    """A line of fleet's own among those of the agent."""
    return b'{"run":%d,"kind":"%s",' % (run, kind.encode()) + _encode(facts)[1:] + b"\n"


def append(path: Path, data: bytes) -> bool:
    """Add whole lines at the end. False: the file is as large as it may get."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        size = os.fstat(fd).st_size
        if size >= LARGEST:
            return False
        if os.write(fd, data) != len(data):
            os.ftruncate(fd, size)  # a full disk took half of it: the rest of a line is no line
            raise OSError(28, "the disk is full")
    finally:
        os.close(fd)
    return True


def written(run: Run) -> tuple[int, int]:
    """How far the run's streams are written down. What a crash left of a line is cut off."""
    own, mark = b'{"run":%d,' % run.number, b'{"run":%d,"at":[' % run.number
    for line in _backwards(run.task_dir / FILE):
        if line.startswith(mark):
            try:
                return msgspec.json.decode(line, type=_At).at
            except msgspec.DecodeError:
                break  # not ours: somebody else wrote here
        if not line.startswith(own):
            break  # an earlier run's: this one has written nothing
    return (0, 0)


def ends_with(run: Run, kind: str) -> bool:
    """The last line of all is this note of fleet's own, on this run."""
    last = next(_backwards(run.task_dir / FILE), b"")
    return last.startswith(b'{"run":%d,"kind":"%s",' % (run.number, kind.encode()))


def _backwards(path: Path) -> Generator[bytes]:
    """The lines from the last to the first."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return
    try:
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
    """Where the last whole line ends; nothing is behind it any more."""
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
