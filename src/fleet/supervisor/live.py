"""One run that lives: its stream read into events, and what is known of it so far."""

import os
from collections.abc import Iterator, Mapping
from datetime import datetime
from hashlib import sha256
from pathlib import Path

import msgspec
from msgspec import Struct, structs

from fleet.coders.base import Coder
from fleet.coders.reading import Reading
from fleet.schemas import Event, Lease, Outcome
from fleet.supervisor.process import Keeper
from fleet.taskdir.follow import Follower, Line
from fleet.taskdir.rundir import Run

EVENTS = "events.jsonl"
PROGRESS = "progress.json"
#: A task's event file that grew to this size takes no more; the raw stream is kept in the run.
_LARGEST = 256 << 20
_TEXT_CAP = 4000


class Progress(Struct, frozen=True, kw_only=True):
    """What other processes may know of a live run: the content of progress.json."""

    coder: str
    model: str
    events: int = 0
    tool_calls: int = 0
    context_tokens: int = 0
    context_peak: int = 0
    context_window: int = 0
    tokens: int = 0
    cost_usd: float | None = None
    last_event_at: datetime | None = None
    #: What fleet is doing about it, beyond letting it run; empty if nothing.
    doing: str = ""


class Live:
    """A run between its start and its end."""

    def __init__(
        self,
        lease: Lease,
        run: Run,
        coder: Coder,
        *,
        env: Mapping[str, str],
        keeper: Keeper | None = None,
    ) -> None:
        self.lease = lease
        self.run = run
        self.coder = coder
        self.keeper = keeper
        self.reading = Reading()
        #: Why we ended it; None while it goes its own way.
        self.verdict: Outcome | None = None
        #: Somebody else holds the task now, so nothing is settled when the run ends.
        self.lost = False
        self.artifacts = fingerprint(run.task_dir / "artifacts")
        self.last_event_at: datetime | None = None
        self._env = env
        self._stdout = Follower(run.stdout)
        self._second: Follower | None = None
        self._written = _events_of(run)
        self._published: Progress | None = None

    @property
    def task_id(self) -> str:
        return self.lease.task.id

    @property
    def behind(self) -> bool:
        return self._stdout.behind

    def read(self, now: datetime) -> int:
        """Take in what is new; how many events that made."""
        return self._take(iter(self._stdout.read()), now) + self._read_second(now)

    def finish(self, now: datetime) -> None:
        """Take in all that is left, once the run is over."""
        self._take(self._stdout.finish(), now)
        self._read_second(now)
        if self._second is not None:
            self._take(self._second.finish(), now, second=True)

    def note(self, kind: str, now: datetime, **facts: object) -> None:
        """An event of fleet's own among those of the agent."""
        line = {"run": self.run.number, "ts": now, "kind": kind, **facts}
        _append(self.run.task_dir / EVENTS, msgspec.json.encode(line) + b"\n")

    def progress(self) -> Progress:
        reading = self.reading
        return Progress(
            coder=self.coder.name,
            model=reading.model or self.coder.model,
            events=reading.events,
            tool_calls=reading.tool_calls,
            context_tokens=reading.context_tokens or 0,
            context_peak=reading.context_peak,
            context_window=reading.context_window or self.coder.context_limit,
            tokens=reading.usage.total,
            cost_usd=reading.cost_usd,
            last_event_at=self.last_event_at,
            doing=type(self.verdict).__name__ if self.verdict else "",
        )

    def publish(self) -> None:
        """Leave word for `fleet tasks`, if there is news. Not durable: it can be read again."""
        progress = self.progress()
        if progress == self._published:
            return
        self._published = progress
        fresh = self.run.path / f".{PROGRESS}"
        fresh.write_bytes(msgspec.json.encode(progress))
        fresh.replace(self.run.path / PROGRESS)

    def _read_second(self, now: datetime) -> int:
        """The coder's second stream, once its session is known and the file is there."""
        if self._second is None and self.reading.session_id:
            place = self.coder.second_stream(self.reading.session_id, self._env)
            found = sorted(place[0].glob(place[1])) if place else []
            self._second = Follower(found[0]) if found else None
        if self._second is None:
            return 0
        return self._take(iter(self._second.read()), now, second=True)

    def _take(self, lines: Iterator[Line], now: datetime, *, second: bool = False) -> int:
        encoded: list[bytes] = []
        seen = 0
        for line in lines:
            event = self.coder.read(line.data.decode(errors="replace"), now, second=second)
            if event is None:
                continue
            self.reading.add(event)
            seen += 1
            if self._written > 0:
                self._written -= 1  # an earlier supervisor wrote this one down
            else:
                encoded.append(_encoded(event, self.run.number))
        if encoded:
            _append(self.run.task_dir / EVENTS, b"".join(encoded))
        if seen:
            self.last_event_at = now
        return seen


def fingerprint(folder: Path) -> str:
    """A hash over what the agent wrote into its artifacts."""
    digest = sha256()
    for root, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            about = os.stat(os.path.join(root, name), follow_symlinks=False)  # noqa: PTH116, PTH118
            digest.update(f"{root}/{name}:{about.st_size}:{about.st_mtime_ns}\n".encode())
    return digest.hexdigest()


_encode = msgspec.json.Encoder().encode


def _encoded(event: Event, run: int) -> bytes:
    """One line of events.jsonl: without the raw line, which is in the run's stdout."""
    short = structs.replace(event, raw=None, text=event.text[:_TEXT_CAP])
    return b'{"run":%d,' % run + _encode(short)[1:] + b"\n"


def _append(path: Path, data: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        if os.fstat(fd).st_size < _LARGEST:
            os.write(fd, data)
    finally:
        os.close(fd)


def _events_of(run: Run) -> int:
    """How many events of this run are written down; a line cut by a crash is cut off."""
    path = run.task_dir / EVENTS
    mark = b'{"run":%d,' % run.number
    try:
        with path.open("rb+") as file:
            count = whole = 0
            for line in file:
                if not line.endswith(b"\n"):
                    file.truncate(whole)
                    break
                whole += len(line)
                count += line.startswith(mark) and b'"kind":"fleet_' not in line[:200]
            return count
    except FileNotFoundError:
        return 0
