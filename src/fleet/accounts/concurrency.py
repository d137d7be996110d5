"""How many agents an account bears: halved when it pushes back, raised step by step. Pure.

After a wait one task tries the account for all others; once it has an answer, one more may start
for every step of time that goes by without a refusal.
"""

from datetime import datetime, timedelta
from typing import Annotated

from msgspec import Meta, Struct, structs

from fleet.schemas.account import Moment

#: One more agent for each of these without a refusal.
STEP = timedelta(seconds=5)
#: So many signs of pressure within so long are no accident.
_SIGNS, _WITHIN = 3, timedelta(seconds=10)
#: Refusals that come together are one: the agents that met it had all begun before.
_TOGETHER = timedelta(seconds=5)
#: A clock that was set back by more than this makes every moment of before a guess.
_SET_BACK = timedelta(hours=1)
#: The first pause after a refusal that names none, and the longest.
_PAUSE, _LONGEST = timedelta(seconds=15), timedelta(minutes=5)


class Pace(Struct, frozen=True, kw_only=True):
    """How fast an account may go."""

    #: How many may run at once as of `since`; None: it was never too many.
    allowed: Annotated[int, Meta(ge=0)] | None = None
    since: Moment | None = None
    #: Nothing starts before this.
    until: Moment | None = None
    #: Nobody knows yet whether it works again; and the task that finds out.
    unproven: bool = False
    probe: str = ""
    #: When it was last refused, how often in a row, and signs that it may be soon.
    refused_at: Moment | None = None
    refusals: Annotated[int, Meta(ge=0)] = 0
    signs: tuple[Moment, ...] = ()


FREE = Pace()


def bound(pace: Pace, now: datetime) -> int | None:
    """How many may run at once by now; None: any number."""
    if pace.allowed is None or pace.since is None:
        return None
    return pace.allowed + max(0, int((now - pace.since) / STEP))


def rests_until(pace: Pace, now: datetime) -> datetime | None:
    """Until when nothing starts; None: something may."""
    set_back = pace.refused_at is not None and now < pace.refused_at - _SET_BACK
    return None if pace.until is None or now >= pace.until or set_back else pace.until


def refused(pace: Pace, running: int, wait: timedelta | None, now: datetime) -> Pace:
    """An agent was turned away: fewer at once, and nothing for a while."""
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


def pressed(pace: Pace, running: int, now: datetime) -> Pace:
    """An agent was told to try again later, and lives: a few of these at once mean too many."""
    signs = (*(sign for sign in pace.signs if timedelta() <= now - sign < _WITHIN), now)
    recent = pace.refused_at is not None and timedelta() <= now - pace.refused_at < _WITHIN
    if len(signs) < _SIGNS or recent:
        return structs.replace(pace, signs=signs[-_SIGNS:])
    fewer = _halved(pace, running, now)
    return structs.replace(pace, allowed=fewer, since=now, refused_at=now, signs=())


def shut(pace: Pace, until: datetime) -> Pace:
    """A window is used up: at its end one task shall try, not all."""
    return Pace(allowed=1, since=until, unproven=True, refused_at=pace.refused_at)


def begun(pace: Pace, task_id: str, *, proving: bool) -> Pace:
    """A run was started; `proving`: it is to show something for all others."""
    return structs.replace(pace, probe=task_id) if pace.unproven or proving else pace


def answered(pace: Pace, task_id: str, slots: int, now: datetime) -> Pace:
    """A run has an answer of its model."""
    if pace.probe == task_id:
        allowed = None if pace.allowed is None else max(1, pace.allowed)
        return Pace(allowed=allowed, since=now, refused_at=pace.refused_at, signs=pace.signs)
    if not pace.unproven and (bound(pace, now) or slots) >= slots:
        return Pace(signs=pace.signs)  # there is nothing left to raise
    if not pace.unproven and pace.since is not None and now < pace.since:
        return structs.replace(pace, since=now)  # the clock was set back
    return pace


def ended(pace: Pace, task_id: str) -> Pace:
    """A run is over. One that was to show something and did not leaves it to another."""
    return structs.replace(pace, probe="") if pace.probe == task_id else pace


def _halved(pace: Pace, running: int, now: datetime) -> int:
    before = bound(pace, now)
    return max(1, (running if before is None else min(running, before)) // 2)
