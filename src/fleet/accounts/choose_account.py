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
    agents_allowed,
    is_being_tried,
    rests_until,
)
from fleet.accounts.login_faults import Use, hold_for
from fleet.accounts.rate_windows import end_of, full_window, headroom
from fleet.schemas.account import Account

#: How long a task waits for the one that tries the account for all others.
_PROBING = timedelta(seconds=5)
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


class Wait(Struct, frozen=True, kw_only=True):
    """Why a seat, or every seat of a task, takes no work now, and from when on a seat may."""

    #: The account that is available first; empty: the task has no seat at all.
    account: str = ""
    until: datetime
    why: str
    #: The account has as many agents as it may.
    busy: bool = False
    #: A person has to do something about it, or may: at `until` it is tried again (`again`).
    person: bool = False
    again: bool = False


def choose(
    stages: Sequence[Sequence[Seat]],
    states: Mapping[str, AccountState],
    standings: Mapping[str, AccountStanding],
    now: datetime,
    *,
    session_on: str = "",
    pause: timedelta = _PROBING,
) -> Go | Wait:
    """The seat for a task, or until when the task waits.

    `session_on` is the account that holds the task's session, `pause` the wait for a busy account.
    """
    taken: list[Wait] = []
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
        return Wait(until=now + _FOR_A_PERSON, why=text, person=True)
    first = min(taken, key=lambda each: each.until)
    return structs.replace(first, person=all(each.person for each in taken))


def busy_pause(typical: float) -> timedelta:
    """How long a task waits for a busy account, by the usual length of a run in seconds."""
    return timedelta(seconds=min(max(typical * _SHARE, _SOONEST), _LATEST))


def retry_at(wait: Wait, waiting: int, dice: float, now: datetime) -> datetime:
    """`not_before` for a task without a seat.

    `waiting` is how many tasks already wait for the same account: the more, the further their
    retries are spread. `dice` is between 0 and 1.
    """
    if wait.busy:
        pause = (wait.until - now) * min(1 + waiting / 4, 16)
        return now + min(pause, timedelta(seconds=_LATEST)) * (0.5 + dice)
    if waiting <= 1:
        return wait.until + _SPREAD * dice
    return wait.until + _SPREAD + min(_SPREAD * waiting, _WIDEST) * dice


def unavailable(
    seat: Seat,
    state: AccountState,
    standing: AccountStanding,
    now: datetime,
    pause: timedelta = _PROBING,
) -> Wait | None:
    """Why a seat is not free, and until when; None: the seat is free."""
    account, pace = seat.account, state.pace
    name = account.name
    if not account.enabled:
        text = f"{name} is paused (fleet account resume {name})"
        return Wait(account=name, until=now + _FOR_A_PERSON, why=text, person=True)
    if standing.trouble:
        until = standing.trouble_until or now + _FOR_A_PERSON
        again = standing.trouble_until is not None
        return Wait(account=name, until=until, why=standing.trouble, person=True, again=again)
    if standing.readying:
        return Wait(account=name, until=now + _READYING, why=standing.readying)
    if (full := full_window(state.windows, seat.model, account.stop_at, now)) is not None:
        text = f"{name} waits for its limit to reset ({full.kind})"
        return Wait(account=name, until=end_of(full), why=text)
    if (hold := hold_for(state.faults, seat.use, standing.at_work, now)) is not None:
        text = f"{name} gets no work: {hold.text}"
        return Wait(account=name, until=hold.until, why=text, person=True, again=True)
    if (until := rests_until(pace, now)) is not None:
        return Wait(account=name, until=until, why=f"{name} was refused and rests")
    tried = is_being_tried(state, standing.task_id, standing.at_work)
    if _unproven(state, standing) and tried:
        text = f"{name} is being tried by {pace.probe}"
        return Wait(account=name, until=now + _PROBING, why=text)
    raised = None if pace.unproven else agents_allowed(pace, now)
    if raised is not None and standing.running >= raised:
        text = f"{name} may have {raised} at work for now"
        return Wait(account=name, until=now + STEP, why=text)
    if standing.running >= account.max_concurrent:
        agents = "1 agent" if standing.running == 1 else f"{standing.running} agents"
        text = f"{name} has {agents} at work"
        return Wait(account=name, until=now + pause, why=text, busy=True)
    return None


def _unproven(state: AccountState, standing: AccountStanding) -> bool:
    return state.pace.unproven or standing.login_ends is not None


def _merit(seat: Seat, state: AccountState, running: int, now: datetime) -> float:
    account = seat.account
    room = max(headroom(state.windows, seat.model, account.stop_at, now), _LEAST_ROOM)
    return max(account.weight, 1) * room / (running + 1)
