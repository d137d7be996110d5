"""Whether a person looks at fleet just now: a page or terminal view that has the focus says so."""

from datetime import datetime, timedelta

from fleet.control import Control
from fleet.files.atomic_write import write_atomically
from fleet.files.safe_read import stamp_of

FILE = "looked-at"
#: A look counts for this long.
_COUNTS = timedelta(minutes=1)


def note_look(fleet: Control) -> None:
    """A person looks at a surface of fleet now; called at most every few seconds."""
    write_atomically(fleet.home.path / FILE, b"", durable=False)


def is_looked_at(fleet: Control, now: datetime) -> bool:
    """A person has looked within the last minute."""
    at, _, _ = stamp_of(fleet.home.path / FILE)
    return now.timestamp() - at / 1e9 < _COUNTS.total_seconds()
