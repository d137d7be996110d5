"""`runs/<n>/exported`: a receiver of traces has taken the spans of this run."""

import os
from datetime import datetime

from fleet.files.atomic_write import write_atomically
from fleet.runs.run_directory import Run

FILE = "exported"


def is_exported(run: Run) -> bool:
    return os.path.lexists(f"{run.path}/{FILE}")


def mark_exported(run: Run, now: datetime) -> None:
    """Not synced: after a power cut the same spans are sent once more."""
    write_atomically(run.path / FILE, f"{now.isoformat()}\n".encode(), durable=False)
