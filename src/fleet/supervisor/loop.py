"""The loop: one thread, woken by the queue, by growing streams, by ending keepers, by signals."""

import os
import random
import selectors
import signal
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from msgspec import structs

from fleet import config as configuration
from fleet.config import Config
from fleet.errors import ConfigError
from fleet.queue import open_queue
from fleet.queue.base import LeaseLost
from fleet.schemas import (
    Blocked,
    Lease,
    RateLimited,
    Released,
    Request,
    Settlement,
    Stopped,
    Task,
)
from fleet.supervisor.cooling import Cooling
from fleet.supervisor.desk import Desk
from fleet.supervisor.ending import end_of
from fleet.supervisor.launch import Unfit, launch, make_ready, run_id
from fleet.supervisor.live import Live
from fleet.supervisor.log import Log
from fleet.supervisor.process import Busy
from fleet.supervisor.runs import Over, Runs, context_of
from fleet.supervisor.settle import SHUTDOWN, spread
from fleet.supervisor.shims import make_shims
from fleet.supervisor.sole import owner_of, sole_supervisor
from fleet.supervisor.state import Snapshot, paused, write_snapshot
from fleet.taskdir import Home
from fleet.taskdir.rundir import latest_run

#: Nothing rings for a moment that comes: the queue is asked again this often anyway.
LOOK_AGAIN = 5.0
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
        self.log = Log(home.logging, utc, echo)
        self.cooling = Cooling(home.path)
        self.shims = make_shims(home.path)
        self.selector = selectors.DefaultSelector()
        self.runs = Runs(self.selector, utc, self.finish)
        self.desk = Desk(partial(open_queue, home.path, config), owner_of(home), self.log.say)
        #: There may be work: somebody rang, a slot is free, or a moment has come.
        self.hungry = True
        #: How often we were asked to stop: once is polite, twice is at once.
        self.stopping = 0
        self.restart = False
        self.idle = False
        self._signals: list[int] = []
        self._next_tick = self._next_look = 0.0
        self._config_seen = _stamp(home.config)
        self._published: Snapshot | None = None

    def run(self) -> bool:
        """Supervise until the end. True: whoever called shall start a new supervisor."""
        with sole_supervisor(self.home):
            self._open()
            self.log.say("started", f"supervising {self.home.path}", owner=self.desk.owner)
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
            self.look_at_unclear()
            self.publish()
        self.desk.tend()
        self.keep_leases()
        self.claim()

    def over(self) -> bool:
        if self.desk.busy:
            return False
        return self.restart or (len(self.runs) == 0 and (self.stopping > 0 or self.idle))

    # Starting up: adopt what lives, finish what ended, take back what was lost.

    def recover(self) -> None:
        def each(tasks: list[Task]) -> None:
            for task in tasks:
                self.take_back(_lease_of(task))
            self.desk.claiming = False

        self.desk.claiming = True  # nothing is claimed before what we hold is known
        self.desk.leased(each)

    def take_back(self, lease: Lease) -> None:
        """Look after a task that is ours already, whatever became of its run."""
        task_dir = self.home.task(lease.task.id)
        run = latest_run(task_dir)
        if run is None or run.spec().id != run_id(lease):
            self.settle(lease, Released(), "claimed, and never started", task_dir)
            return
        ready = make_ready(self.home, self.config, lease, coder=self.coder, shims=self.shims)
        if isinstance(ready, Unfit):
            # Whatever runs is stopped by `judge`'s next look, once the file is mended or not.
            self.log.say("invalid", f"{lease.task.id}: {ready.why}", task_dir=task_dir)
            self.runs.unclear[lease.task.id] = lease
            return
        live = Live(lease, run, ready.coder, env=ready.env)
        if self.runs.judge(live):
            self.log.say("adopted", f"{lease.task.id}: adopted run {run.number}", task_dir=task_dir)
            self.runs.attend(live)

    def look_at_unclear(self) -> None:
        for task_id, lease in list(self.runs.unclear.items()):
            del self.runs.unclear[task_id]
            self.take_back(lease)

    # Work: claim it, start it.

    def claim(self) -> None:
        """Ask for as many tasks as there are free slots, when there may be some."""
        if time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + LOOK_AGAIN
            self.hungry = True
        free = self.config.max_concurrent - len(self.runs)
        wanted = self.hungry and free > 0 and not (self.stopping or self.restart)
        if not wanted or self.desk.claiming or self.desk.problem or paused(self.home):
            return
        self.hungry = False
        self.desk.claim(free, self._claimed)

    def _claimed(self, leases: list[Lease]) -> None:
        for lease in leases:
            self.start(lease)
        if leases:
            self.hungry = True
        elif self.until_idle and len(self.runs) == 0 and not self.desk.busy:
            self.desk.waiting_tasks(self._note_idle)

    def _note_idle(self, waiting: list[Task]) -> None:
        self.idle = not waiting

    def start(self, lease: Lease) -> None:
        """Start the agent of a task that was just claimed, or say why not."""
        task_dir = self.home.task(lease.task.id)
        task_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        ready = make_ready(self.home, self.config, lease, coder=self.coder, shims=self.shims)
        if isinstance(ready, Unfit):
            self.settle(lease, Blocked(note=f"invalid: {ready.why}"), ready.why, task_dir)
            return
        until = self.cooling.until(ready.coder.name, utc())
        if until is not None:
            later = spread(until, utc(), random.random())  # noqa: S311 - not a secret
            why = f"{ready.coder.name} waits for its limit to reset"
            self.settle(lease, Released(not_before=later), why, task_dir)
            return
        live = launch(self.home, self.config, lease, ready)
        if isinstance(live, Unfit):
            self.settle(lease, Blocked(note=live.why), live.why, task_dir)
        elif isinstance(live, Busy):
            # The lease is ours and yet a run lives: what a killed keeper left behind.
            self.runs.unclear[lease.task.id] = lease
        else:
            live.note("fleet_started", utc(), coder=ready.coder.name, model=ready.coder.model)
            text = f"{live.task_id}: run {live.run.number} with {ready.coder.name}"
            self.log.say("run_started", f"{text} in {ready.task.cwd}", task_dir=task_dir)
            self.runs.attend(live)

    # Streams and ends: evidence first, then the queue.

    def follow(self) -> None:
        for live in self.runs.follow(self.config.context_pressure_threshold_pct):
            full = context_of(live)
            live.note("context_pressure", utc(), tokens=full.tokens, window=full.window)
            text = f"{live.task_id}: context at {full.tokens} of {full.window}, ends this session"
            self.log.say("context_pressure", text, task_dir=live.run.task_dir)
            self.runs.stop(live, full)

    def finish(self, live: Live, state: Over) -> None:
        """A run is over: decide what follows, and tell the queue."""
        ending = end_of(live, state, self.config, utc(), random.random())  # noqa: S311
        live.publish()
        live.note("fleet_ended", utc(), outcome=type(ending.outcome).__name__, why=ending.why)
        if isinstance(ending.outcome, RateLimited) and isinstance(ending.settlement, Released):
            self.cooling.cool(live.coder.name, ending.settlement.not_before or utc())
        if not live.lost:
            self.settle(live.lease, ending.settlement, ending.why, live.run.task_dir)

    def settle(self, lease: Lease, settlement: Settlement, why: str, task_dir: Path) -> None:
        """Tell the queue what became of a task."""

        def heard(answer: Task | LeaseLost) -> None:
            self.hungry = True
            if isinstance(answer, LeaseLost):
                text = f"{lease.task.id}: not settled, the lease is lost: {answer.why}"
                self.log.say("lease_lost", text, task_dir=task_dir)
                return
            kind = type(settlement).__name__.lower()
            self.log.say(kind, f"{lease.task.id}: {kind}: {why}", task_dir=task_dir)

        self.desk.settle(lease, settlement, heard)

    # What people want, and what time brings.

    def rang(self) -> None:
        self.hungry = True
        self.idle = False
        self.desk.requests(self.obey)

    def obey(self, request: Request) -> None:
        live = self.runs.get(request.task_id)
        if request.wish == "stop" and live is not None:
            verdict = Stopped(by=request.asked_by or "a person")
            self.runs.stop(live, verdict, now=request.text == "now")
            self.log.say("stopping", f"{request.task_id}: stopping, as {verdict.by} asked")

    def keep_leases(self) -> None:
        if self.desk.renew_due():
            for live in self.runs:
                self.desk.renew(live.lease, partial(self._renewed, live))

    def _renewed(self, live: Live, answer: Lease | LeaseLost) -> None:
        if not isinstance(answer, LeaseLost):
            live.lease = structs.replace(answer, task=live.lease.task)
            return
        live.lost = True
        self.runs.stop(live, Stopped(by=f"the loss of its lease: {answer.why}"))
        self.log.say("lease_lost", f"{live.task_id}: stopped, the lease is lost: {answer.why}")

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
        self.config = structs.replace(fresh, queue=self.config.queue)
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
            for live in self.runs:
                self.runs.stop(live, Stopped(by=SHUTDOWN), now=self.stopping > 1)

    def publish(self) -> None:
        """Leave word of everything for `fleet status` and `fleet tasks`."""
        for live in self.runs:
            live.publish()
        snapshot = Snapshot(
            runs=len(self.runs),
            slots=self.config.max_concurrent,
            queue_problem=self.desk.problem,
            cooling=dict(self.cooling.active(utc())),
            lost_log_lines=self.log.lost,
        )
        if snapshot != self._published:
            self._published = snapshot
            write_snapshot(self.home, snapshot)

    def _patience(self) -> float:
        """How long nothing has to be done unless something happens."""
        moment = min(self._next_tick, self._next_look, self.desk.next_moment)
        return max(0.0, moment - time.monotonic())

    def _open(self) -> None:
        ear, mouth = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(mouth, warn_on_full_buffer=False)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda got, _: self._signals.append(got))
        clerk = self.desk.clerk
        self.selector.register(ear, selectors.EVENT_READ, lambda: os.read(ear, 4096))
        self.selector.register(clerk.fileno(), selectors.EVENT_READ, clerk.deliver)
        clerk.rang = self.rang
        clerk.start()

    def _close(self) -> None:
        self.publish()
        self.desk.clerk.close()
        self.runs.close()
        self.selector.close()


def utc() -> datetime:
    return datetime.now(UTC)


def _lease_of(task: Task) -> Lease:
    assert task.lease_owner is not None
    assert task.lease_until is not None
    return Lease(task=task, owner=task.lease_owner, fence=task.fence, until=task.lease_until)


def _stamp(path: Path) -> tuple[int, int, int]:
    try:
        about = path.stat()
    except FileNotFoundError:
        return (0, 0, 0)
    return (about.st_mtime_ns, about.st_size, about.st_ino)
