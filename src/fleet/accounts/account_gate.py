"""The gate of accounts: a task starts once a seat is free. Pure."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from msgspec import structs

from fleet.accounts.account_state import AccountState
from fleet.accounts.choose_account import (
    PROBING,
    AccountStanding,
    AccountWait,
    Go,
    Seat,
    choose,
)
from fleet.accounts.rate_windows import full_window
from fleet.extend import Gate, HomeMoment, SubjectFacts, TaskStart
from fleet.schemas.task_state import Wait


class AccountFacts(SubjectFacts, frozen=True, kw_only=True):
    """What is known of all accounts, and how long a task waits for a busy one."""

    states: Mapping[str, AccountState] = {}
    pause: timedelta = PROBING


class SeatFacts(SubjectFacts, frozen=True, kw_only=True):
    """The seats of a task in their order, and how each account stands; without any the task
    is not asked for an account.
    """

    stages: tuple[tuple[Seat, ...], ...] | None = None
    standings: Mapping[str, AccountStanding] = {}
    #: The account that holds the task's session.
    session_on: str = ""


def as_far_as_it_holds(state: AccountState, stop_at: int, now: datetime) -> AccountState:
    """The state with nothing but what may keep a task from an account: readers that compare states
    then see no change in windows that fill and in runs that begin.
    """
    windows = {
        kind: window
        for kind, window in state.windows.items()
        if full_window({kind: window}, window.model, stop_at, now) is not None
    }
    pace = structs.replace(state.pace, signs=())
    return structs.replace(state, windows=windows, pace=pace, used=False)


def seat_for(start: TaskStart, at: HomeMoment) -> Go | AccountWait | None:
    """The seat of a task, or why none is free; None: the task's seats are not known."""
    seats, known = start.of(SeatFacts), at.of(AccountFacts)
    if seats.stages is None:
        return None
    return choose(
        seats.stages, known.states, seats.standings, at.now,
        session_on=seats.session_on, pause=known.pause,
    )  # fmt: skip


class AccountRoom(Gate):
    """An account that the task may use takes one more agent: login, limits, pace and budget
    allow a run, and the coder is not held.
    """

    def why_not(self, start: TaskStart, at: HomeMoment) -> Wait | None:
        found = seat_for(start, at)
        return found if isinstance(found, AccountWait) else None
