"""What is known of one account, and what each event makes of it. Pure."""

from datetime import datetime, timedelta

from msgspec import Struct, field, structs

from fleet.accounts import concurrency, rate_windows
from fleet.accounts.concurrency import FREE, Pace
from fleet.schemas.account import Moment, Window
from fleet.schemas.event import RateLimit

#: An account whose login or bill was refused is tried again after this long, unless a person
#: resumes it before.
_REFUSED = timedelta(minutes=5)


class AccountState(Struct, frozen=True, kw_only=True):
    """What is known of an account."""

    windows: dict[str, Window] = field(default_factory=dict[str, Window])
    pace: Pace = FREE
    #: The end of a login's tokens that a run has shown to be renewed in time.
    proven_login: Moment | None = None


EMPTY = AccountState()


class LimitSeen(Struct, frozen=True):
    """The stream of a run that goes on told of a limit; `running` agents were at work."""

    limit: RateLimit
    running: int


class LimitRefused(Struct, frozen=True):
    """A run ended at a limit of the vendor; it had asked for `model`."""

    limit: RateLimit
    running: int
    model: str = ""


class LoginRefused(Struct, frozen=True):
    """A run ended as the account's login or bill was refused."""


class RunStarted(Struct, frozen=True):
    """A run was started; `proving`: on an account of which it is not known whether it works."""

    task_id: str
    proving: bool = False


class ModelAnswered(Struct, frozen=True):
    """A run has the first answer of its model.

    `slots` is how many agents the account may have by configuration, `login_ends` the end of the
    login's tokens if that is near.
    """

    task_id: str
    slots: int
    login_ends: datetime | None = None


class RunEnded(Struct, frozen=True):
    """A run ended, and neither at a limit nor for its login."""

    task_id: str


class AccountReset(Struct, frozen=True):
    """A person opened the account, removed it or added another of its name."""


AccountEvent = (
    LimitSeen | LimitRefused | LoginRefused | RunStarted | ModelAnswered | RunEnded | AccountReset
)


def after(state: AccountState, event: AccountEvent, now: datetime) -> AccountState:
    """The state of an account once `event` has happened."""
    pace = state.pace
    match event:
        case LimitSeen():
            return _after_limit_seen(state, event, now)
        case LimitRefused():
            return _after_limit_refused(state, event, now)
        case LoginRefused():
            rest = concurrency.one_task_tries(pace, now)
            return _paced(state, structs.replace(rest, until=now + _REFUSED, refused_at=now))
        case RunStarted(task_id=task_id, proving=proving):
            tries = pace.unproven or proving
            return _paced(state, structs.replace(pace, probe=task_id)) if tries else state
        case ModelAnswered(task_id=task_id, slots=slots, login_ends=login_ends):
            if pace.probe == task_id and login_ends is not None:
                state = structs.replace(state, proven_login=login_ends)
            return _paced(state, concurrency.after_answer(pace, task_id, slots, now))
        case RunEnded(task_id=task_id):
            # A probe that showed nothing leaves the trial to another task.
            tried = pace.probe == task_id
            return _paced(state, structs.replace(pace, probe="")) if tried else state
        case AccountReset():
            return EMPTY


def _paced(state: AccountState, pace: Pace) -> AccountState:
    return structs.replace(state, pace=pace)


def _after_limit_seen(state: AccountState, event: LimitSeen, now: datetime) -> AccountState:
    limit = event.limit
    if limit.kind in rate_windows.PASSING:
        if limit.status == "allowed":
            return state
        return _paced(state, concurrency.after_pressure(state.pace, event.running, now))
    if limit.status == "rejected" and limit.resets_at is None:
        return state  # another window may name the end; the outcome of the run says which
    windows = dict(rate_windows.with_limit(state.windows, limit, now))
    return structs.replace(state, windows=windows)


def _after_limit_refused(state: AccountState, event: LimitRefused, now: datetime) -> AccountState:
    limit = event.limit
    if limit.kind in rate_windows.PASSING:
        until = limit.resets_at
        wait = until - now if until and rate_windows.believable(until, now) else None
        return _paced(state, concurrency.after_refusal(state.pace, event.running, wait, now))
    rejected = structs.replace(limit, status="rejected")
    windows = dict(rate_windows.with_limit(state.windows, rejected, now, event.model))
    ends = rate_windows.end_of(windows[limit.kind])
    return structs.replace(
        state, windows=windows, pace=concurrency.one_task_tries(state.pace, ends)
    )
