"""`looked-at` in the home: when a person last had a surface of fleet before them."""

from datetime import datetime, timedelta

from fleet.files.atomic_write import write_atomically
from fleet.files.safe_read import stamp_of
from fleet.home import Home

FILE = "looked-at"
#: A look counts for this long.
_COUNTS = timedelta(minutes=1)


def note_look(home: Home) -> None:
    """A person looks at a surface of fleet now; called at most every few seconds."""
    write_atomically(home.path / FILE, b"", durable=False)


def is_looked_at(home: Home, now: datetime) -> bool:
    """A person has looked within the last minute."""
    at, _, _ = stamp_of(home.path / FILE)
    return now.timestamp() - at / 1e9 < _COUNTS.total_seconds()
