"""`identity.json`: the id of each queue that this home has worked with.

A queue bears the same id in itself. So a queue that is gone, was emptied or was replaced is told
from a home's first look at its queue, which alone may make a new one.

Not named after queue.db: `rm queue.*` must not take away what the home knows of the queue.
"""

from collections.abc import Mapping
from pathlib import Path

from fleet.errors import HomeError, InvalidTask
from fleet.files.file_lock import exclusive
from fleet.files.json_record import JsonRecord

FILE = "identity.json"
_RECORD = JsonRecord(dict[str, str], limit=1 << 16)


def known_ids(home: Path) -> Mapping[str, str]:
    """The id of each queue by its name; empty for a home from before queues had ids."""
    try:
        return _RECORD.read(home / FILE) or {}
    except InvalidTask as error:
        raise HomeError(
            error.message,
            hint="The file tells this home's queue from others. If the queue is yours, move the"
            " file away: fleet writes it anew.",
        ) from error


def remember(home: Path, queue: str, identity: str) -> None:
    """Note the id of a queue, durably."""
    if known_ids(home).get(queue) == identity:
        return
    with exclusive(home / "identity.lock"):
        _RECORD.write(home / FILE, {**known_ids(home), queue: identity})


def forget(home: Path, queue: str) -> None:
    """Let the next look at this queue take what is there for the home's own."""
    with exclusive(home / "identity.lock"):
        ids = {name: known for name, known in known_ids(home).items() if name != queue}
        _RECORD.write(home / FILE, ids)
