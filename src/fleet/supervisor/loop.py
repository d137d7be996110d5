"""The loop: one thread, woken by the queue, by growing streams, by ending keepers, by signals."""

import os
import resource
import selectors
import signal
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

from msgspec import structs

from fleet import config as configuration
from fleet.accounts.resting import all_resting
from fleet.config import Config
from fleet.errors import ConfigError
from fleet.files.safe_read import stamp_of
from fleet.home import Home, owner_file
from fleet.home.journal import Log
from fleet.home.status_file import Snapshot, paused, room, write_snapshot
from fleet.processes.supervisor_lock import sole_supervisor
from fleet.queue import open_queue
from fleet.queue.protocol import LeaseLost
from fleet.schemas import Lease, Request, Stopped, Task
from fleet.schemas.decision import LEASE_LOST, SHUTDOWN, TOLD
from fleet.supervisor.active.active_run import Live
from fleet.supervisor.dispatcher import Work
from fleet.supervisor.host.worker_pool import WorkerPool
from fleet.supervisor.queue_io.queue_requests import LEASE, Desk
from fleet.supervisor.queue_io.queue_thread import Clerk
from fleet.supervisor.queue_io.wake_waiting import wake, wake_next
from fleet.supervisor.start.pending_workspaces import InPreparation
from fleet.supervisor.stop_orphans import stop_strays
from fleet.watchdog.stall_rules import Patience

#: Nothing rings for a moment that comes: the queue is asked again this often anyway.
LOOK_AGAIN = 5.0
#: How often it is asked, at most, where other tasks have their directories, and of how many.
LOOK_AROUND, NEIGHBOURS = 60.0, 500
#: How often settings are looked at and progress is published.
TICK = 1.0
#: How long a queue that does not answer may delay our end.
FAREWELL = 5.0
#: Files that we may hold open: enough for as many runs as can be configured.
FILES = 4096
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


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
        patience: Patience | None = None,
    ) -> None:
        self.home = home
        self.config = config
        self.until_idle = until_idle
        self.log = Log(home.logging, utc, echo)
        self.selector = selectors.DefaultSelector()
        self.desk = Desk(
            Clerk(partial(open_queue, home.path, config)),
            owner_file.read_or_make(home),
            self.log.say,
        )
        self.aside = WorkerPool()
        self.work = Work(
            home, config,
            coder=coder, desk=self.desk, aside=self.aside, log=self.log, clock=utc,
            selector=self.selector, patience=patience,
        )  # fmt: skip
        #: How often we were asked to stop: once is polite, twice is at once.
        self.stopping = 0
        self.restart = False
        self.idle = False
        #: What was last said of being idle: once is enough.
        self._idle_words = ""
        #: The queue has changed since the leases were looked at.
        self._rung = True
        self._signals: list[int] = []
        self._next_tick = self._next_look = self._next_round = self._farewell = 0.0
        #: Other homes claim from this queue too, so a lease that ran out may be another's.
        self._shared = config.queue not in ("embedded", "beads")
        self._config_seen = stamp_of(home.config)
        self._published: Snapshot | None = None

    def run(self) -> bool:
        """Supervise until the end. True: whoever called shall start a new supervisor."""
        self._open()
        self.log.say("started", f"supervising {self.home.path}", owner=self.desk.owner)
        try:
            self.recover()
            while not self.over():
                self.turn()
        except BaseException as error:
            self.log.say("crashed", f"the supervisor fails: {type(error).__name__}: {error}")
            raise
        self._close()
        self.log.say("ended", "restarting" if self.restart else "supervisor ended")
        return self.restart

    def turn(self) -> None:
        """One turn of the loop: wait for something, then look after everything."""
        for key, _ in self.selector.select(self._patience()):
            key.data()
        self.heed_signals()
        self.work.follow()
        self.work.look_again()
        if not self.restart:  # what is claimed is ours, and so the next supervisor's
            if self.work.has_claims:  # settings made before a task was are its settings
                self.reload()
            self.work.start_some()
        if time.monotonic() >= self._next_tick:
            self._next_tick = time.monotonic() + TICK
            self.reload()
            self.work.watch(time.monotonic(), awake())
            self.publish()
        self.desk.tend()
        self.fill_seats()
        self.keep_leases()
        self.claim()

    def over(self) -> bool:
        if self.stopping > 2:
            return True
        if self.restart or self.stopping > 1 or (self.stopping and self.desk.problem):
            # What is not settled in time is for the next supervisor, as after a crash.
            settled = not self.desk.owing or time.monotonic() >= self._farewell
            return settled and (self.restart or len(self.work.runs) == 0)
        if self.desk.owing or len(self.work) > 0 or self.work.tidying.busy:
            return False
        return self.stopping > 0 or (self.idle and not self.desk.busy)

    # Starting up: adopt what lives, finish what ended, take back what was lost.

    def recover(self) -> None:
        def each(tasks: list[Task]) -> None:
            stop_strays(self.home, self.desk.owner, {task.id for task in tasks}, self.log)
            for task in tasks:
                self.work.resume(_lease_of(task))
            self.desk.claiming = False
            self._wake()

        self.desk.claiming = True  # nothing is claimed before what we hold is known
        self.look_around()
        self.desk.leased(each)

    def _wake(self) -> None:
        wake(
            self.desk, self.log, partial(setattr, self.work, "hungry", True),
            of_budget=self.work.meter.has_budget_again, of_account=self.work.has_room,
        )  # fmt: skip

    def fill_seats(self) -> None:
        """Whoever waits for an account that was full need not wait until his time comes."""
        assigner = self.work.assigner
        if assigner.account_freed:
            assigner.account_freed = False
            hungry = partial(setattr, self.work, "hungry", True)
            wake_next(
                self.desk,
                hungry,
                of_account=self.work.has_room,
                nobody=assigner.full_accounts.clear,
            )

    def look_around(self) -> None:
        """Learn where other tasks have their directories: a run has no business there."""
        self._next_round = time.monotonic() + LOOK_AROUND
        self.desk.places(NEIGHBOURS, self.work.look_around)

    # Work: claim it.

    def claim(self) -> None:
        """Ask for as many tasks as there are free slots, when there may be some."""
        if time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + LOOK_AGAIN
            self.work.hungry = True
            if self._rung:
                self._rung = False
                self.look_at_leases()
                if time.monotonic() >= self._next_round:
                    self.look_around()
        free = self.config.max_concurrent - len(self.work)
        wanted = self.work.hungry and free > 0 and not (self.stopping or self.restart)
        if not wanted or self.desk.claiming or self.work.held or paused(self.home):
            return
        if self.work.meter.day_is_spent():
            self.idle = self.until_idle and len(self.work) == 0 and not self.desk.busy
            return
        if not room(self.home):
            self.work.hold(f"the disk of {self.home.path} is almost full")
            return
        self.work.hungry = False
        self.desk.claim(free, self._claimed)

    def _claimed(self, leases: list[Lease]) -> None:
        self.work.take(leases)
        if leases:
            self.work.hungry = True
        elif self.until_idle and len(self.work) == 0 and not self.desk.busy:
            self.desk.waiting_tasks(self._note_idle)

    def _note_idle(self, waiting: list[Task]) -> None:
        held = [why for task in waiting if (why := self.work.waits_for_person(task))]
        self.idle = len(held) == len(waiting)
        if held and self.idle:
            whys = "; ".join(sorted(set(held)))
            text = f"{len(held)} tasks wait, and nothing will open by itself: {whys}: fleet status"
            if text != self._idle_words:
                self.log.say("idle", text)
            self._idle_words = text

    # What people want, and what time brings.

    def rang(self) -> None:
        self.work.hungry = self._rung = True
        self.idle = False
        self.desk.requests(self.ours, self.obey)

    def ours(self, request: Request) -> bool:
        """On a shared queue a wish is for the supervisor that runs the task."""
        return not self._shared or request.task_id in [t.task_id for t in self.work.tended()]

    def obey(self, request: Request) -> None:
        why = Stopped(by=request.asked_by or "a person")
        now = request.text == "now"
        if request.wish == "tell" and self.work.stop(request.task_id, Stopped(by=TOLD), now=False):
            text = f"{request.task_id}: stopping for a message of {why.by}"
            self.log.say("telling", text)
        elif request.wish == "stop" and self.work.stop(request.task_id, why, now=now):
            self.log.say("stopping", f"{request.task_id}: stopping, as {why.by} asked")
        else:
            text = f"{request.task_id}: nothing to {request.wish}"
            self.log.say("ignored", text, asked_by=request.asked_by)

    def keep_leases(self) -> None:
        if self.desk.renew_due(awake()):
            for live in self.work.tended():
                if not live.renewing:
                    live.renewing = True
                    self.desk.renew(live.lease, partial(self._renewed, live, live.lease, awake()))

        for live in self.work.tended() if self._shared else ():
            if live.held_until is None:
                live.held_until = awake() + LEASE.total_seconds()
            elif awake() >= live.held_until:
                self._lose(live, live.lease, "the queue could not be reached to renew it")

    def _renewed(
        self, live: Live | InPreparation, lease: Lease, asked: float, answer: Lease | LeaseLost
    ) -> None:
        live.renewing = False
        if isinstance(answer, LeaseLost):
            self._lose(live, lease, answer.why)
        elif live.lease.fence == lease.fence:
            live.lease = structs.replace(answer, task=lease.task)
            live.held_until = asked + LEASE.total_seconds()

    def look_at_leases(self) -> None:
        """Somebody may have closed or taken what we run: compare, and stop what is not ours."""
        leases = [(live, live.lease) for live in self.work.tended()]

        def compare(tasks: list[Task]) -> None:
            held = {task.id: task.fence for task in tasks}
            for live, lease in leases:
                if held.get(live.task_id) != lease.fence:
                    self._lose(live, lease, "its task was changed from outside")

        if leases:
            self.desk.leased(compare)

    def _lose(self, live: Live | InPreparation, lease: Lease, why: str) -> None:
        """Stop a run that may have lost its lease, unless it has another by now, or is over."""
        if live.lease.fence != lease.fence or not self.work.lose(live, Stopped(by=LEASE_LOST)):
            return
        text = f"{live.task_id}: stopped, the lease is lost: {why}"
        self.log.say("lease_lost", text, task_dir=self.home.task(live.task_id))

    def reload(self) -> None:
        """Apply runtime.toml as it is now; a broken one changes nothing and is reported once."""
        seen = stamp_of(self.home.config)
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
        self.work.apply(self.config)
        self.work.hungry = True
        self._wake()
        self.log.say("config", "settings applied")

    def heed_signals(self) -> None:
        while self._signals:
            number = self._signals.pop(0)
            self._farewell = time.monotonic() + FAREWELL
            if number == signal.SIGHUP:
                self.restart = not self.stopping
                continue
            self.stopping += 1
            self.restart = False
            word = "stopping the agents" if self.stopping == 1 else "killing the agents"
            self.log.say("stopping", f"{word} ({signal.Signals(number).name})")
            self.work.stop_all(Stopped(by=SHUTDOWN), now=self.stopping > 1)

    def publish(self) -> None:
        """Leave word of everything for `fleet status` and `fleet tasks`."""
        self.work.publish()
        snapshot = Snapshot(
            runs=len(self.work),
            slots=self.config.max_concurrent,
            queue_problem=self.desk.problem,
            shortage=self.work.shortage,
            cooling=all_resting(self.work.assigner.accounts.states, self.config, utc()),
            budgets=self.work.meter.statuses,
            on_account=self.work.on_accounts(),
            lost_log_lines=self.log.lost,
        )
        if snapshot != self._published and write_snapshot(self.home, snapshot):
            self._published = snapshot

    def _patience(self) -> float:
        """How long nothing has to be done unless something happens."""
        own = min(self._next_tick, self._next_look)
        return max(0.0, min(own, self.desk.next_moment, self.work.next_moment) - time.monotonic())

    def _open(self) -> None:
        _allow_files()
        ear, mouth = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(mouth, warn_on_full_buffer=False)
        for number in SIGNALS:
            signal.signal(number, lambda got, _: self._signals.append(got))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        clerk = self.desk.clerk
        self.selector.register(ear, selectors.EVENT_READ, lambda: os.read(ear, 4096))
        self.selector.register(clerk.fileno(), selectors.EVENT_READ, clerk.deliver)
        self.selector.register(self.aside, selectors.EVENT_READ, self.aside.deliver)
        clerk.rang = self.rang
        clerk.start()

    def _close(self) -> None:
        self.publish()
        if self.restart:
            # Nobody is there to hear a signal between us and our successor: it hears them all.
            signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
            for number in self._signals:
                os.kill(os.getpid(), number)
        self.desk.clerk.close(FAREWELL if self.stopping < 2 else 0)
        self.work.runs.close()
        self.selector.close()


def supervise(
    home: Home,
    config: Config,
    *,
    coder: str | None = None,
    until_idle: bool = False,
    echo: Callable[[str], None] = print,
) -> bool:
    """Be the home's supervisor until the end. True: a new one shall take over."""
    with sole_supervisor(home, coder or ""):
        return Supervisor(home, config, coder=coder, until_idle=until_idle, echo=echo).run()


def utc() -> datetime:
    return datetime.now(UTC)


def awake() -> float:
    """Seconds that count while the machine sleeps, as leases do."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def _allow_files() -> None:
    """A living run takes a descriptor, and many systems begin with 1024 of them, or 256."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _lease_of(task: Task) -> Lease:
    assert task.lease_owner is not None
    assert task.lease_until is not None
    return Lease(task=task, owner=task.lease_owner, fence=task.fence, until=task.lease_until)
