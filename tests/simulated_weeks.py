"""A vendor, its accounts and a queue on a clock that costs nothing: weeks in a second.

The rules are fleet's own (`fleet.accounts`); only what they decide about is made up: how much an
account gives in a window, what a run takes of it, and when it tells.
"""

import heapq
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count

from fleet.accounts.account_state import (
    EMPTY,
    AccountEvent,
    AccountState,
    LimitRefused,
    LimitSeen,
    ModelAnswered,
    RunEnded,
    RunStarted,
    after,
)
from fleet.accounts.choose_account import AccountStanding, Go, Seat, busy_pause, choose, retry_at
from fleet.schemas import Account, RateLimit

START = datetime(2026, 11, 16, tzinfo=UTC)
WINDOW = timedelta(hours=5)
#: How often a run asks its model.
TURN = timedelta(seconds=30)


@dataclass
class Vendor:
    """What one account really has left: units a window, from the first use on."""

    units: float
    used: float = 0.0
    ends: datetime = START

    def ask(self, units: float, now: datetime) -> RateLimit:
        """Serve a request, or refuse it; and say how things stand."""
        if now >= self.ends:
            self.used, self.ends = 0.0, now + WINDOW
        if self.used + units > self.units:
            return self._limit("rejected", 100.0)
        self.used += units
        return self._limit("allowed", 100 * self.used / self.units)

    def _limit(self, status: str, percent: float) -> RateLimit:
        return RateLimit(kind="five_hour", status=status, used_percent=percent, resets_at=self.ends)


@dataclass(eq=False)
class Work:
    """A task: so many turns, of so many units each."""

    number: int
    turns: int
    units: float
    done: int = 0
    runs: int = 0
    waits: int = 0
    account: str = ""
    ended: datetime | None = None

    @property
    def name(self) -> str:
        return f"t{self.number}"


@dataclass
class Fleet:
    """Some accounts, some slots, and work for them."""

    accounts: list[Account]
    vendors: dict[str, Vendor]
    slots: int
    works: list[Work]
    seed: int = 0
    now: datetime = START
    states: dict[str, AccountState] = field(default_factory=dict)
    running: dict[str, Work] = field(default_factory=dict)
    #: How full an account really was when a run was started on it, at most.
    fullest_start: dict[str, float] = field(default_factory=dict)
    #: By how many requests an account was used beyond its reserve, at most.
    over: Counter[str] = field(default_factory=Counter)
    starts: list[tuple[datetime, str]] = field(default_factory=list)
    refusals: int = 0

    def __post_init__(self) -> None:
        self._dice = random.Random(self.seed)
        self._order = count()
        self._agenda: list[tuple[datetime, int, Callable[[], None]]] = []
        self._ready = [(work.number, work) for work in self.works]
        self._turned_away: Counter[str] = Counter()
        self._typical = 60.0

    def go(self, until: datetime) -> None:
        """Let time go by."""
        self._start()
        while self._agenda and self._agenda[0][0] <= until:
            self.now, _, act = heapq.heappop(self._agenda)
            act()
            self._start()
        self.now = until

    def _queue(self, work: Work) -> None:
        heapq.heappush(self._ready, (work.number, work))

    def _later(self, when: datetime, act: Callable[[], None]) -> None:
        heapq.heappush(self._agenda, (max(when, self.now), next(self._order), act))

    def _start(self) -> None:
        while self._ready and len(self.running) < self.slots:
            _, work = heapq.heappop(self._ready)  # the oldest first, as the queue has it
            stages = [[Seat(account=account, model="sonnet") for account in self.accounts]]
            found = choose(
                stages, self.states, self._standings(work), self.now,
                session_on=work.account, pause=busy_pause(self._typical),
            )  # fmt: skip
            if isinstance(found, Go):
                self._begin(work, found)
                continue
            self._turned_away[found.account] += 1
            work.waits += 1
            when = retry_at(found, self._turned_away[found.account], self._dice.random(), self.now)
            self._later(when, lambda work=work: self._queue(work))

    def _standings(self, work: Work) -> dict[str, AccountStanding]:
        running = Counter(each.account for each in self.running.values())
        found = {}
        for account in self.accounts:
            found[account.name] = AccountStanding(
                running=running[account.name],
                task_id=work.name,
                at_work=frozenset(self.running) - {work.name},
            )
        return found

    def _begin(self, work: Work, go: Go) -> None:
        name = go.seat.account.name
        work.account, work.runs = name, work.runs + 1
        self._turned_away[name] = 0
        self.running[work.name] = work
        self.starts.append((self.now, name))
        vendor = self.vendors[name]
        full = 100 * vendor.used / vendor.units if self.now < vendor.ends else 0.0
        self.fullest_start[name] = max(self.fullest_start.get(name, 0.0), full)
        self._apply(name, RunStarted(work.name, go.proving))
        self._later(
            self.now + timedelta(seconds=self._dice.uniform(1, 5)), lambda: self._turn(work)
        )

    def _turn(self, work: Work) -> None:
        name = work.account
        account = next(each for each in self.accounts if each.name == name)
        vendor = self.vendors[name]
        limit = vendor.ask(work.units, self.now)
        inflight = sum(each.account == name for each in self.running.values())
        if limit.status == "rejected":
            self.refusals += 1
            del self.running[work.name]
            self._apply(name, LimitRefused(limit, inflight))
            self._queue(work)  # not an attempt: it goes on where it was
            return
        self._apply(name, LimitSeen(limit, inflight))
        self._apply(name, ModelAnswered(work.name, self.slots))
        if (limit.used_percent or 0) > account.stop_at:
            beyond = vendor.used - vendor.units * account.stop_at / 100
            self.over[name] = max(self.over[name], round(beyond / work.units))
        work.done += 1
        if work.done < work.turns:
            self._later(self.now + TURN, lambda: self._turn(work))
            return
        work.ended = self.now
        del self.running[work.name]
        self._apply(name, RunEnded(work.name))
        self._typical += (work.turns * TURN.total_seconds() - self._typical) / 8

    def _apply(self, name: str, event: AccountEvent) -> None:
        self.states[name] = after(self.states.get(name, EMPTY), event, self.now)


def a_fleet(
    accounts: int, *, units: float, slots: int, tasks: int, turns: int = 10, **more: object
) -> Fleet:
    """Accounts alike, with work enough or not."""
    stop_at = int(more.pop("stop_at", 100))
    names = [f"a{number}" for number in range(accounts)]
    return Fleet(
        accounts=[
            Account(name=name, coder="claude", directory=f"/{name}", stop_at=stop_at)
            for name in names
        ],
        vendors={name: Vendor(units) for name in names},
        slots=slots,
        works=[Work(number, turns, 1.0) for number in range(tasks)],
        **more,
    )


def share_of_ideal(accounts: int, *, windows: int = 4) -> tuple[int, float]:
    """Tasks done in some windows, and that as a share of what the vendor would have served."""
    units, turns = 400.0, 10
    fleet = a_fleet(accounts, units=units, slots=12, tasks=400 * accounts, turns=turns)
    fleet.go(START + WINDOW * windows)
    done = sum(work.ended is not None for work in fleet.works)
    return done, done / (accounts * windows * units / turns)
