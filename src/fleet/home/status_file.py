"""`supervisor.json`, the supervisor's published state, and `paused`, set by `fleet pause`."""

from msgspec import Struct, field

from fleet.files.json_record import JsonRecord
from fleet.home import Home
from fleet.schemas.budget import BudgetStatus

FILE = "supervisor.json"
PAUSED = "paused"


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
