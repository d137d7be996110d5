"""Whether a queue is the one that the home knows: neither gone nor emptied nor replaced.

A queue bears an id in itself, and `identity.json` in the home has the id of each queue that the
home has worked with. The file is not named after queue.db: `rm queue.*` must not take away what the
home knows of the queue.

A queue that is missing is made at a home's first use only. Later its absence is an accident, and an
empty queue in its place would hide the accident and every task with it.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from fleet.errors import HomeError, InvalidTask, WrongQueue
from fleet.files.file_lock import exclusive
from fleet.files.json_record import JsonRecord

FILE = "identity.json"
_RECORD = JsonRecord(dict[str, str], limit=1 << 16)
#: What a home calls its queues in identity.json; a PostgreSQL queue goes by its address.
EMBEDDED, LEDGER, BEADS = "embedded", "ledger", "beads"

#: The key of a queue's id in its table `meta`.
KEY = "identity"

WAY_OUT = "See what there is: fleet queue status. Put a copy back: fleet queue restore"


class Identity(Struct, frozen=True, kw_only=True):
    """What a home knows of one queue."""

    home: Path
    #: The queue's name in identity.json.
    name: str
    #: The operator asked for this queue just now (`fleet init`): it may be made beside tasks.
    may_make: bool = False

    @property
    def known(self) -> str | None:
        return known_ids(self.home).get(self.name)

    def refusal(self, where: object) -> WrongQueue | None:
        """The error if no queue is `where` this home had one; None: a new queue may be made.

        Call before looking whether the queue is there: what another process makes between the two
        is then a queue that was found, and not one that is gone.
        """
        if self.known is not None:
            return WrongQueue(f"the queue {where} is gone or was emptied", hint=WAY_OUT)
        if not self.may_make and has_tasks(self.home):
            return WrongQueue(
                f"there is no queue {where}, though {self.home} holds tasks",
                hint=f"{WAY_OUT}. Or begin a new one beside these tasks: fleet queue accept",
            )
        return None

    def check(self, found: str, where: object) -> None:
        """Take the id that a queue bears for the home's own, or raise WrongQueue."""
        known = self.known
        if known is None:
            remember(self.home, self.name, found)
        elif known != found:
            raise WrongQueue(
                f"the queue {where} is another one than that of {self.home}"
                f" ({found[:8] or 'no id'}, not {known[:8]})",
                hint=f"{WAY_OUT}. If the other one is meant: fleet queue accept",
            )


def new_id() -> str:
    return os.urandom(16).hex()


def has_tasks(home: Path) -> bool:
    """The home holds a directory of at least one task."""
    try:
        with os.scandir(home / "tasks") as entries:
            return any(entry.is_dir(follow_symlinks=False) for entry in entries)
    except OSError:
        return False


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
