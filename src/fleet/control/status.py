"""`fleet status`: whether a supervisor runs, and what keeps tasks from being started."""

from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct, field

from fleet.accounts.account_state import HeldLogin, held_logins
from fleet.accounts.account_store import open_accounts
from fleet.accounts.candidates import all_resting
from fleet.control import Control
from fleet.control.budget_status import day_budgets
from fleet.control.landing.open_landings import behind_words
from fleet.control.pause import paused_since
from fleet.control.queue.needs_person import (
    BEGUN,
    BegunTasks,
    BlockedTask,
    HeldTasks,
    begun_tasks,
    held_tasks,
)
from fleet.control.view.why_not_now import conditions
from fleet.errors import FleetError
from fleet.home import Home, landing_json
from fleet.home.status_file import read_status
from fleet.processes.supervisor_lock import supervisor_of
from fleet.schemas.budget import BudgetStatus


class FleetStatus(Struct, frozen=True, kw_only=True):
    """The supervisor, the queue and the accounts of a home at a glance."""

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
    #: Accounts that wait for a limit, and until when.
    cooling: Mapping[str, datetime] = field(default_factory=dict[str, datetime])
    #: Accounts that get no work until a person does something about them, and why.
    shut: Mapping[str, str] = field(default_factory=dict[str, str])
    #: Logins, or models on them, that get no work until they are tried again.
    held: tuple[HeldLogin, ...] = ()
    #: The budgets of the day, and how much of them is spent.
    budgets: tuple[BudgetStatus, ...] = ()
    #: Why the queue cannot be used, and what to do about it.
    queue_problem: str = ""
    queue_hint: str = ""
    #: What the machine is short of, so that nothing new is started.
    shortage: str = ""
    lost_log_lines: int = 0
    #: Channels that do not take what people are to be told, a sentence each.
    untold: tuple[str, ...] = ()
    #: How many tasks there are by status; empty if the queue did not answer.
    tasks: Mapping[str, int] = field(default_factory=dict[str, int])
    #: How many tasks that are in progress, blocked or on the way to a branch stand how, without
    #: those that need a person.
    states: Mapping[str, int] = field(default_factory=dict[str, int])
    #: Branches that are behind what has landed, each with what is in the way.
    behind: tuple[str, ...] = ()
    #: How many of these need a person; the first few, with what each asks or why.
    needing: int = 0
    needs_you: tuple[BlockedTask, ...] = ()
    #: Open tasks that could run but for a gate, by reason; those for a person first.
    waits: tuple[HeldTasks, ...] = ()


def fleet_status(fleet: Control, now: datetime) -> FleetStatus:
    """The state of the whole home. A failing queue is part of the state, not an error."""
    holder = supervisor_of(fleet.home)
    published = read_status(fleet.home)
    since = paused_since(fleet.home)
    try:
        tasks, problem, hint = fleet.queue.counts(), "", ""
    except FleetError as error:
        tasks, problem, hint = {}, error.message, error.hint
    # A supervisor counts its runs itself; without one the runs have to be looked at.
    look = holder is None and tasks.get("in_progress")
    accounts = open_accounts(fleet.home.path).states
    held = held_logins(accounts, now)
    any_begun = any(tasks.get(each) for each in BEGUN) or landing_json.unlanded(fleet.home)
    begun = begun_tasks(fleet, now) if tasks and any_begun else BegunTasks()
    return FleetStatus(
        home=str(fleet.home.path),
        queue=fleet.config.queue.partition(":")[0],
        running=holder is not None,
        pid=holder.who.pid if holder else None,
        since=holder.since if holder else None,
        runs=_unsupervised(fleet) if look else published.runs if holder or problem else 0,
        slots=fleet.config.max_concurrent,
        paused=since is not None,
        paused_since=since,
        cooling=all_resting(accounts, fleet.config, now),
        shut=_shut_accounts(fleet, now),
        held=held,
        budgets=tuple(day_budgets(fleet, now)),
        queue_problem=problem or (published.queue_problem if holder else ""),
        queue_hint=hint,
        shortage=published.shortage if holder else "",
        lost_log_lines=published.lost_log_lines if holder else 0,
        untold=_untold(fleet),
        tasks=tasks,
        states=begun.states,
        needing=begun.needing,
        behind=behind_words(fleet),
        needs_you=begun.first,
        waits=held_tasks(fleet, conditions(fleet, now)) if tasks.get("open") else (),
    )


def is_supervised(home: Home) -> bool:
    """A supervisor of this home is running."""
    return supervisor_of(home) is not None


def _untold(fleet: Control) -> tuple[str, ...]:
    """What the notifier cannot tell; an outbox that cannot be read is that, too."""
    if not fleet.config.notify.is_on:
        return ()
    from fleet.control.notify.notify_status import untold

    try:
        return tuple(untold(fleet.home))
    except FleetError as error:
        return (error.message,)


def _unsupervised(fleet: Control) -> int:
    """How many agents run on without a supervisor."""
    from fleet.control.tasks.in_progress import in_progress

    return sum(each.lives for each in in_progress(fleet))


def _shut_accounts(fleet: Control, now: datetime) -> dict[str, str]:
    """Accounts that only a person can open, and why they get no work."""
    from fleet.control.accounts import accounts_now

    return {
        each.account.name: each.shut
        for each in accounts_now(fleet, now)
        if each.shut and each.until is None
    }
