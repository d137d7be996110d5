"""`web/open.html`: leads a browser to the page. The code in it stands on no command line, which
other processes of the user could read.
"""

from html import escape
from pathlib import Path

from fleet.control.page.session_store import FOLDER
from fleet.files.atomic_write import write_atomically
from fleet.home import Home

_FILE = "open.html"


def write_open_file(home: Home, address: str) -> Path:
    """Write the file that leads a browser to `address`; only the owner can read it."""
    path = home.path / FOLDER / _FILE
    safe = escape(address, quote=True)
    lead = f'<meta http-equiv="refresh" content="0;url={safe}"><a href="{safe}">fleet</a>'
    write_atomically(path, f"<!doctype html>{lead}".encode(), durable=False)
    return path
