"""The health of one login: limits, pace and what is held, and the state after each event. Pure.

The pace is how many agents an account bears: halved at a refusal, raised step by step. After a wait
one task tries the account for all others; once its model has answered, one more agent may start for
every step of time without a refusal.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Annotated, Literal

from msgspec import Meta, Struct, field, structs

from fleet.accounts import login_faults, rate_windows
from fleet.accounts.login_faults import Fault, FaultRecord, Hold, RunShowed, Use
from fleet.schemas.account import Moment, Window
from fleet.schemas.backoff import Backoff
from fleet.schemas.event import RateLimit

#: One more agent for each of these without a refusal.
STEP = timedelta(seconds=5)
#: This many signs of pressure within this long are no accident.
_SIGNS, _WITHIN = 3, timedelta(seconds=10)
#: Refusals within this long are one: the agents that met it had all begun before.
_TOGETHER = timedelta(seconds=5)
#: A clock that was set back by more than this makes every moment of before a guess.
_SET_BACK = timedelta(hours=1)
#: An outage of this long needs a person; one that began this long ago is forgotten.
_LONG, _FORGOTTEN = timedelta(minutes=30), timedelta(days=1)
#: How much of a CLI's own words is kept.
_MOST_WORDS = 200
#: The first pause after a refusal that names none, and the longest.
_BACKOFF = Backoff(timedelta(seconds=15), timedelta(minutes=5))


class Pace(Struct, frozen=True, kw_only=True):
    """How many agents an account bears at once for now."""

    #: How many may run at once as of `since`; None: the account was never refused.
    allowed: Annotated[int, Meta(ge=0)] | None = None
    since: Moment | None = None
    #: Nothing starts before this.
    until: Moment | None = None
    #: Whether the account works again is not known; `probe` is the task that tries the account.
    unproven: bool = False
    probe: str = ""
    #: When the account was last refused, how often in a row, and the latest signs of pressure.
    refused_at: Moment | None = None
    refusals: Annotated[int, Meta(ge=0)] = 0
    signs: tuple[Moment, ...] = ()


FREE = Pace()


class Outage(Struct, frozen=True, kw_only=True):
    """The vendor's service failed for a task, and has not answered the task since."""

    since: Moment
    why: str = ""
    #: How often it failed although other tasks had been answered since the time before.
    alone: Annotated[int, Meta(ge=0)] = 0
    #: Another task has been answered since the last time.
    others: bool = False


class AccountState(Struct, frozen=True, kw_only=True):
    """What is known of an account."""

    windows: dict[str, Window] = field(default_factory=dict[str, Window])
    pace: Pace = FREE
    #: What the runs of each scope showed: of the login, of a model, of a model in a project.
    faults: dict[str, FaultRecord] = field(default_factory=dict[str, FaultRecord])
    #: The tasks for which the vendor's service failed last.
    outages: dict[str, Outage] = field(default_factory=dict[str, Outage])
    #: The end of a login's tokens that a run has shown to be renewed in time.
    proven_login: Moment | None = None
    #: A run was started on the account: not every CLI tells of limits.
    used: bool = False


EMPTY = AccountState()


class LimitSeen(Struct, frozen=True, tag=True):
    """The stream of a run that goes on told of a limit; `running` agents were at work."""

    limit: RateLimit
    running: int


class LimitRefused(Struct, frozen=True, tag=True):
    """A run ended at a limit of the vendor; the run had asked for `model`."""

    limit: RateLimit
    running: int
    model: str = ""
    task_id: str = ""
    #: The CLI's own words at an outage.
    why: str = ""


class LoginRefused(Struct, frozen=True, tag=True):
    """A run ended as the account's login, key or bill was refused, with these words."""

    why: str = ""
    #: Empty: the login was refused to no run, or to one on another host.
    task_id: str = ""


class RunStarted(Struct, frozen=True):
    """A run was started; `proving`: on an account that may not work."""

    task_id: str
    proving: bool = False
    use: Use = Use()


class ModelAnswered(Struct, frozen=True):
    """A run has the first answer of the model.

    `slots` is how many agents the account may have by configuration, `login_ends` the end of the
    login's tokens if that is near.
    """

    task_id: str
    slots: int
    login_ends: datetime | None = None
    use: Use = Use()


class RunEnded(Struct, frozen=True):
    """A run ended, and neither at a limit nor by a refused login."""

    task_id: str


class AccountReset(Struct, frozen=True, tag=True):
    """A person opened the account, removed the account or added another of the same name."""


AccountEvent = (
    LimitSeen
    | LimitRefused
    | LoginRefused
    | RunStarted
    | ModelAnswered
    | RunShowed
    | RunEnded
    | AccountReset
)


def after(state: AccountState, event: AccountEvent, now: datetime) -> AccountState:
    """The state of an account once `event` has happened."""
    pace = state.pace
    match event:
        case LimitSeen():
            return _after_limit_seen(state, event, now)
        case LimitRefused():
            return _after_limit_refused(state, event, now)
        case LoginRefused(why=why, task_id=task_id):
            faults = login_faults.after_refusal(state.faults, task_id, why, now)
            return _without_probe(structs.replace(state, faults=faults), task_id)
        case RunStarted(task_id=task_id, proving=proving, use=use):
            faults = login_faults.tried_by(state.faults, use, task_id)
            state = structs.replace(state, used=True, faults=faults)
            tries = pace.unproven or proving
            return _paced(state, structs.replace(pace, probe=task_id)) if tries else state
        case ModelAnswered():
            return _after_model_answered(state, event, now)
        case RunShowed():
            faults = login_faults.after_run(state.faults, event, now)
            return structs.replace(state, faults=faults)
        case RunEnded(task_id=task_id):
            # A probe that showed nothing leaves the trial to another task.
            faults = login_faults.given_up_by(state.faults, task_id)
            outages = {each: state.outages[each] for each in state.outages if each != task_id}
            state = structs.replace(state, faults=faults, outages=outages)
            return _without_probe(state, task_id)
        case AccountReset():
            return EMPTY


def _paced(state: AccountState, pace: Pace) -> AccountState:
    return structs.replace(state, pace=pace)


def _without_probe(state: AccountState, task_id: str) -> AccountState:
    pace = state.pace
    return _paced(state, structs.replace(pace, probe="")) if pace.probe == task_id else state


def _after_model_answered(state: AccountState, event: ModelAnswered, now: datetime) -> AccountState:
    task_id, ends = event.task_id, event.login_ends
    if state.pace.probe == task_id and ends is not None:
        state = structs.replace(state, proven_login=ends)
    others = {each: known for each, known in state.outages.items() if each != task_id}
    outages = {each: structs.replace(known, others=True) for each, known in others.items()}
    faults = login_faults.after_answer(state.faults, event.use)
    state = structs.replace(state, outages=outages, faults=faults)
    return _paced(state, after_answer(state.pace, task_id, event.slots, now))


def _after_limit_seen(state: AccountState, event: LimitSeen, now: datetime) -> AccountState:
    limit = event.limit
    if limit.kind in rate_windows.PASSING:
        if limit.status == "allowed":
            return state
        return _paced(state, after_pressure(state.pace, event.running, now))
    if limit.status == "rejected" and limit.resets_at is None:
        return state  # another window may name the end; the outcome of the run says which
    windows = dict(rate_windows.with_limit(state.windows, limit, now))
    return structs.replace(state, windows=windows)


def _after_limit_refused(state: AccountState, event: LimitRefused, now: datetime) -> AccountState:
    limit = event.limit
    faults = login_faults.given_up_by(state.faults, event.task_id)
    state = structs.replace(state, faults=faults)
    if limit.kind == "outage" and event.task_id:
        known = state.outages.get(event.task_id)
        state = _after_outage(state, known, event, now)
        if known is not None and known.others:
            return _without_probe(state, event.task_id)  # the others go on
    if limit.kind in rate_windows.PASSING:
        until = limit.resets_at
        wait = until - now if until and rate_windows.believable(until, now) else None
        return _paced(state, after_refusal(state.pace, event.running, wait, now))
    rejected = structs.replace(limit, status="rejected")
    windows = dict(rate_windows.with_limit(state.windows, rejected, now, event.model))
    ends = rate_windows.end_of(windows[limit.kind])
    return structs.replace(state, windows=windows, pace=one_task_tries(state.pace, ends))


def _after_outage(
    state: AccountState, known: Outage | None, event: LimitRefused, now: datetime
) -> AccountState:
    kept = {each: one for each, one in state.outages.items() if now - one.since < _FORGOTTEN}
    since = now if known is None else known.since
    alone = own_outages(state, event.task_id)
    fresh = Outage(since=since, why=event.why[:_MOST_WORDS], alone=alone)
    return structs.replace(state, outages={**kept, event.task_id: fresh})


def own_outages(state: AccountState, task_id: str) -> int:
    """How often the service will have failed for this task alone, with one more failure."""
    known = state.outages.get(task_id)
    return known.alone + known.others if known is not None else 0


def probes_of(state: AccountState) -> set[str]:
    """The tasks that try the account, or what is held of its login, for all others."""
    holds = (record.hold for record in state.faults.values())
    return {state.pace.probe, *(hold.probe for hold in holds if hold is not None)} - {""}


def is_being_tried(state: AccountState, task_id: str, trying: frozenset[str]) -> bool:
    """Whether a task waits for the one that tries the account. `trying`: the tasks at work.

    A probe whose last run met an outage may meet it again: a task without one tries beside it.
    """
    probe = state.pace.probe
    fresh = task_id not in state.outages and probe in state.outages
    return probe in trying and probe != task_id and not fresh


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
    pause = wait or _BACKOFF.pause(pace.refusals)
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


class HeldLogin(Struct, frozen=True, kw_only=True):
    """A login or a model that gets no work, for people."""

    #: The account, with the model and the project that are held.
    name: str
    account: str
    cause: Fault | Literal["outage"]
    why: str
    since: datetime
    until: datetime

    @property
    def way_on(self) -> str:
        return f"fleet account resume {self.account}"


def held_logins(states: Mapping[str, AccountState], now: datetime) -> tuple[HeldLogin, ...]:
    """All logins and models that get no work until the next trial, by name; also logins whose
    vendor fails for long.
    """
    found = list[HeldLogin]()
    for account, state in sorted(states.items()):
        found += [
            _held_login(account, scope, record.hold)
            for scope, record in sorted(state.faults.items())
            if record.hold is not None
        ]
        found += [] if (one := _long_outage(account, state, now)) is None else [one]
    return tuple(found)


def _held_login(account: str, scope: str, hold: Hold) -> HeldLogin:
    model = scope.removeprefix("model ").removeprefix(login_faults.LOGIN)
    between = "/" if scope.startswith("model ") else ""
    return HeldLogin(
        name=f"{account}{between}{model}",
        account=account,
        cause=hold.cause,
        why=hold.text,
        since=hold.since,
        until=hold.until,
    )


def _long_outage(account: str, state: AccountState, now: datetime) -> HeldLogin | None:
    """The outage of a login that has lasted for long, for all tasks."""
    outages = sorted(state.outages.values(), key=lambda each: each.since)
    if not outages or any(each.others for each in outages) or now - outages[0].since < _LONG:
        return None
    why = f"its vendor's service fails: {outages[-1].why}".rstrip(": ")
    until = state.pace.until or now
    return HeldLogin(
        name=account, account=account, cause="outage", why=why, since=outages[0].since, until=until
    )
