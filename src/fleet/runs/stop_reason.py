"""Why fleet ended a run: `runs/<n>/stop_reason.json`, written before the run is stopped.

Without it, a supervisor that dies in between would leave a run that looks as if it had failed.
"""

from contextlib import suppress
from typing import Any, cast

from fleet.files.seals import SealedRecord
from fleet.runs.run_directory import Run
from fleet.schemas import Outcome

FILE = "stop_reason.json"
_RECORD: SealedRecord[Outcome] = SealedRecord(FILE, cast("Any", Outcome))
#: The same, as earlier versions called the file.
_EARLIER: SealedRecord[Outcome] = SealedRecord("verdict.json", cast("Any", Outcome))


def record(run: Run, reason: Outcome) -> None:
    """Write why the run is stopped; the first reason stands.

    A reason that cannot be written is left out: a full disk must not keep a run alive, and the
    reason matters only if the process that gives it dies before the run has ended.
    """
    with suppress(OSError):
        if read(run) is None:
            _RECORD.write(run.path, reason, run.number, durable=False)


def forget(run: Run) -> None:
    """Take the reason back: the run was not stopped after all."""
    for written in (_RECORD, _EARLIER):
        (run.path / written.name).unlink(missing_ok=True)


def read(run: Run) -> Outcome | None:
    """Why the run is being stopped, or was; None if fleet did not stop the run.

    A reason that no process of fleet's wrote does not count.
    """
    found = _RECORD.believed(run.path, run.number)
    return found if found is not None else _EARLIER.believed(run.path, run.number)
