"""`fleet task` and `fleet log`: the files that tell of a task or of the supervisor, whole or as
they grow. Bytes are returned as they are; a surface escapes control characters on a terminal.
"""

import os
import time
from collections.abc import Generator, Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Literal, get_args

import msgspec
from msgspec import Struct

from fleet.control import Control
from fleet.control.hosts.other_hosts import bring_if_possible, is_elsewhere_now, watched
from fleet.errors import BadInput, FleetError, NotFound
from fleet.files.inotify import DirectoryWatch
from fleet.files.safe_read import open_regular
from fleet.files.tail import Framer
from fleet.processes import keeper_client
from fleet.processes.supervisor_lock import supervisor_of
from fleet.queue import PREFIX
from fleet.runs.event_log import FILE
from fleet.runs.outcome_history import FILE as OUTCOME
from fleet.runs.run_directory import Run, all_runs
from fleet.schemas import Task, check_id, typed

What = Literal["log", "plan", "knowledge", "events", "stderr"]
WHATS: tuple[What, ...] = get_args(What)

_OF_TASK: dict[What, str] = {
    "log": "log.jsonl",
    "plan": "artifacts/PLAN_AND_STATUS.md",
    "knowledge": "artifacts/KNOWLEDGE.md",
    "events": FILE,
}
#: Which process writes a file, and when: the hint where the file is missing.
_WRITTEN: dict[What, str] = {
    "log": "The supervisor writes it once it starts the task: fleet run",
    "plan": "The agent writes it while it works, as its instructions ask. What it does: fleet task"
    " {id} events",
    "knowledge": "The agent writes it when it learns something worth keeping, as its instructions"
    " ask. What it does: fleet task {id} events",
    "events": "The supervisor writes it once the agent has printed something: fleet run",
    "stderr": "The agent writes it while it runs; the supervisor starts it: fleet run",
}
_CHUNK = 1 << 16
#: The longest line of events.jsonl, which is smaller than this.
_LONGEST_LINE = 256 << 20
#: Seconds between looks at what no file event tells: a killed keeper, the log of a new day.
_LOOK_AGAIN = 0.5
#: Seconds that the supervisor may take to settle a run that has ended.
_SETTLING = 3.0


class LogLine(Struct, frozen=True):
    """A line of the supervisor's log or of a task's: the action, the moment, the sentence, and the
    task that it is about.
    """

    action: str
    ts: datetime
    text: str = ""
    task: str = ""


def log_line(raw: bytes) -> LogLine | None:
    """One line of a log; None: half a line, or a line of another file."""
    try:
        return _LOG_LINE.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


_LOG_LINE = typed.decoder(LogLine)


class Document(Struct, frozen=True, kw_only=True):
    """One file to be printed."""

    path: Path
    #: Only lines that begin so are shown; empty: all bytes.
    prefix: bytes = b""
    #: The living run whose end is the end of following; None: no run lives.
    run: Run | None = None
    #: The task that another host has in hand, and what the file is called there; None: none has.
    elsewhere: Task | None = None
    name: str = ""
    #: The file is written anew as a whole instead of growing at its end.
    rewritten: bool = False
    #: The error and its hint while there is no such file.
    missing: str
    hint: str


def document(fleet: Control, word: str, what: What, number: int | None = None) -> Document:
    """The file that tells `what` of a task, of one run if a number is given."""
    task_id = task_id_of(fleet, word)
    task_dir = fleet.home.task(task_id)
    run = run_of(task_dir, task_id, number)
    if number is not None and what not in ("events", "stderr"):
        raise BadInput(
            f"the {what} belongs to the task, not to one of its runs",
            hint="--run goes with events and stderr.",
        )
    if what == "stderr":
        path = run.stderr if run else task_dir / "log.stderr"
    else:
        path = task_dir / _OF_TASK[what]
    lives = keeper_client.is_alive(run)
    return Document(
        elsewhere=_elsewhere(fleet, task_id) if what in ("log", "events", "stderr") else None,
        name="stderr" if what == "stderr" else _OF_TASK[what],
        path=path,
        prefix=b'{"run":%d,' % number if what == "events" and number is not None else b"",
        run=run if lives else None,
        rewritten=what in ("plan", "knowledge"),
        missing=f"{task_id} has no {what} yet: {path}",
        hint=_WRITTEN[what].format(id=task_id),
    )


def _elsewhere(fleet: Control, task_id: str) -> Task | None:
    if not fleet.is_shared:
        return None
    with suppress(FleetError):
        task = fleet.queue.get(task_id)
        return task if is_elsewhere_now(fleet, task) else None
    return None


class Missing(FleetError):
    """A file or record is not there yet."""


def task_id_of(fleet: Control, word: str) -> str:
    """The task's id by the task's directory, so that a failing queue hides no file; else by the
    queue.
    """
    for task_id in (check_id(word), check_id(f"{PREFIX}-{word}")):
        if fleet.home.task(task_id).is_dir():
            bring_if_possible(fleet, task_id)
            return task_id
    task_id = fleet.get(word).id
    bring_if_possible(fleet, task_id)
    return task_id


def run_of(task_dir: Path, task_id: str, number: int | None) -> Run | None:
    runs = all_runs(task_dir)
    if number is None:
        return runs[-1] if runs else None
    for run in runs:
        if run.number == number:
            return run
    there = ", ".join(str(run.number) for run in runs[-10:])
    raise NotFound(
        f"{task_id} has no run {number}", hint=f"There is: {there}" if runs else "It has none yet."
    )


def newest_log(fleet: Control) -> Path:
    """The supervisor's log file that was written to last."""
    try:
        files = list(fleet.home.logging.glob("fleet-*.jsonl"))
        return max(files, key=lambda path: (path.stat().st_mtime_ns, path.name))
    except ValueError:
        raise Missing(
            f"no supervisor has logged anything in {fleet.home.logging}",
            hint="Start one: fleet run",
        ) from None


def whole(doc: Document) -> Iterator[bytes]:
    """The content of the file now."""
    _check_there(doc)
    return _beginning_with(doc.prefix, _Tail(doc.path).read())


def read_whole(path: Path) -> Iterator[bytes]:
    return _Tail(path).read()


def _check_there(doc: Document) -> None:
    if not doc.path.exists():
        raise Missing(doc.missing, hint=doc.hint)


def last_lines(path: Path, count: int) -> bytes:
    """The last lines of a file, read from the end."""
    fd = open_regular(path)
    if fd is None:
        return b""
    with os.fdopen(fd, "rb") as file:
        at = file.seek(0, os.SEEK_END)
        data = b""
        while at > 0 and data.count(b"\n") <= count:
            step = min(_CHUNK, at)
            at -= step
            file.seek(at)
            data = file.read(step) + data
    ending = b"\n" if data.endswith(b"\n") else b""
    return b"\n".join(data.removesuffix(b"\n").split(b"\n")[-count:]) + ending


def followed(fleet: Control, doc: Document) -> Iterator[bytes]:
    """The content of the file and all that is added, until the run is over."""
    return _beginning_with(doc.prefix, _growing(fleet, doc))


def _growing(fleet: Control, doc: Document) -> Iterator[bytes]:
    tail = _Tail(doc.path, rewritten=doc.rewritten)
    yield from tail.read()
    if doc.elsewhere is not None:
        yield from watched(fleet, doc.elsewhere, doc.name)
        return
    if doc.run is not None:
        watch = DirectoryWatch()
        for folder in {doc.path.parent, doc.run.path}:
            watch.add(folder)
        try:
            for _ in _until_over(fleet, doc.run, watch):
                yield from tail.read()
        finally:
            watch.close()
    _check_there(doc)


def _until_over(fleet: Control, run: Run, watch: DirectoryWatch) -> Iterator[None]:
    """One turn for each change; the last turn comes once the supervisor has settled the run."""
    while keeper_client.is_alive(run):
        watch.changed(_LOOK_AGAIN)
        yield
    end = time.monotonic() + _SETTLING
    while time.monotonic() < end and supervisor_of(fleet.home) is not None:
        decided = (run.path / OUTCOME).exists()
        if not watch.changed(_LOOK_AGAIN) and decided:
            break  # the outcome is written, and nothing came since
        yield
    yield


def followed_log(fleet: Control, first: Path, lines: int | None) -> Generator[bytes]:
    """The supervisor's log and all that is added, day after day."""
    tail = _Tail(first)
    if lines is not None:
        yield last_lines(first, lines)
        tail.skip()
    watch = DirectoryWatch()
    watch.add(first.parent)
    try:
        while True:
            yield from tail.read()
            newest = newest_log(fleet)
            if newest != tail.path and newest.name > tail.path.name:
                yield from tail.read()
                tail = _Tail(newest)
                continue
            watch.changed(_LOOK_AGAIN)
    finally:
        watch.close()


def _beginning_with(prefix: bytes, chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Lines that begin with a prefix, from chunks of any size; all bytes without a prefix."""
    if not prefix:
        yield from chunks
        return
    framer = Framer(_LONGEST_LINE)
    for chunk in chunks:
        for line in framer.feed(chunk):
            if line.data.startswith(prefix):
                yield line.data + b"\n"


class _Tail:
    """Bytes of one file from where the last read ended."""

    def __init__(self, path: Path, *, rewritten: bool = False) -> None:
        self.path = path
        self._rewritten = rewritten
        self._seen: tuple[int, int] | None = None
        self._at = 0

    def skip(self) -> None:
        self._at = self.path.stat().st_size

    def read(self) -> Iterator[bytes]:
        fd = open_regular(self.path)
        if fd is None:
            return
        try:
            about = os.fstat(fd)
            stamp = (about.st_ino, about.st_mtime_ns)
            if about.st_size < self._at or (self._rewritten and stamp != self._seen):
                self._at = 0  # the text was replaced, so all of it is new
            self._seen = stamp
            while chunk := os.pread(fd, _CHUNK, self._at):
                self._at += len(chunk)
                yield chunk
        finally:
            os.close(fd)
