"""Says every few seconds that this host lives, and hears what people want of the host.

A thread and a connection of their own: neither a mirror that is fetched for an hour nor a queue
call that hangs may make the host look dead.
"""

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import cast

from msgspec import structs

from fleet.errors import FleetError, QueueReadOnly, QueueUnavailable, Refused, SchemaTooNew
from fleet.queue.protocol import Queue
from fleet.queue.sql.hosts import host_table
from fleet.queue.sql.hosts.shared_news import (
    HostNews,
    NewsReader,
    RunSpend,
    share_news,
    share_spends,
    spends_elsewhere,
)
from fleet.queue.sql.sql_queue import SqlQueue
from fleet.queue.sql.travel.live_lines import LivingRun, tell_runs
from fleet.schemas import Host, HostState, Offer
from fleet.schemas.units import shown_span
from fleet.spending.budgets import day_of
from fleet.supervisor.hosts.host_offer import Reach
from fleet.supervisor.hosts.server_memory import ServerMemory

#: Seconds between two beats, and between two tries of one that failed. With the longest time that
#: a call takes to fail they stay below the 35 seconds after which a host counts as silent.
EVERY, AGAIN = 10.0, 2.0
#: A clock that is off by less is taken for right.
_OFF = timedelta(seconds=5)


class Exchange:
    """What this host tells the others with each beat, and hears of them: what runs spent, how they
    stand, news of keys and coders. The loop puts in and takes out; the heartbeat's thread carries.
    """

    def __init__(self) -> None:
        self.spent: deque[RunSpend] = deque()
        self.spent_elsewhere: deque[RunSpend] = deque()
        self.news: deque[HostNews] = deque()
        self.news_elsewhere: deque[HostNews] = deque()
        #: The other hosts that are up, as of the last beat.
        self.others: Sequence[Host] = ()
        #: How runs of this host stand that the others do not know yet, and what they know.
        self.runs: deque[LivingRun] = deque()
        self.told_runs: Mapping[str, LivingRun] = {}
        self._spends_since: tuple[str, datetime | None] = ("", None)
        self._reader = NewsReader()

    def carry(self, queue: SqlQueue, host: str, now: datetime) -> None:
        """Write what is in the boxes for others, and fetch what is there for this host."""
        self._carry_spends(queue, host, day_of(now))
        if mine := list(self.news):
            share_news(queue, mine)
            for _ in mine:
                self.news.popleft()
        if living := list(self.runs):
            tell_runs(queue, living)
            for _ in living:
                self.runs.popleft()
        self.news_elsewhere.extend(self._reader.read(queue, host))
        self.others = host_table.others_up(queue, host)

    def _carry_spends(self, queue: SqlQueue, host: str, today: str) -> None:
        """Day budgets are for all hosts together: each tells the others what runs there spent."""
        if mine := list(self.spent):
            share_spends(queue, mine)
            for _ in mine:
                self.spent.popleft()
        day, since = self._spends_since
        since = since if day == today else None
        found, since = spends_elsewhere(queue, host, today, since)
        self._spends_since = (today, since)
        self.spent_elsewhere.extend(found)


class Heartbeat:
    """The host's row in the queue. `host` is replaced by the loop as things change."""

    def __init__(
        self,
        open_queue: Callable[[], Queue],
        host: Host,
        *,
        machine: str,
        lease: timedelta,
        say: Callable[[str, str], None],
        missing: Callable[[SqlQueue], Sequence[str]] = lambda _: (),
    ) -> None:
        self._open, self._say, self._machine = open_queue, say, machine
        self.host = host
        self.server = ServerMemory(host.id, lease, say, missing)
        #: How far the queue's clock is ahead of this machine's; nothing if they agree.
        self._ahead = timedelta(0)
        #: What people want of the host; None: it is not registered yet.
        self.state: HostState | None = None
        #: Why this supervisor must end: another one has its id, or the queue is a later fleet's.
        self.refused: Refused | SchemaTooNew | None = None
        #: A later fleet has migrated the queue: this one finishes what it has.
        self.outdated = False
        self.exchange, self.reach = Exchange(), Reach()
        self._wake, self._closing = threading.Event(), threading.Event()
        #: Why the last beat failed, where no other thread tells of it.
        self._failed = ""
        self._thread = threading.Thread(target=self._work, name="heartbeat", daemon=True)

    @property
    def name(self) -> str:
        """What people call this host."""
        return self.host.name

    def offer_now(self, usual_coder: str) -> Offer:
        """The offer for a claim, without coders that have room on other hosts and none here."""
        resting = self.reach.resting
        return structs.replace(
            self.host.offer,
            unreachable=self.reach.unreachable,
            resting=tuple(sorted(resting)),
            rests=usual_coder in resting,
        )

    @property
    def may_claim(self) -> bool:
        """The host is registered, and not draining."""
        return self.state == "up" and not self.outdated and not self.server.holds_off

    @property
    def is_draining(self) -> bool:
        return self.state == "draining" or self.outdated

    @property
    def misses_code(self) -> bool:
        """A repository did not answer a short while ago, so that a task may wait unseen."""
        return bool(self.reach.unreachable)

    def knows(self, queue: Queue) -> bool:
        """The connection leads to the server that this host knows: only there it claims."""
        return self.server.may_claim(cast("SqlQueue", queue))

    def lacks(self, coder: str) -> bool:
        """The program of a coder is not on this machine."""
        return coder not in self.host.offer.coders

    def leave_to_others(self, url: str) -> bool:
        """Leave a repository that did not answer to another host, if there is one: the other may
        reach it at once.
        """
        if not self.exchange.others:
            return False
        self.reach.miss(url)
        return True

    def server_went_back(self) -> bool:
        """The server was replaced by a copy of an earlier state since this was asked last."""
        went_back = self.server.went_back.is_set()
        self.server.went_back.clear()
        return went_back

    def now(self) -> datetime:
        """The time by the queue's clock, which counts for all hosts."""
        return datetime.now(UTC) + self._ahead

    def update(self, **facts: object) -> None:
        """Tell of new facts with the next beat; a change of what the host has to give at once."""
        before = self.host
        self.host = structs.replace(before, **facts)
        if before.offer != self.host.offer or (before.free == 0) != (self.host.free == 0):
            self._wake.set()

    def look(self) -> None:
        """Beat now: a person may have changed what is wanted of the host."""
        self._wake.set()

    def start(self) -> None:
        self._thread.start()

    def close(self, patience: float) -> None:
        """Leave in order, as far as the queue answers in time."""
        self._closing.set()
        self._wake.set()
        self._thread.join(patience)

    def _work(self) -> None:
        queue: SqlQueue | None = None
        while not self._closing.is_set() and self.refused is None:
            pause = EVERY
            self._wake.clear()
            try:
                queue = queue or cast("SqlQueue", self._open())
                self._beat(queue)
                self._failed = ""
            except Refused as error:
                self.refused = error
            except SchemaTooNew as error:
                if self.state is None:  # there is nothing to finish
                    self.refused = error
                elif not self.outdated:
                    self._say("outdated", f"{error.message}. {error.hint}")
                self.outdated = True
            except Exception as error:  # noqa: BLE001 - a thread that ends makes the host look dead
                pause = AGAIN
                self._complain(error)
                if queue is not None:
                    with suppress(FleetError, OSError):
                        queue.close()
                    queue = None
            self._wake.wait(pause)
        if queue is not None:
            with suppress(FleetError, OSError):
                if self.refused is None:
                    host_table.leave(queue, self.host, lease=self.server.lease)
                queue.close()

    def _beat(self, queue: SqlQueue) -> None:
        self.server.check(queue)
        state = host_table.beat(queue, self.host) if self.state is not None else None
        if state is None:  # it starts, or a person removed the row, or another incarnation took it
            state = host_table.register(
                queue, self.host, machine=self._machine, lease=self.server.lease
            )
        if state != self.state:
            self._tell(state)
        self.state = state
        self.server.beaten(queue)
        self._compare_clocks(queue)
        self.exchange.carry(queue, self.host.id, self.now())

    def _complain(self, error: Exception) -> None:
        """Tell of a beat that failed, once. Of a queue that does not answer the loop tells; one
        that cannot be written the loop does not meet, since no task is claimed before a beat.
        """
        if isinstance(error, QueueUnavailable | OSError) and not isinstance(error, QueueReadOnly):
            return
        known = isinstance(error, FleetError)
        text = f"{error.message}. {error.hint}" if known else f"{type(error).__name__}: {error}"
        if text != self._failed:
            self._failed = text
            self._say("heartbeat_failed", f"a heartbeat fails, and is tried again: {text}")

    def _compare_clocks(self, queue: SqlQueue) -> None:
        ahead = queue.db.now() - datetime.now(UTC)
        ahead = ahead if abs(ahead) > _OFF else timedelta(0)
        if abs(ahead - self._ahead) > _OFF:
            way = "behind" if ahead > timedelta(0) else "ahead of"
            text = f"{shown_span(abs(ahead).total_seconds())} {way} the queue's, which counts"
            right = "agrees with the queue's again"
            self._say("clock", f"the clock of this machine {f'is {text}' if ahead else right}")
        self._ahead = ahead

    def _tell(self, state: HostState) -> None:
        name = self.host.name
        if state == "draining":
            text = f"host {name} is drained: what runs is finished, nothing new is taken"
            self._say("draining", f"{text}. To go on: fleet host resume {name}")
        elif self.state is None:
            self._say("host_up", f"host {name} takes part, with {self.host.slots} slots")
        else:
            self._say("host_up", f"host {name} takes tasks again")


class NoHosts:
    """Stands for the heartbeat of a supervisor whose queue is not shared: there is no other host,
    and nothing to offer, to tell or to wait for.
    """

    name = ""
    may_claim = True
    is_draining = False
    misses_code = False

    def start(self) -> None:
        """No beat."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def offer_now(self, usual_coder: str) -> None:
        """No offer: this machine runs every task, or says what it lacks."""

    def knows(self, queue: Queue) -> bool:
        return True

    def lacks(self, coder: str) -> bool:
        return False

    def leave_to_others(self, url: str) -> bool:
        return False

    def server_went_back(self) -> bool:
        return False

    def look(self) -> None:
        pass

    def close(self, patience: float) -> None:
        pass
