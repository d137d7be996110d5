"""`web/address`: where the page was last offered, for `fleet web pair`."""

from fleet.control.page.session_store import FOLDER
from fleet.files.atomic_write import write_atomically
from fleet.files.safe_read import tail
from fleet.home import Home

_FILE = "address"
_LONGEST = 1000


def write_address(home: Home, address: str) -> None:
    """Note where a browser finds the page."""
    write_atomically(home.path / FOLDER / _FILE, f"{address}\n".encode(), durable=False)


def last_address(home: Home) -> str:
    """Where a browser found the page when it was last offered; empty: it never was."""
    return tail(home.path / FOLDER / _FILE, _LONGEST).strip()
