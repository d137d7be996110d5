"""`otel.json`: how the exporter of a home does. Which runs it sent is marked with the runs."""

from contextlib import suppress
from datetime import datetime

from msgspec import Struct

from fleet.control import Control
from fleet.control.supervise.side_process import EXPORTER, is_running
from fleet.control.traces.unsent_runs import UnsentRuns
from fleet.files.json_record import JsonRecord
from fleet.home import Home

FILE = "otel.json"


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


def write_state(home: Home, state: ExportState) -> None:
    """A disk without room costs the note, and no span."""
    with suppress(OSError):
        _RECORD.write(home.path / FILE, state, durable=False)


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
