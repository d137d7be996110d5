"""`supervisor.json`, the supervisor's published state, and `paused`, set by `fleet pause`."""

from datetime import datetime

from msgspec import Struct, field

from fleet.files.json_record import JsonRecord
from fleet.home import Home
from fleet.schemas.budget import BudgetStatus

FILE = "supervisor.json"
PAUSED = "paused"


class ShutAccount(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a supervisor alone knows of an account that gets no work."""

    #: Why it cannot be used at all.
    trouble: str = ""
    #: What is being done before it can be used: its secret fetched, its login renewed.
    readying: str = ""
    #: When its login ends, if that is near and no run has shown that it is renewed.
    login_ends: datetime | None = None


class SupervisorStatus(Struct, frozen=True, kw_only=True):
    """The supervisor's last published state: supervisor.json. Not durable."""

    runs: int = 0
    slots: int = 0
    #: The error of the queue's last call; empty if that succeeded.
    queue_problem: str = ""
    #: What the machine is short of; empty while it has enough.
    shortage: str = ""
    #: The budgets of the day that are in force, and how they stand.
    budgets: tuple[BudgetStatus, ...] = ()
    #: The tasks that run on each account.
    on_account: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    #: What the supervisor alone knows of accounts that get no work.
    accounts: dict[str, ShutAccount] = field(default_factory=dict[str, ShutAccount])
    #: The tasks at work that try an account or a coder for all others.
    probes: tuple[str, ...] = ()
    lost_log_lines: int = 0


_RECORD = JsonRecord(SupervisorStatus)


def write_status(home: Home, status: SupervisorStatus) -> bool:
    """Publish the supervisor's state. False: the disk is full, and the last one still stands."""
    try:
        _RECORD.write(home.path / FILE, status, durable=False)
    except OSError:
        return False
    return True


def read_status(home: Home) -> SupervisorStatus:
    return _RECORD.read_or_none(home.path / FILE) or SupervisorStatus()


def paused(home: Home) -> bool:
    """`fleet pause` is in force: the supervisor claims no task, also after a restart."""
    return (home.path / PAUSED).exists()
