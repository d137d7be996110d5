"""Which account a task runs on, or how long the task waits. Pure: a choice among values, and the
time.

The seats of a task come in stages: the accounts of its own coder first, then what its chain
names. The task gets a seat of the first stage that has a free one: that of the account with the
most room for its weight.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from msgspec import Struct, structs

from fleet.accounts.account_state import (
    EMPTY,
    STEP,
    AccountState,
    Pace,
    agents_allowed,
    is_being_tried,
    rests_until,
)
from fleet.accounts.login_faults import Use, hold_for
from fleet.accounts.rate_windows import end_of, full_window, headroom
from fleet.schemas.account import Account
from fleet.schemas.shown_text import counted
from fleet.schemas.task_state import Wait, WayOn

#: How long a task waits for the one that tries the account for all others.
PROBING = timedelta(seconds=5)
#: How long a task waits for a secret that is being fetched, or a login that is being renewed.
_READYING = timedelta(seconds=1)
#: How long a task waits for an account that only a person can open.
_FOR_A_PERSON = timedelta(minutes=1)
#: Tasks that wait for the same moment come back this far apart, over at most this long.
_SPREAD, _WIDEST = timedelta(seconds=1), timedelta(minutes=5)
#: A task that waits for a busy account comes back after this share of the usual length of a run,
#: within these seconds.
_SHARE, _SOONEST, _LATEST = 1 / 8, 1.0, 120.0
#: The account with the task's session is preferred as if it had this many times the room.
_SESSION_STAYS = 4.0
#: Counted for an account without room, so that its weight still tells.
_LEAST_ROOM = 0.01


class Seat(Struct, frozen=True, kw_only=True):
    """A way to run a task: an account, and the model to ask for."""

    account: Account
    model: str
    #: The directory that the task was made for.
    project: str = ""

    @property
    def coder(self) -> str:
        return self.account.coder

    @property
    def use(self) -> Use:
        return Use(model=self.model, project=self.project)


class AccountStanding(Struct, frozen=True, kw_only=True):
    """What matters of an account at this moment and is not in the `AccountState`."""

    running: int = 0
    #: The task that asks, and the other tasks that are at work.
    task_id: str = ""
    at_work: frozenset[str] = frozenset()
    #: What is being done before the account can be used: its secret fetched, its login renewed.
    readying: str = ""
    #: When the tokens of the login end, if that is near and no run has shown that they are renewed.
    login_ends: datetime | None = None
    #: Why the account cannot be used at all, and until when tasks wait before they ask again.
    trouble: str = ""
    trouble_until: datetime | None = None


class Go(Struct, frozen=True, kw_only=True):
    """The task starts on this seat; `proving`: the task tries the account for all others."""

    seat: Seat
    proving: bool = False


class AccountWait(Wait, frozen=True, kw_only=True):
    """Why a seat, or every seat of a task, takes no work now, and from when on a seat may."""

    gate: str = "account"
    #: The account that is available first; empty: the task has no seat at all.
    account: str = ""
    #: When the task asks again. `until` is set only where the wait has an end of its own.
    free_at: datetime
    #: The account has as many agents as it may.
    busy: bool = False


def choose(
    stages: Sequence[Sequence[Seat]],
    states: Mapping[str, AccountState],
    standings: Mapping[str, AccountStanding],
    now: datetime,
    *,
    session_on: str = "",
    pause: timedelta = PROBING,
) -> Go | AccountWait:
    """The seat for a task, or until when the task waits.

    `session_on` is the account that holds the task's session, `pause` the wait for a busy account.
    """
    taken: list[AccountWait] = []
    for stage in stages:
        free: list[tuple[float, Go]] = []
        for seat in stage:
            name = seat.account.name
            state, standing = states.get(name, EMPTY), standings.get(name, AccountStanding())
            found = unavailable(seat, state, standing, now, pause)
            if found is not None:
                taken.append(found)
                continue
            stays = _SESSION_STAYS if name == session_on else 1.0
            merit = stays * _merit(seat, state, standing.running, now)
            free.append((merit, Go(seat=seat, proving=_unproven(state, standing))))
        if free:
            return max(free, key=lambda each: each[0])[1]
    if not taken:
        text = "no account has a weight"
        return AccountWait(free_at=now + _FOR_A_PERSON, reason=text, person=True)
    first = min(taken, key=lambda each: each.free_at)
    return structs.replace(first, person=all(each.person for each in taken))


def busy_pause(typical: float) -> timedelta:
    """How long a task waits for a busy account, by the usual length of a run in seconds."""
    return timedelta(seconds=min(max(typical * _SHARE, _SOONEST), _LATEST))


def retry_at(wait: AccountWait, waiting: int, dice: float, now: datetime) -> datetime:
    """`not_before` for a task without a seat.

    `waiting` is how many tasks already wait for the same account: the more, the further their
    retries are spread. `dice` is between 0 and 1.
    """
    if wait.busy:
        pause = (wait.free_at - now) * min(1 + waiting / 4, 16)
        return now + min(pause, timedelta(seconds=_LATEST)) * (0.5 + dice)
    if waiting <= 1:
        return wait.free_at + _SPREAD * dice
    return wait.free_at + _SPREAD + min(_SPREAD * waiting, _WIDEST) * dice


def unavailable(
    seat: Seat,
    state: AccountState,
    standing: AccountStanding,
    now: datetime,
    pause: timedelta = PROBING,
) -> AccountWait | None:
    """Why a seat is not free, and until when; None: the seat is free."""
    account, pace = seat.account, state.pace
    name = account.name
    if not account.enabled:
        return AccountWait(
            account=name, free_at=now + _FOR_A_PERSON, person=True, reason=f"{name} is paused",
            way_on=WayOn(verb="", line=f"fleet account resume {name}"),
        )  # fmt: skip
    if standing.trouble:
        ends = standing.trouble_until
        return AccountWait(
            account=name, free_at=ends or now + _FOR_A_PERSON, until=ends, reason=standing.trouble,
            person=True, again=ends is not None,
        )  # fmt: skip
    if standing.readying:
        return AccountWait(account=name, free_at=now + _READYING, reason=standing.readying)
    if (full := full_window(state.windows, seat.model, account.stop_at, now)) is not None:
        text = f"{name} waits for its limit to reset ({full.kind})"
        return AccountWait(account=name, free_at=end_of(full), until=end_of(full), reason=text)
    if (hold := hold_for(state.faults, seat.use, standing.at_work, now)) is not None:
        return AccountWait(
            account=name, free_at=hold.until, until=hold.until, person=True, again=True,
            reason=f"{name} gets no work: {hold.text}",
            way_on=WayOn(verb="", line=f"fleet account resume {name}"),
        )  # fmt: skip
    if (rests := rests_until(pace, now)) is not None:
        text = f"{name} was refused and rests"
        return AccountWait(account=name, free_at=rests, until=rests, reason=text)
    tried = is_being_tried(state, standing.task_id, standing.at_work)
    if _unproven(state, standing) and tried:
        text = f"{name}: {_why_unproven(pace)}, {pace.probe} tries first"
        return AccountWait(account=name, free_at=now + PROBING, reason=text)
    raised = None if pace.unproven else agents_allowed(pace, now)
    if raised is not None and standing.running >= raised:
        text = f"{name}: its rate limit just reset, only {counted(raised, 'run')} allowed for now"
        return AccountWait(account=name, free_at=now + STEP, reason=text)
    if standing.running >= account.max_concurrent:
        text = f"{name} has {counted(standing.running, 'agent')} at work"
        return AccountWait(account=name, free_at=now + pause, reason=text, busy=True)
    return None


def _why_unproven(pace: Pace) -> str:
    """Why one task has to try an account before others use the account."""
    return "its rate limit just reset" if pace.unproven else "its login ends soon"


def _unproven(state: AccountState, standing: AccountStanding) -> bool:
    return state.pace.unproven or standing.login_ends is not None


def _merit(seat: Seat, state: AccountState, running: int, now: datetime) -> float:
    account = seat.account
    room = max(headroom(state.windows, seat.model, account.stop_at, now), _LEAST_ROOM)
    return max(account.weight, 1) * room / (running + 1)
