"""`runs/<n>/receipt.json`: what fleet saw of a run, kept for whoever asks."""

import msgspec

from fleet.errors import InvalidTask
from fleet.files.atomic_write import write_atomically
from fleet.files.safe_read import read_plain
from fleet.runs.run_directory import Run
from fleet.schemas import Receipt

FILE = "receipt.json"
_LARGEST = 16 << 20


def write(run: Run, receipt: Receipt) -> None:
    write_atomically(run.path / FILE, msgspec.json.encode(receipt))


def read(run: Run) -> Receipt | None:
    """The receipt; None if the run has none, or it cannot be read."""
    try:
        data = read_plain(run.path / FILE, _LARGEST)
        return msgspec.json.decode(data, type=Receipt) if data else None
    except (InvalidTask, msgspec.DecodeError, UnicodeDecodeError):
        return None
