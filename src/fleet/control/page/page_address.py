"""`web/address`: where the page is offered, for `fleet web pair`; `web/port`: the port of the page,
since a browser keeps a session by address and port; `web/open.html`: leads a browser to the page.

The page that wrote address and port holds `web/page.lock` for as long as it answers; a second page
beside it leaves both as they are.
"""

import time
from collections.abc import Generator
from contextlib import contextmanager
from html import escape
from pathlib import Path

from fleet.control.page.session_store import FOLDER
from fleet.files.atomic_write import write_atomically
from fleet.files.file_lock import locked
from fleet.files.safe_read import tail
from fleet.home import Home

_FILE, _PORT, _LOCK, _OPEN = "address", "port", "page.lock", "open.html"
_LONGEST = 1000
#: A look at the lock holds the lock for a moment: tries to take it, and seconds between them.
_TRIES, _PAUSE = 5, 0.02


@contextmanager
def only_page(home: Home) -> Generator[bool]:
    """Hold the lock of the page while inside; False: another page of this home lives."""
    for left in reversed(range(_TRIES)):
        with locked(home.path / FOLDER / _LOCK) as lock:
            if lock is not None or not left:
                yield lock is not None
                return
        time.sleep(_PAUSE)


def write_address(home: Home, address: str, port: int) -> None:
    """Note where a browser finds the page, and the port that the page listens on; 0: on none."""
    write_atomically(home.path / FOLDER / _FILE, f"{address}\n".encode(), durable=False)
    if port:
        write_atomically(home.path / FOLDER / _PORT, f"{port}\n".encode(), durable=False)


def last_port(home: Home) -> int:
    """The port of last time; 0: none is known."""
    text = tail(home.path / FOLDER / _PORT, _LONGEST).strip()
    is_port = text.isascii() and text.isdecimal() and 1024 <= int(text) < 65536
    return int(text) if is_port else 0


def last_address(home: Home) -> str:
    """Where a browser found the page when the page was last offered; empty: never."""
    return tail(home.path / FOLDER / _FILE, _LONGEST).strip()


def live_address(home: Home) -> str:
    """Where a browser finds the page now; empty: no page is offered."""
    if not last_address(home):
        return ""
    with locked(home.path / FOLDER / _LOCK) as lock:
        return "" if lock is not None else last_address(home)


def write_open_file(home: Home, address: str) -> Path:
    """Write the file that leads a browser to `address`; only the owner can read it. The code in it
    stands on no command line, which other processes of the user could read.
    """
    path = home.path / FOLDER / _OPEN
    safe = escape(address, quote=True)
    lead = f'<meta http-equiv="refresh" content="0;url={safe}"><a href="{safe}">fleet</a>'
    write_atomically(path, f"<!doctype html>{lead}".encode(), durable=False)
    return path
