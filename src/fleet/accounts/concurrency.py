"""How many agents an account bears: halved at a refusal, raised step by step. Pure.

After a wait one task tries the account for all others; once its model has answered, one more agent
may start for every step of time without a refusal.
"""

from datetime import datetime, timedelta
from typing import Annotated

from msgspec import Meta, Struct, structs

from fleet.schemas.account import Moment

#: One more agent for each of these without a refusal.
STEP = timedelta(seconds=5)
#: So many signs of pressure within so long are no accident.
_SIGNS, _WITHIN = 3, timedelta(seconds=10)
#: Refusals within this long are one: the agents that met it had all begun before.
_TOGETHER = timedelta(seconds=5)
#: A clock that was set back by more than this makes every moment of before a guess.
_SET_BACK = timedelta(hours=1)
#: The first pause after a refusal that names none, and the longest.
_PAUSE, _LONGEST = timedelta(seconds=15), timedelta(minutes=5)


class Pace(Struct, frozen=True, kw_only=True):
    """How many agents an account bears at once for now."""

    #: How many may run at once as of `since`; None: the account was never refused.
    allowed: Annotated[int, Meta(ge=0)] | None = None
    since: Moment | None = None
    #: Nothing starts before this.
    until: Moment | None = None
    #: It is not known whether the account works again; `probe` is the task that tries it.
    unproven: bool = False
    probe: str = ""
    #: When the account was last refused, how often in a row, and the latest signs of pressure.
    refused_at: Moment | None = None
    refusals: Annotated[int, Meta(ge=0)] = 0
    signs: tuple[Moment, ...] = ()


FREE = Pace()


def agents_allowed(pace: Pace, now: datetime) -> int | None:
    """How many agents may run at once by now; None: any number."""
    if pace.allowed is None or pace.since is None:
        return None
    return pace.allowed + max(0, int((now - pace.since) / STEP))


def rests_until(pace: Pace, now: datetime) -> datetime | None:
    """Until when nothing starts; None: a run may start now."""
    set_back = pace.refused_at is not None and now < pace.refused_at - _SET_BACK
    return None if pace.until is None or now >= pace.until or set_back else pace.until


def after_refusal(pace: Pace, running: int, wait: timedelta | None, now: datetime) -> Pace:
    """An agent was turned away, for `wait` if that is known: fewer at once, none for a while."""
    if pace.refused_at is not None and timedelta() <= now - pace.refused_at < _TOGETHER:
        until = now + wait if wait else pace.until
        later = max(filter(None, (until, pace.until)), default=None)
        return structs.replace(pace, until=later, since=later)
    pause = wait or min(_PAUSE * 2 ** min(pace.refusals, 10), _LONGEST)
    return Pace(
        allowed=_halved(pace, running, now),
        since=now + pause,
        until=now + pause,
        unproven=True,
        refused_at=now,
        refusals=pace.refusals + 1,
    )


def after_pressure(pace: Pace, running: int, now: datetime) -> Pace:
    """An agent was told to try again later: several such signs at once mean too many agents."""
    signs = (*(sign for sign in pace.signs if timedelta() <= now - sign < _WITHIN), now)
    recent = pace.refused_at is not None and timedelta() <= now - pace.refused_at < _WITHIN
    if len(signs) < _SIGNS or recent:
        return structs.replace(pace, signs=signs[-_SIGNS:])
    fewer = _halved(pace, running, now)
    return structs.replace(pace, allowed=fewer, since=now, refused_at=now, signs=())


def one_task_tries(pace: Pace, since: datetime) -> Pace:
    """One task shall try the account from `since` on, before any other starts."""
    return Pace(allowed=1, since=since, unproven=True, refused_at=pace.refused_at)


def after_answer(pace: Pace, task_id: str, slots: int, now: datetime) -> Pace:
    """The model of a run has answered; `slots` agents may run on the account by configuration."""
    if pace.probe == task_id:
        allowed = None if pace.allowed is None else max(1, pace.allowed)
        return Pace(allowed=allowed, since=now, refused_at=pace.refused_at, signs=pace.signs)
    if not pace.unproven and (agents_allowed(pace, now) or slots) >= slots:
        return Pace(signs=pace.signs)  # there is nothing left to raise
    if not pace.unproven and pace.since is not None and now < pace.since:
        return structs.replace(pace, since=now)  # the clock was set back
    return pace


def _halved(pace: Pace, running: int, now: datetime) -> int:
    before = agents_allowed(pace, now)
    return max(1, (running if before is None else min(running, before)) // 2)
