"""The exporter: sends the spans of runs that are over, until the receiver has taken them.

A run is marked once its spans were taken, and not before: a kill in between sends them again, with
the same ids. What the receiver does not take waits in the run directories, for as long as it takes;
how the last attempt went stands in `otel.json`.
"""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime

from msgspec import Struct

from fleet.control import Control
from fleet.control.supervise.side_process import EXPORTER, is_running
from fleet.control.traces.span_table import SpanRow, TracedRun, spans_of
from fleet.control.watch.settled_runs import SettledRuns
from fleet.files.atomic_write import write_atomically
from fleet.files.json_record import JsonRecord
from fleet.home import Home
from fleet.runs.run_directory import Run
from fleet.runs.run_id import RunId
from fleet.schemas.backoff import Backoff

FILE = "otel.json"
#: In the directory of a run: a receiver has taken its spans.
EXPORTED = "exported"

#: Seconds between two looks, at least this many times the length of a look; and seconds between two
#: questions whether to end.
_LOOK, _SHARE, _GLANCE = 2.0, 100, 0.1
#: Seconds before what was refused is sent again, doubled up to the longest.
_BACKOFF = Backoff(5.0, 300.0)
#: How many runs go into one request at most.
_MOST = 50


class ExportState(Struct, frozen=True, kw_only=True):
    """What became of the last attempt."""

    #: When the receiver last took something.
    sent_at: datetime | None = None
    #: Why the receiver did not take the last spans; empty: taken.
    problem: str = ""
    problem_since: datetime | None = None


class ExportStatus(Struct, frozen=True, kw_only=True):
    """What `fleet otel status` shows."""

    #: The settings name a receiver.
    on: bool
    running: bool
    endpoint: str
    #: Runs that are over and that the receiver has not taken.
    waiting: int = 0
    #: When the first of them ended.
    oldest: datetime | None = None
    last: ExportState = ExportState()


_RECORD = JsonRecord(ExportState)


def export_status(fleet: Control) -> ExportStatus:
    """Whether an exporter runs, and what waits to be sent."""
    ended = [traced.ending.at for _, traced in UnsentRuns(fleet.home).new()]
    return ExportStatus(
        on=fleet.config.otel.is_on,
        running=is_running(fleet.home, EXPORTER),
        endpoint=fleet.config.otel.base,
        waiting=len(ended),
        oldest=min(ended, default=None),
        last=_RECORD.read_or_none(fleet.home.path / FILE) or ExportState(),
    )


class UnsentRuns:
    """The runs of a home whose spans no receiver has taken yet, each found once. Runs that began
    while [otel] was off do not count.
    """

    def __init__(self, home: Home) -> None:
        self._settled = SettledRuns(home, passes_over=is_exported)

    def new(self) -> Iterator[tuple[Run, TracedRun]]:
        """The unsent runs that ended since the last call, each with what its spans say."""
        for run, receipt, ending in self._settled.new():
            spec = run.known_spec()
            named = RunId.parse(spec.id) if spec is not None else None
            # A record that an agent changed puts no span into the trace of another task.
            if spec and spec.trace and named and named.task == run.task_id:
                yield run, TracedRun(id=named, trace=spec.trace, receipt=receipt, ending=ending)


def is_exported(run: Run) -> bool:
    return os.path.lexists(f"{run.path}/{EXPORTED}")


class TraceExporter:
    """Sends for one home. `send` returns what went wrong, or nothing."""

    def __init__(
        self, home: Home, send: Callable[[Sequence[SpanRow]], str], say: Callable[[str], None]
    ) -> None:
        self._home, self._send, self._say = home, send, say
        self._unsent = UnsentRuns(home)
        self._waiting = list[tuple[Run, TracedRun]]()
        self._batch, self._pause, self._look_again = _MOST, 0.0, _LOOK
        self._state = ExportState()

    def run(self, stop: Callable[[], bool], now: Callable[[], datetime]) -> None:
        """Send until `stop` says so, and once more then: a run may just have ended."""
        while not stop():
            pause = 0.0 if self.send_all(now) else self._pause
            end = time.monotonic() + max(pause, self._look_again)
            while time.monotonic() < end and not stop():
                time.sleep(_GLANCE)
        self.send_all(now)

    def send_all(self, now: Callable[[], datetime]) -> bool:
        """Send what there is. False: the receiver did not take all of it."""
        self.look()
        while self._waiting:
            if not self.send_batch(now()):
                return False
        return True

    def look(self) -> None:
        """Find the runs that ended since the last look."""
        begun = time.monotonic()
        self._waiting += self._unsent.new()
        self._look_again = max(_LOOK, (time.monotonic() - begun) * _SHARE)

    def send_batch(self, now: datetime) -> bool:
        """Send some of what waits. False: the receiver did not take it."""
        batch, rest = self._waiting[: self._batch], self._waiting[self._batch :]
        problem = self._send([span for _, traced in batch for span in spans_of(traced)])
        if problem:
            # The next attempt is one run, and another one: no run keeps the others from going.
            self._waiting = [*rest, *batch] if len(batch) == 1 else self._waiting
            self._batch = 1
            self._pause = _BACKOFF.after(self._pause)
            if problem != self._state.problem:
                self._say(f"not taken, again in {self._pause:.0f} s at first: {problem}")
            since = self._state.problem_since or now
            self._note(
                ExportState(sent_at=self._state.sent_at, problem=problem, problem_since=since)
            )
            return False
        for run, _ in batch:  # not synced: after a power cut the same spans are sent once more
            mark = f"{now.isoformat()}\n".encode()
            write_atomically(run.path / EXPORTED, mark, durable=False)
        self._waiting, self._batch, self._pause = rest, min(_MOST, self._batch * 2), 0.0
        self._say(f"sent {len(batch)} run{'s' if len(batch) > 1 else ''}, {len(rest)} wait")
        self._note(ExportState(sent_at=now))
        return True

    def _note(self, state: ExportState) -> None:
        self._state = state
        with suppress(OSError):  # a disk without room costs the note, and no span
            _RECORD.write(self._home.path / FILE, state, durable=False)
