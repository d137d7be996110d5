"""The loop: one thread, woken by the queue, by growing streams, by ending keepers, by signals."""

import os
import random
import selectors
import signal
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from msgspec import structs

from fleet import config as configuration
from fleet.config import Config
from fleet.errors import ConfigError, QueueError
from fleet.queue import open_queue
from fleet.queue.base import Filter, LeaseLost, Queue
from fleet.schemas import (
    Blocked,
    ContextFull,
    Lease,
    RateLimited,
    Released,
    Request,
    Settlement,
    Stopped,
    Task,
)
from fleet.supervisor import process
from fleet.supervisor.clerk import Clerk
from fleet.supervisor.cooling import Cooling
from fleet.supervisor.ending import end_of
from fleet.supervisor.launch import Unfit, launch, make_ready, run_id
from fleet.supervisor.live import Live
from fleet.supervisor.log import Log
from fleet.supervisor.process import Busy, Ended, NeverStarted, Orphaned, Running, Vanished
from fleet.supervisor.settle import SHUTDOWN
from fleet.supervisor.shims import make_shims
from fleet.supervisor.sole import owner_of, sole_supervisor
from fleet.supervisor.state import Snapshot, paused, write_snapshot
from fleet.taskdir import Home
from fleet.taskdir.rundir import latest_run
from fleet.taskdir.watch import Watch

LEASE = timedelta(minutes=10)
RENEW = 60.0
#: Nothing rings for a moment that comes: the queue is asked again this often anyway.
LOOK_AGAIN = 5.0
#: A failing queue is asked again after this long, doubled up to the longest.
QUEUE_PAUSE, LONGEST_PAUSE = 0.5, 30.0
#: How often settings are looked at and progress is published.
TICK = 1.0


class Supervisor:
    """One home's supervisor. `run` returns when it was stopped, or is idle and was to end then."""

    def __init__(
        self,
        home: Home,
        config: Config,
        *,
        coder: str | None = None,
        until_idle: bool = False,
        echo: Callable[[str], None] = print,
    ) -> None:
        self.home = home
        self.config = config
        self.coder = coder
        self.until_idle = until_idle
        self.owner = owner_of(home)
        self.log = Log(home.logging, utc, echo)
        self.cooling = Cooling(home.path)
        self.shims = make_shims(home.path)
        self.lives: dict[str, Live] = {}
        #: Tasks whose old run withstands killing: they wait, leased, until it is gone.
        self.orphaned: dict[str, Lease] = {}
        self.clerk = Clerk(partial(open_queue, home.path, config))
        self.watch = Watch()
        self.selector = selectors.DefaultSelector()
        self.hungry = True
        self.claiming = False
        self.stopping = 0
        self.restart = False
        self.idle = False
        self.queue_problem = ""
        self._queue_pause = QUEUE_PAUSE
        self._ask_again = 0.0
        self._signals: list[int] = []
        self._next_tick = self._next_look = self._next_renew = 0.0
        self._config_seen = _stamp(home.config)
        self._published: Snapshot | None = None

    # The way of the whole thing, from top to bottom.

    def run(self) -> bool:
        """Supervise until the end. True: whoever called shall start a new supervisor."""
        with sole_supervisor(self.home):
            self._open()
            self.log.say("started", f"supervising {self.home.path}", owner=self.owner)
            self.recover()
            while not self.over():
                self.turn()
            self._close()
        self.log.say("ended", "restarting" if self.restart else "supervisor ended")
        return self.restart

    def turn(self) -> None:
        """One turn of the loop: wait for something, then look after everything."""
        for key, _ in self.selector.select(self._patience()):
            key.data()
        self.heed_signals()
        self.follow()
        if time.monotonic() >= self._next_tick:
            self._next_tick = time.monotonic() + TICK
            self.reload()
            self.look_at_orphans()
            self.publish()
        self.keep_leases()
        self.claim()

    def over(self) -> bool:
        if self.restart:
            return self.clerk.waiting == 0
        nothing_left = not self.lives and self.clerk.waiting == 0
        return nothing_left and (self.stopping > 0 or self.idle)

    # Starting up: adopt what lives, finish what ended, take back what was lost.

    def recover(self) -> None:
        def each(leased: list[Task] | QueueError) -> None:
            if isinstance(leased, QueueError):
                self._queue_failed(leased)
                self.clerk.ask(find, each)  # nothing is claimed before this has worked
                time.sleep(min(self._queue_pause, 1.0))
                return
            self._queue_healed()
            for task in leased:
                self._take_back(_lease_of(task))
            self.claiming = False
            self.hungry = True

        def find(queue: Queue) -> list[Task]:
            return list(queue.find(Filter(statuses=("in_progress",), leased_by=self.owner)))

        self.claiming = True
        self.clerk.ask(find, each)

    def _take_back(self, lease: Lease) -> None:
        task_dir = self.home.task(lease.task.id)
        run = latest_run(task_dir)
        if run is None or run.spec().id != run_id(lease):
            self.settle(lease, Released(), "claimed, and never started", task_dir)
            return
        ready = make_ready(self.home, self.config, lease, coder=self.coder, shims=self.shims)
        if isinstance(ready, Unfit):
            process.stop(run)
            self.settle(lease, Blocked(note=f"invalid: {ready.why}"), ready.why, task_dir)
            return
        live = Live(lease, run, ready.coder, env=ready.env)
        state = process.state_of(run)
        if isinstance(state, Orphaned):
            self.orphaned[lease.task.id] = lease
        elif isinstance(state, Running) and state.started is not None:
            live.keeper = process.adopt(state.started)
            self.log.say("adopted", f"{lease.task.id}: adopted run {run.number}", task_dir=task_dir)
            self._attend(live)
        elif isinstance(state, Running):
            self.orphaned[lease.task.id] = lease  # its keeper is being born: look again
        else:
            self.finish(live, state)

    def look_at_orphans(self) -> None:
        for task_id, lease in list(self.orphaned.items()):
            del self.orphaned[task_id]
            self._take_back(lease)

    # Work: claim it, start it.

    def claim(self) -> None:
        """Ask for as many tasks as there are free slots, when there may be some."""
        now = time.monotonic()
        if now >= self._next_look:
            self.hungry = True
        if self.claiming or not self.hungry or self.stopping or self.restart:
            return
        free = self.config.max_concurrent - len(self.lives) - len(self.orphaned)
        if free <= 0 or now < self._ask_again or paused(self.home):
            return
        self.claiming, self.hungry = True, False
        self._next_look = now + LOOK_AGAIN
        self.clerk.ask(lambda q: q.claim(self.owner, count=free, ttl=LEASE), self._claimed)

    def _claimed(self, leases: list[Lease] | QueueError) -> None:
        self.claiming = False
        if isinstance(leases, QueueError):
            self._queue_failed(leases)
            return
        self._queue_healed()
        for lease in leases:
            self.start(lease)
        if leases:
            self.hungry = True
        elif self.until_idle and not self.lives:
            self._see_whether_idle()

    def start(self, lease: Lease) -> None:
        """Start the agent of a task that was just claimed, or say why not."""
        task_id, task_dir = lease.task.id, self.home.task(lease.task.id)
        task_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        ready = make_ready(self.home, self.config, lease, coder=self.coder, shims=self.shims)
        if isinstance(ready, Unfit):
            self.settle(lease, Blocked(note=f"invalid: {ready.why}"), ready.why, task_dir)
            return
        until = self.cooling.until(ready.coder.name, utc())
        if until is not None:
            later = until + timedelta(seconds=60 * random.random())  # noqa: S311 - spreads a herd
            why = f"{ready.coder.name} waits for its limit to reset"
            self.settle(lease, Released(not_before=later), why, task_dir)
            return
        live = launch(self.home, self.config, lease, ready)
        if isinstance(live, Unfit):
            self.settle(lease, Blocked(note=live.why), live.why, task_dir)
        elif isinstance(live, Busy):
            # The lease is ours and yet a run lives: an orphan of a keeper that was killed.
            self.orphaned[task_id] = lease
        else:
            live.note("fleet_started", utc(), coder=ready.coder.name, model=ready.coder.model)
            self.log.say(
                "run_started",
                f"{task_id}: run {live.run.number} with {ready.coder.name} in {ready.task.cwd}",
                task_dir=task_dir,
                task=task_id,
                run=live.run.number,
            )
            self._attend(live)

    def _attend(self, live: Live) -> None:
        """Watch a living run: its stream, and its keeper's end."""
        self.lives[live.task_id] = live
        self.watch.add(live.run.path)
        fd = live.keeper.fileno() if live.keeper else None
        if fd is not None:
            self.selector.register(fd, selectors.EVENT_READ, partial(self._keeper_ended, live))
        live.read(utc())

    # Streams: read what is new, act on what it says.

    def follow(self) -> None:
        for directory in self.watch.changed(0):
            live = self.lives.get(directory.parent.parent.name)
            if live is not None:
                self._read(live)
        if self.watch.fileno() is None or not _has_pidfd(self.lives.values()):
            for live in list(self.lives.values()):
                if live.keeper is None or live.keeper.ended():
                    self._keeper_ended(live)

    def _read(self, live: Live) -> None:
        live.read(utc())
        self._mind_the_context(live)

    def _mind_the_context(self, live: Live) -> None:
        reading = live.reading
        window = reading.context_window or live.coder.context_limit
        used = reading.context_tokens or 0
        if (
            live.verdict is None
            and used * 100 >= window * self.config.context_pressure_threshold_pct
        ):
            live.verdict = ContextFull(tokens=used, window=window)
            live.note("context_pressure", utc(), context_tokens=used, context_window=window)
            self.log.say(
                "context_pressure",
                f"{live.task_id}: context at {used} of {window}, going on in a fresh session",
                task_dir=live.run.task_dir,
            )
            process.stop(live.run)

    # Ends: evidence first, then the queue.

    def _keeper_ended(self, live: Live) -> None:
        if live.keeper is not None:
            if not live.keeper.ended():
                return
            fd = live.keeper.fileno()
            if fd is not None:
                self.selector.unregister(fd)
            live.keeper.close()
        self.watch.drop(live.run.path)
        self.lives.pop(live.task_id, None)
        state = process.state_of(live.run)
        if isinstance(state, Orphaned | Running):
            self.orphaned[live.task_id] = live.lease
        else:
            self.finish(live, state)

    def finish(self, live: Live, state: Ended | Vanished | NeverStarted) -> None:
        """A run is over: decide what follows, and tell the queue."""
        ending = end_of(live, state, self.config, utc(), random.random())  # noqa: S311
        live.publish()
        if isinstance(ending.outcome, RateLimited) and isinstance(ending.settlement, Released):
            until = ending.settlement.not_before
            if until is not None:
                self.cooling.cool(live.coder.name, ending.outcome.limit, until)
        live.note("fleet_ended", utc(), outcome=type(ending.outcome).__name__, why=ending.why)
        if live.lost:
            return
        self.settle(live.lease, ending.settlement, ending.why, live.run.task_dir)

    def settle(self, lease: Lease, settlement: Settlement, why: str, task_dir: Path) -> None:
        """Tell the queue what became of a task; again and again until it has heard."""

        def heard(answer: Task | LeaseLost | QueueError) -> None:
            if isinstance(answer, QueueError):
                self._queue_failed(answer)
                retry = partial(self.settle, lease, settlement, why, task_dir)
                time.sleep(min(self._queue_pause, 1.0))
                retry()
                return
            self._queue_healed()
            if isinstance(answer, LeaseLost):
                text = f"{lease.task.id}: not settled, the lease is lost: {answer.why}"
                self.log.say("lease_lost", text, task_dir=task_dir)
            else:
                kind = type(settlement).__name__.lower()
                self.log.say(kind, f"{lease.task.id}: {kind}: {why}", task_dir=task_dir)
            self.hungry = True

        self.clerk.ask(lambda queue: queue.settle(lease, settlement), heard)

    # What people want.

    def _look_at_requests(self) -> None:
        def each(requests: list[Request] | QueueError) -> None:
            if isinstance(requests, QueueError):
                self._queue_failed(requests)
                return
            for request in requests:
                self._obey(request)

        self.clerk.ask(lambda queue: queue.requests(), each)

    def _obey(self, request: Request) -> None:
        if request.wish == "stop":
            live = self.lives.get(request.task_id)
            if live is not None and live.verdict is None:
                live.verdict = Stopped(by=request.asked_by or "a person")
            if live is not None:
                process.stop(live.run, now=request.text == "now")
                self.log.say("stopping", f"{request.task_id}: stopping, as asked")
        self.clerk.ask(lambda queue: queue.answered(request), self._ignore)

    def _ignore(self, answer: object) -> None:
        if isinstance(answer, QueueError):
            self._queue_failed(answer)

    # Leases, settings, signals.

    def keep_leases(self) -> None:
        now = time.monotonic()
        if now < self._next_renew:
            return
        self._next_renew = now + RENEW
        for live in list(self.lives.values()):
            self.clerk.ask(partial(_renew, live.lease), partial(self._renewed, live))

    def _renewed(self, live: Live, answer: Lease | LeaseLost | QueueError) -> None:
        if isinstance(answer, QueueError):
            self._queue_failed(answer)
            self._next_renew = min(self._next_renew, time.monotonic() + self._queue_pause)
        elif isinstance(answer, LeaseLost):
            live.lost = True
            live.verdict = live.verdict or Stopped(by=f"the loss of its lease: {answer.why}")
            process.stop(live.run)
            self.log.say("lease_lost", f"{live.task_id}: stopped, the lease is lost: {answer.why}")
        else:
            live.lease = structs.replace(answer, task=live.lease.task)

    def reload(self) -> None:
        """Apply runtime.toml as it is now; a broken one changes nothing and is reported once."""
        seen = _stamp(self.home.config)
        if seen == self._config_seen:
            return
        self._config_seen = seen
        try:
            fresh = configuration.load(self.home.config)
        except ConfigError as error:
            self.log.say("config_broken", f"settings unchanged: {error.message}")
            return
        if fresh.queue != self.config.queue:
            self.log.say("config", "another queue takes effect after: fleet restart")
            fresh = structs.replace(fresh, queue=self.config.queue)
        self.config = fresh
        self.hungry = True
        self.log.say("config", "settings applied")

    def heed_signals(self) -> None:
        while self._signals:
            number = self._signals.pop(0)
            if number == signal.SIGHUP:
                self.restart = True
                continue
            self.stopping += 1
            word = "stopping the agents" if self.stopping == 1 else "killing the agents"
            self.log.say("stopping", f"{word} ({signal.Signals(number).name})")
            for live in self.lives.values():
                live.verdict = live.verdict or Stopped(by=SHUTDOWN)
                process.stop(live.run, now=self.stopping > 1)

    def publish(self) -> None:
        """Leave word of everything for `fleet status` and `fleet tasks`."""
        for live in self.lives.values():
            live.publish()
        snapshot = Snapshot(
            runs=len(self.lives),
            slots=self.config.max_concurrent,
            queue_problem=self.queue_problem,
            cooling=dict(self.cooling.active(utc())),
            lost_log_lines=self.log.lost,
        )
        if snapshot != self._published:
            self._published = snapshot
            write_snapshot(self.home, snapshot)

    def _queue_failed(self, error: QueueError) -> None:
        if not self.queue_problem:
            self.log.say("queue_failed", f"the queue fails, claiming pauses: {error.message}")
        self.queue_problem = error.message
        self._queue_pause = min(self._queue_pause * 2, LONGEST_PAUSE)
        self._ask_again = time.monotonic() + self._queue_pause
        self.hungry = True

    def _queue_healed(self) -> None:
        if self.queue_problem:
            self.log.say("queue_healed", "the queue answers again")
        self.queue_problem, self._queue_pause, self._ask_again = "", QUEUE_PAUSE, 0.0

    def _see_whether_idle(self) -> None:
        def each(waiting: list[Task] | QueueError) -> None:
            if not isinstance(waiting, QueueError):
                self.idle = not any(task.not_before for task in waiting)

        self.clerk.ask(lambda q: list(q.find(Filter(statuses=("open",)))), each)

    def _rang(self) -> None:
        self.hungry = True
        self.idle = False
        self._look_at_requests()

    def _patience(self) -> float:
        """How long nothing has to be done unless something happens."""
        now = time.monotonic()
        moments = [self._next_tick, self._next_renew]
        if not self.claiming:
            moments.append(self._ask_again if self.hungry and self._ask_again else self._next_look)
        return max(0.0, min(moments) - now)

    def _open(self) -> None:
        ear, mouth = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(mouth, warn_on_full_buffer=False)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda got, _: self._signals.append(got))
        self.selector.register(ear, selectors.EVENT_READ, lambda: os.read(ear, 4096))
        self.selector.register(self.clerk.fileno(), selectors.EVENT_READ, self.clerk.deliver)
        watching = self.watch.fileno()
        if watching is not None:
            self.selector.register(watching, selectors.EVENT_READ, lambda: None)
        self.clerk.rang = self._rang
        self.clerk.start()

    def _close(self) -> None:
        self.publish()
        self.clerk.close()
        self.watch.close()
        self.selector.close()


def utc() -> datetime:
    return datetime.now(UTC)


def _renew(lease: Lease, queue: Queue) -> Lease | LeaseLost:
    return queue.renew(lease, ttl=LEASE)


def _lease_of(task: Task) -> Lease:
    assert task.lease_owner is not None
    assert task.lease_until is not None
    return Lease(task=task, owner=task.lease_owner, fence=task.fence, until=task.lease_until)


def _has_pidfd(lives: object) -> bool:
    return all(live.keeper is not None and live.keeper.fileno() is not None for live in lives)  # type: ignore[attr-defined]


def _stamp(path: Path) -> tuple[int, int, int]:
    try:
        about = path.stat()
    except FileNotFoundError:
        return (0, 0, 0)
    return (about.st_mtime_ns, about.st_size, about.st_ino)
