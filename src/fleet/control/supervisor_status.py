"""The supervisor seen and steered from outside: how it does, pause and resume, and restart."""

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from signal import SIGHUP

from msgspec import Struct, field

from fleet.accounts.account_store import open_accounts
from fleet.accounts.breaker_store import Breaker
from fleet.accounts.circuit_breaker import HeldCoder
from fleet.accounts.resting import all_resting
from fleet.control import Control
from fleet.control.accounts import accounts_now
from fleet.control.budget_status import day_budgets
from fleet.control.tasks.in_progress import in_progress
from fleet.errors import FleetError
from fleet.files.atomic_write import write_atomically
from fleet.files.inotify import Watch
from fleet.home import Home
from fleet.home.status_file import PAUSED, read_snapshot
from fleet.processes import process_identity
from fleet.processes.supervisor_lock import Holder, supervisor_of
from fleet.queue.doorbell import Doorbell
from fleet.queue.sql.sqlite import BELL
from fleet.schemas.budget_status import BudgetStatus

#: How long a supervisor may take to make way for its successor: it finishes what it asked of the
#: queue, and only a hanging queue makes that long.
RESTART_PATIENCE = 45.0


class NotRunning(FleetError):
    """There is no supervisor to be told."""


class Supervision(Struct, frozen=True, kw_only=True):
    """How a home is looked after."""

    home: str
    queue: str
    running: bool
    pid: int | None = None
    since: datetime | None = None
    #: Agents at work, supervised or not, and how many there may be.
    runs: int = 0
    slots: int = 0
    paused: bool = False
    paused_since: datetime | None = None
    #: Coders that wait for a limit, and until when.
    cooling: Mapping[str, datetime] = field(default_factory=dict[str, datetime])
    #: Accounts that get no work until somebody does something about it, and why.
    shut: Mapping[str, str] = field(default_factory=dict[str, str])
    #: Coders that fail again and again and get no work.
    held: tuple[HeldCoder, ...] = ()
    #: The budgets of the day, and how they stand.
    budgets: tuple[BudgetStatus, ...] = ()
    queue_problem: str = ""
    #: What the machine is short of, so that nothing new is started.
    shortage: str = ""
    lost_log_lines: int = 0
    #: How many tasks there are by status; empty if the queue did not say.
    tasks: Mapping[str, int] = field(default_factory=dict[str, int])


def supervision(fleet: Control, now: datetime) -> Supervision:
    """The state of everything at a glance. A failing queue is part of it, not an error."""
    holder = supervisor_of(fleet.home)
    snapshot = read_snapshot(fleet.home)
    tasks, runs, problem = _counted(fleet)
    since = paused_since(fleet.home)
    return Supervision(
        home=str(fleet.home.path),
        queue=fleet.config.queue.partition(":")[0],
        running=holder is not None,
        pid=holder.who.pid if holder else None,
        since=holder.since if holder else None,
        runs=snapshot.runs if runs is None else runs,
        slots=fleet.config.max_concurrent,
        paused=since is not None,
        paused_since=since,
        cooling=all_resting(open_accounts(fleet.home.path).states, fleet.config, now),
        shut={
            each.account.name: each.shut
            for each in accounts_now(fleet, now)
            if each.shut and each.until is None
        },
        held=tuple(Breaker(fleet.home.path).held()),
        budgets=tuple(day_budgets(fleet, now)),
        queue_problem=problem or (snapshot.queue_problem if holder else ""),
        shortage=snapshot.shortage if holder else "",
        lost_log_lines=snapshot.lost_log_lines if holder else 0,
        tasks=tasks,
    )


def is_supervised(fleet: Control) -> bool:
    """A supervisor looks after this home."""
    return supervisor_of(fleet.home) is not None


def _counted(fleet: Control) -> tuple[dict[str, int], int | None, str]:
    """Tasks by status, and runs that live; or what the queue says instead."""
    try:
        return fleet.queue.counts(), sum(each.lives for each in in_progress(fleet)), ""
    except FleetError as error:
        return {}, None, error.message


def paused_since(home: Home) -> datetime | None:
    """When a person said pause; None while nobody has."""
    try:
        return datetime.fromtimestamp((home.path / PAUSED).stat().st_mtime, UTC)
    except FileNotFoundError:
        return None


def pause(home: Home) -> bool:
    """Let no new run begin until `resume`. False: it was so already."""
    if paused_since(home) is not None:
        return False
    write_atomically(home.path / PAUSED, b"")
    _wake(home)
    return True


def resume(fleet: Control) -> bool:
    """Let runs begin again. False: nothing was paused."""
    if paused_since(fleet.home) is None:
        return False
    (fleet.home.path / PAUSED).unlink(missing_ok=True)
    _wake(fleet.home)
    return True


def _wake(home: Home) -> None:
    """Have the supervisor look at once instead of with its next look."""
    Doorbell(home.path / BELL).ring()


def restart(fleet: Control, patience: float = RESTART_PATIENCE) -> Holder:
    """Have the supervisor replace itself; its successor. Agents never notice.

    It keeps its process number, so the new one is told by the moment at which it took the lock.
    """
    before = supervisor_of(fleet.home)
    if before is None:
        raise NotRunning(
            f"no supervisor is running on {fleet.home.path}", hint="Start one: fleet run"
        )
    watch = Watch()
    watch.add(fleet.home.path)
    try:
        if not process_identity.send(before.who, SIGHUP):
            raise NotRunning(
                f"the supervisor (process {before.who.pid}) ended, or is not yours to signal",
                hint="Start one: fleet run",
            )
        return _successor(fleet.home, before, watch, time.monotonic() + patience)
    finally:
        watch.close()


def _successor(home: Home, before: Holder, watch: Watch, end: float) -> Holder:
    while True:
        now = supervisor_of(home)
        if now is not None and now.since > before.since:
            return now
        if now is None and not process_identity.alive(before.who):
            raise NotRunning(
                "the supervisor ended and no new one took its place",
                hint="Its last words: fleet log 5. Start one: fleet run",
            )
        left = end - time.monotonic()
        if left <= 0:
            raise FleetError(
                f"the supervisor (process {before.who.pid}) was told to restart and has not yet",
                hint="It goes on working. It may wait for the queue: fleet status, fleet log 5",
            )
        watch.changed(min(left, 0.5))
