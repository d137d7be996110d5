"""What is known of one account, and what each piece of news makes of it. Pure."""

from datetime import datetime, timedelta

from msgspec import Struct, field, structs

from fleet.accounts import concurrency as pace
from fleet.accounts import rate_windows as windows
from fleet.accounts.concurrency import FREE, Pace
from fleet.schemas.account import Moment, Window
from fleet.schemas.event import RateLimit

#: A login or a bill that was refused is tried again after this long, if nobody opens it before.
_REFUSED = timedelta(minutes=5)


class AccountState(Struct, frozen=True, kw_only=True):
    """What is known of an account."""

    windows: dict[str, Window] = field(default_factory=dict[str, Window])
    pace: Pace = FREE
    #: The end of the login that is known to work all the same.
    proven_login: Moment | None = None


EMPTY = AccountState()


def told(gauge: AccountState, limit: RateLimit, running: int, now: datetime) -> AccountState:
    """The stream of a run that goes on told of a limit."""
    if limit.kind in windows.PASSING:
        if limit.status == "allowed":
            return gauge
        return structs.replace(gauge, pace=pace.pressed(gauge.pace, running, now))
    if limit.status == "rejected" and limit.resets_at is None:
        return gauge  # another window may tell until when: how the run ends says which
    return structs.replace(gauge, windows=dict(windows.noted(gauge.windows, limit, now)))


def refused(
    gauge: AccountState, limit: RateLimit, running: int, now: datetime, *, model: str = ""
) -> AccountState:
    """A run ended since the vendor would not go on; it had asked for this model."""
    if limit.kind in windows.PASSING:
        wait = _wait(limit.resets_at, now)
        return structs.replace(gauge, pace=pace.refused(gauge.pace, running, wait, now))
    rejected = structs.replace(limit, status="rejected")
    known = dict(windows.noted(gauge.windows, rejected, now, model))
    ends = windows.end_of(known[limit.kind])
    return structs.replace(gauge, windows=known, pace=pace.shut(gauge.pace, ends))


def barred(gauge: AccountState, now: datetime) -> AccountState:
    """Its login or its bill was refused: nobody else need find out right now."""
    shut = pace.shut(gauge.pace, now)
    shut = structs.replace(shut, until=now + _REFUSED, refused_at=now)
    return structs.replace(gauge, pace=shut)


def begun(gauge: AccountState, task_id: str, *, proving: bool) -> AccountState:
    """A run was started on it."""
    return structs.replace(gauge, pace=pace.begun(gauge.pace, task_id, proving=proving))


def answered(
    gauge: AccountState, task_id: str, slots: int, login_ends: datetime | None, now: datetime
) -> AccountState:
    """A run has an answer of its model; `login_ends` is that of the login it had it with."""
    proved = gauge.pace.probe == task_id and login_ends is not None
    return structs.replace(
        gauge,
        pace=pace.answered(gauge.pace, task_id, slots, now),
        proven_login=login_ends if proved else gauge.proven_login,
    )


def ended(gauge: AccountState, task_id: str) -> AccountState:
    """A run is over, and not for a limit."""
    return structs.replace(gauge, pace=pace.ended(gauge.pace, task_id))


def _wait(until: datetime | None, now: datetime) -> timedelta | None:
    """How long a refusal lasts, if it says and if that can be."""
    return until - now if until is not None and windows.believable(until, now) else None
