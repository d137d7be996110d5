"""Reads a stretch of a transcript from any byte on, both ways, and searches the whole file.

Only the stretch is read, so that a transcript of any length opens at once.
"""

import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

from fleet.control import Control
from fleet.control.tasks.task_files import task_id_of
from fleet.control.view.task.transcript import (
    Transcript,
    TranscriptHit,
    TranscriptHits,
    entries_of,
    joined,
    tells,
)
from fleet.errors import BadInput
from fleet.files.safe_read import open_regular
from fleet.processes import keeper_client
from fleet.runs.event_log import FILE
from fleet.runs.run_directory import latest_run

#: Entries of one answer, and bytes that are read for one.
MOST_ENTRIES, _MOST_BYTES = 500, 4 << 20
_CHUNK = 1 << 18
#: Bytes of one request of a search; the next request goes on behind them.
_SEARCHED = 64 << 20
_MOST_HITS = 200


def read_transcript(
    fleet: Control, word: str, *, at: int | None, limit: int, back: bool = False
) -> Transcript:
    """A stretch of a task's transcript from a byte on, forwards or backwards; `at` None: the end.

    Results of calls come with the call where both are in the stretch, else as entries of their own.
    """
    task_id = task_id_of(fleet, word)
    limit = min(max(limit, 1), MOST_ENTRIES)
    path = fleet.home.task(task_id) / FILE
    with _opened(path) as (fd, size):
        if at is None:
            at, back = size, True
        at = min(max(at, 0), size)
        if back:
            lines = _page(_backwards(fd, at), limit)[::-1]
        else:
            lines = _page(_forwards(fd, at, size), limit)
    run = latest_run(fleet.home.task(task_id))
    live = keeper_client.is_alive(run)
    entries = [entry for place, raw in lines for entry in entries_of(place, raw)]
    start = lines[0][0] if lines else at
    end = lines[-1][0] + len(lines[-1][1]) + 1 if lines else at
    return Transcript(
        task_id=task_id, start=start, end=end, size=size, live=live, entries=joined(entries)
    )


def search_transcript(fleet: Control, word: str, wanted: str, *, at: int = 0) -> TranscriptHits:
    """The lines that hold a text, in any case, from a byte on."""
    if not wanted.strip():
        raise BadInput("there is nothing to search for")
    task_id = task_id_of(fleet, word)
    small, raw_word = wanted.lower(), _as_in_json(wanted.lower())
    hits: list[TranscriptHit] = []
    with _opened(fleet.home.task(task_id) / FILE) as (fd, size):
        place, end = min(max(at, 0), size), min(size, at + _SEARCHED)
        for place, raw in _forwards(fd, at, size):
            if len(hits) >= _MOST_HITS or place >= end:
                return TranscriptHits(
                    task_id=task_id, wanted=wanted, size=size, hits=tuple(hits), next_at=place
                )
            if raw_word and raw_word not in raw.lower():
                continue
            for entry in entries_of(place, raw):
                if any(small in text.lower() for text in (entry.line, entry.text, entry.result)):
                    hits.append(
                        TranscriptHit(at=place, run=entry.run, kind=entry.kind, line=entry.line)
                    )
                    break
    return TranscriptHits(task_id=task_id, wanted=wanted, size=size, hits=tuple(hits))


def _as_in_json(text: str) -> bytes:
    """The text as a raw line has it; empty: JSON may write the text in several ways."""
    plain = text.isascii() and text.isprintable() and not set(text) & set('"\\')
    return text.encode() if plain else b""


@contextmanager
def _opened(path: Path) -> Generator[tuple[int, int]]:
    """The open file and the length of all whole lines; of no file nothing."""
    fd = open_regular(path)
    if fd is None:
        yield -1, 0
        return
    try:
        yield fd, _whole(fd)
    finally:
        os.close(fd)


def _whole(fd: int) -> int:
    """Where the last whole line ends: a line that is being written is not shown yet."""
    at = os.fstat(fd).st_size
    while at > 0:
        step = min(_CHUNK, at)
        at -= step
        found = os.pread(fd, step, at).rfind(b"\n")
        if found >= 0:
            return at + found + 1
    return 0


def _forwards(fd: int, at: int, size: int) -> Iterator[tuple[int, bytes]]:
    """The lines from a byte on, each with the place. A place within a line begins with the next."""
    if fd < 0:
        return
    if at > 0 and os.pread(fd, 1, at - 1) != b"\n":
        at = _next_line(fd, at, size)
    rest = b""
    while at + len(rest) < size:
        chunk = os.pread(fd, min(_CHUNK, size - at - len(rest)), at + len(rest))
        if not chunk:
            return
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield at, line
            at += len(line) + 1


def _next_line(fd: int, at: int, size: int) -> int:
    while at < size:
        chunk = os.pread(fd, _CHUNK, at)
        found = chunk.find(b"\n")
        if found >= 0:
            return at + found + 1
        at += len(chunk) or size
    return size


def _page(lines: Iterator[tuple[int, bytes]], limit: int) -> list[tuple[int, bytes]]:
    """The first lines, until enough of them have something to show, or all are too long."""
    found: list[tuple[int, bytes]] = []
    shown = taken = 0
    for place, line in lines:
        found.append((place, line))
        shown += tells(line)
        taken += len(line)
        if shown >= limit or taken > _MOST_BYTES:
            break
    return found


def _backwards(fd: int, at: int) -> Iterator[tuple[int, bytes]]:
    if fd < 0:
        return
    tail, end = b"", at
    while at > 0:
        step = min(_CHUNK, at)
        at -= step
        first, *lines = (os.pread(fd, step, at) + tail).split(b"\n")
        for line in reversed(lines):
            end -= len(line) + 1
            if line:
                yield max(0, end + 1), line
        tail = first
    if tail:
        yield 0, tail
