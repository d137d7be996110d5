"""Why fleet ended a run: `runs/<n>/verdict.json`, written before the run is told to end.

A supervisor that dies in between would otherwise leave a run that looks as if it had failed.
"""

import msgspec

from fleet.errors import InvalidTask
from fleet.files.atomic_write import write_atomically
from fleet.files.safe_read import read_plain
from fleet.runs.run_directory import Run
from fleet.schemas import Outcome

FILE = "verdict.json"
_LARGEST = 1 << 20


def record(run: Run, verdict: Outcome) -> None:
    write_atomically(run.path / FILE, msgspec.json.encode(verdict), durable=False)


def forget(run: Run) -> None:
    """Nothing came of it: whoever looks after the run next decides anew."""
    (run.path / FILE).unlink(missing_ok=True)


def read(run: Run) -> Outcome | None:
    """The verdict on a run that is to end, or has; None if it goes its own way."""
    try:
        data = read_plain(run.path / FILE, _LARGEST)
        return msgspec.json.decode(data, type=Outcome) if data else None
    except (InvalidTask, msgspec.DecodeError, UnicodeDecodeError):
        return None
