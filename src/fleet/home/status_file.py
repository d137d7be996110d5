"""What the supervisor leaves for other processes to see, and the one switch they have: pause."""

import os
from datetime import datetime

import msgspec
from msgspec import Struct, field

from fleet.files.safe_read import read_plain
from fleet.home import Home
from fleet.schemas.budget_status import BudgetStatus

SNAPSHOT = "supervisor.json"
PAUSED = "paused"
#: Below this much free disk nothing new is started: what runs needs the rest.
FLOOR = 100 << 20
_LARGEST = 1 << 20


class Snapshot(Struct, frozen=True, kw_only=True):
    """How the supervisor does. Not durable, and no promise: only what it last said."""

    runs: int = 0
    slots: int = 0
    #: What the queue said when it last failed; empty while it answers.
    queue_problem: str = ""
    #: What the machine is short of; empty while it has enough.
    shortage: str = ""
    #: Coders that wait for a limit, and until when.
    cooling: dict[str, datetime] = field(default_factory=dict[str, datetime])
    #: The budgets of the day that are in force, and how they stand.
    budgets: tuple[BudgetStatus, ...] = ()
    #: The tasks that run on each account.
    on_account: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    lost_log_lines: int = 0


def write_snapshot(home: Home, snapshot: Snapshot) -> bool:
    """Leave it for others to see. False: the disk is full, and they see the last one."""
    fresh = home.path / f".{SNAPSHOT}"
    try:
        fresh.write_bytes(msgspec.json.encode(snapshot))
        fresh.replace(home.path / SNAPSHOT)
    except OSError:
        return False
    return True


def read_snapshot(home: Home) -> Snapshot:
    data = read_plain(home.path / SNAPSHOT, _LARGEST)
    try:
        return msgspec.json.decode(data, type=Snapshot) if data else Snapshot()
    except msgspec.DecodeError:
        return Snapshot()


def paused(home: Home) -> bool:
    """A person wants no new claims. It lasts until they say otherwise, restarts included."""
    return (home.path / PAUSED).exists()


def room(home: Home) -> bool:
    """There is disk enough for one more run."""
    about = os.statvfs(home.path)
    return about.f_bavail * about.f_frsize >= FLOOR
