"""Whether a queue is the one that the home knows: neither gone nor emptied nor replaced.

A queue that is missing is made at a home's first use only. Later its absence is an accident, and an
empty queue in its place would hide the accident and every task with it.
"""

import os
from pathlib import Path

from msgspec import Struct

from fleet.errors import WrongQueue
from fleet.queue import identity_json

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
        return identity_json.known_ids(self.home).get(self.name)

    def refuse_new(self, where: object) -> None:
        """Raise WrongQueue where no queue is, if this home had one there."""
        if self.known is not None:
            raise WrongQueue(f"the queue {where} is gone or was emptied", hint=WAY_OUT)
        if not self.may_make and has_tasks(self.home):
            raise WrongQueue(
                f"there is no queue {where}, though {self.home} holds tasks",
                hint=f"{WAY_OUT}. Or begin a new one beside these tasks: fleet queue accept",
            )

    def check(self, found: str, where: object) -> None:
        """Take the id that a queue bears for the home's own, or raise WrongQueue."""
        known = self.known
        if known is None:
            identity_json.remember(self.home, self.name, found)
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
