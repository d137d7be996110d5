"""The files of runs in the queue: what a host stores before settling a run, and what other hosts
read.

A file is cut into parts of 1 MiB, each compressed by itself. A run has room for `MOST` bytes; parts
beyond go to a directory that the hosts share, if there is one, or are left out, and the list of the
run's files says so. The list is written last: a run without one was not sent to its end.
"""

import hashlib
import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from fleet.errors import QueueError
from fleet.files.atomic_write import write_atomically
from fleet.queue.protocol import LeaseLost
from fleet.queue.sql.row_mapping import to_micros
from fleet.queue.sql.sql_queue import SqlQueue
from fleet.schemas import Lease, typed

PART = 1 << 20
#: Bytes of one run that the queue holds, compressed.
MOST = 32 << 20
#: The list of a run's files.
LIST = ".files"
#: In place of a run's number: files of the task itself.
OF_TASK = 0
_LEVEL = 6


class SentFile(Struct, frozen=True, kw_only=True):
    """One file of a run that a host sent."""

    path: str
    size: int
    sha256: str
    #: How many bytes were left out at its end, as the run had no room for them.
    cut: int = 0


class SentRun(Struct, frozen=True, kw_only=True):
    """The list of a run's files, and the host that sent the list."""

    host: str
    files: tuple[SentFile, ...] = ()


class StoredFile(Struct, frozen=True, kw_only=True):
    """One file that the queue holds."""

    run: int
    path: str
    size: int
    parts: int


class RunFiles:
    """The files of runs in one queue. `shared` is a directory that all hosts see."""

    def __init__(self, queue: SqlQueue, shared: Path | None = None, *, most: int = MOST) -> None:
        self._queue, self._shared, self._most = queue, shared, most

    def send(
        self, lease: Lease, run: int, files: Iterable[tuple[str, Iterable[bytes]]], *, host: str
    ) -> LeaseLost | SentRun:
        """Store the files of a run, the most important first, and the list last.

        Under a lost lease nothing is stored. Files that were sent before are replaced.
        """
        room, sent = self._most, list[SentFile]()
        for path, chunks in files:
            stored = self._put(_under(lease), run, path, chunks, room)
            if stored is None:
                return _lost(lease)
            room -= stored[1]
            sent.append(stored[0])
        listed = SentRun(host=host, files=tuple(sent))
        data = msgspec.json.encode(listed)
        if self._put(_under(lease), run, LIST, [data], len(data) + PART) is None:
            return _lost(lease)
        return listed

    def put_task_files(
        self, lease: Lease, files: Iterable[tuple[str, Iterable[bytes]]], *, replace: bool = False
    ) -> LeaseLost | None:
        """Store files of the task, not of a run; `replace`: the task's other files go."""
        kept: set[str] = set()
        for path, chunks in files:
            kept.add(path)
            if self._put(_under(lease), OF_TASK, path, chunks, self._most) is None:
                return _lost(lease)
        for each in self.stored(lease.task.id) if replace else ():
            if each.run == OF_TASK and each.path not in kept:
                self._drop(_under(lease), OF_TASK, each.path, 0)
        return None

    def put_task_file(self, task_id: str, fence: int, path: str, data: bytes) -> bool:
        """Store one file of a task that no host has in hand; False: a host has the task by now."""
        stored = self._put(_Holder(task_id, fence), OF_TASK, path, [data], self._most)
        return stored is not None

    def stored(self, task_id: str) -> list[StoredFile]:
        """Every file of a task that the queue holds, by run and path."""
        rows = self._queue.rows("run_files.stored_files", {"task_id": task_id})
        return [
            StoredFile(run=int(run), path=path, size=int(size), parts=int(parts))
            for run, path, size, parts in rows
        ]

    def list_of(self, task_id: str, run: int) -> SentRun | None:
        """The list of a run's files; None: the run was not sent completely."""
        data = self.read(task_id, run, LIST)
        return typed.decode(data, SentRun) if data is not None else None

    def read(self, task_id: str, run: int, path: str) -> bytes | None:
        """One whole file; None: the queue has none. Raises QueueError for one that is damaged."""
        parts = list(self.parts(task_id, run, path))
        return b"".join(parts) if parts else None

    def parts(self, task_id: str, run: int, path: str) -> Iterator[bytes]:
        """The parts of a file, one at a time."""
        values: dict[str, Any] = {"task_id": task_id, "run": run, "path": path}
        number = 0
        while rows := self._queue.rows("run_files.stored_part", {**values, "part": number}):
            size, packed = rows[0]
            if packed is None:
                packed = self._outside(task_id, run, path, number)
            yield _unpacked(bytes(packed), int(size), f"{task_id}/{run}/{path}")
            number += 1

    def records(self, since: datetime | None) -> dict[tuple[str, int], dict[str, bytes]]:
        """Receipt and outcome of each run of a task that was changed since a moment, by task and
        run; damaged ones are left out.
        """
        moment = to_micros(since) if since is not None else 0
        found: dict[tuple[str, int], dict[str, bytes]] = {}
        for task_id, run, path, size, packed in self._queue.rows(
            "run_files.receipts", {"since": moment}
        ):
            with suppress(QueueError):
                data = _unpacked(bytes(packed), int(size), f"{task_id}/{run}/{path}")
                found.setdefault((task_id, int(run)), {})[path] = data
        return found

    def _put(
        self, holder: "_Holder", run: int, path: str, chunks: Iterable[bytes], room: int
    ) -> tuple[SentFile, int] | None:
        """The stored file, and how much room the file took; None: the lease is lost."""
        digest, size, cut, took, number = hashlib.sha256(), 0, 0, 0, 0
        for part in _parts(chunks):
            packed: bytes | None = zlib.compress(part, _LEVEL)
            if cut or took + len(packed or b"") > room:
                if cut or not self._put_outside(holder.task_id, run, path, number, packed or b""):
                    cut += len(part)
                    continue
                packed = None
            values = holder._asdict() | {
                "run": run, "path": path, "part": number, "size": len(part), "bytes": packed,
            }  # fmt: skip
            if not self._queue.rows("run_files.put_part", values):
                return None
            digest.update(part)
            size, took, number = size + len(part), took + len(packed or b""), number + 1
        self._drop(holder, run, path, number)
        return SentFile(path=path, size=size, sha256=digest.hexdigest(), cut=cut), took

    def _drop(self, holder: "_Holder", run: int, path: str, part: int) -> None:
        """Drop the parts of a file from one on."""
        values = holder._asdict() | {"run": run, "path": path, "part": part}
        self._queue.rows("run_files.drop_parts", values)

    def _put_outside(self, task_id: str, run: int, path: str, part: int, packed: bytes) -> bool:
        """Write a part into the directory that the hosts share; False: there is none, or the
        directory is full.
        """
        if self._shared is None:
            return False
        place = self._place(task_id, run, path, part)
        with suppress(OSError):
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_atomically(place, packed)
            return True
        return False

    def _outside(self, task_id: str, run: int, path: str, part: int) -> bytes:
        try:
            if self._shared is None:
                raise FileNotFoundError(2, "no store is set (store)")
            return self._place(task_id, run, path, part).read_bytes()
        except OSError as error:
            why = error.strerror or error
            raise QueueError(f"a part of {path} of {task_id} cannot be read: {why}") from None

    def _place(self, task_id: str, run: int, path: str, part: int) -> Path:
        assert self._shared is not None
        name = hashlib.sha256(os.fsencode(path)).hexdigest()[:16]
        return self._shared / task_id / f"{run}.{name}.{part}"


class _Holder(NamedTuple):
    """Who must have the task for a file to be stored: a lease's owner, or no host."""

    task_id: str
    fence: int
    owner: str | None = None


def _under(lease: Lease) -> _Holder:
    return _Holder(lease.task.id, lease.fence, lease.owner)


def _lost(lease: Lease) -> LeaseLost:
    return LeaseLost(task_id=lease.task.id, why="its files were not stored: the lease is lost")


def _parts(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The bytes in parts of PART; a file without bytes is one empty part."""
    rest, some = b"", False
    for chunk in chunks:
        rest += chunk
        while len(rest) >= PART:
            some = True
            yield rest[:PART]
            rest = rest[PART:]
    if rest or not some:
        yield rest


def _unpacked(packed: bytes, size: int, name: str) -> bytes:
    """What a part holds; never more than a part may, whatever the queue says."""
    opened = zlib.decompressobj()
    try:
        data = opened.decompress(packed, PART + 1)
    except zlib.error as error:
        raise QueueError(f"{name} is damaged in the queue: {error}") from None
    if len(data) != size or len(data) > PART:
        raise QueueError(f"{name} is damaged in the queue")
    return data
