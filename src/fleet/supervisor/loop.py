"""The loop: one thread, woken by the queue, by growing streams, by ending keepers, by signals."""

import resource
import selectors
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

from msgspec import Struct, structs

from fleet import config as configuration
from fleet.config import Config
from fleet.errors import ConfigError
from fleet.files.safe_read import stamp_of
from fleet.home import Home, owner_file
from fleet.home.journal import Log
from fleet.home.status_file import SupervisorStatus, paused, write_status
from fleet.processes.supervisor_lock import sole_supervisor
from fleet.queue import open_queue
from fleet.schemas import Lease, Request, Stopped, Task
from fleet.schemas.decision import SHUTDOWN, TOLD
from fleet.supervisor.claim_work import ASK_AGAIN, Claimer
from fleet.supervisor.cleanup import Cleanup
from fleet.supervisor.dispatcher import Dispatcher
from fleet.supervisor.events import (
    AccountFreed,
    Happening,
    Happenings,
    QueueChanged,
    TaskSettled,
    TasksWoken,
)
from fleet.supervisor.host.worker_pool import WorkerPool
from fleet.supervisor.keep_leases import LeaseKeeper, awake
from fleet.supervisor.queue_io.queue_requests import QueueRequests, QueueThread
from fleet.supervisor.queue_io.wake_waiting import wake, wake_next
from fleet.supervisor.shutdown import PATIENCE, Shutdown
from fleet.supervisor.stop_orphans import stop_orphans
from fleet.watchdog.stall_rules import Patience

#: How often at most the directories of other tasks are read from the queue, and of how many.
OTHER_TASKS_EVERY, OTHER_TASKS = 60.0, 500
#: How often settings are read, runs are checked and progress is published.
TICK = 1.0
#: Open files that the supervisor may need: enough for as many runs as can be configured.
FILES = 4096


class Timers(Struct):
    """When the loop does what no event announces, on the monotonic clock."""

    tick: float = 0.0
    #: Leases are compared with the queue after it changed, and not more often than it is asked.
    compare_leases: float = 0.0
    leases_compared: float = 0.0
    read_other_tasks: float = 0.0


class Supervisor:
    """One home's supervisor. `run` returns once it was stopped, or is idle and was to end then."""

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
        self.log = Log(home.logging, utc, echo)
        self.selector = selectors.DefaultSelector()
        self.events = Happenings()
        thread = QueueThread(partial(open_queue, home.path, config), self.log.say)
        self.queue = QueueRequests(thread, owner_file.read_or_make(home))
        self.pool = WorkerPool()
        self.dispatcher = Dispatcher(
            home, config,
            coder=coder, queue=self.queue, pool=self.pool, events=self.events, log=self.log,
            clock=utc, selector=self.selector, patience=patience,
        )  # fmt: skip
        self.leases = LeaseKeeper(
            home, self.dispatcher.assignments, self.queue, self.log,
            shared=config.queue not in ("embedded", "beads"),
        )  # fmt: skip
        self.claimer = Claimer(
            home, self.dispatcher, self.queue, self.log, utc, until_idle=until_idle
        )
        self.cleanup = Cleanup(home, self.queue, self.pool, self.log, utc)
        self.shutdown = Shutdown()
        self._timers = Timers()
        self._config_stamp = stamp_of(home.config)
        self._published: SupervisorStatus | None = None

    def run(self) -> bool:
        """Supervise until the end. True: the caller shall start a new supervisor."""
        self._open()
        self.log.say("started", f"supervising {self.home.path}", owner=self.queue.owner)
        if paused(self.home):
            self.log.say("paused", "paused: no run begins. To go on: fleet resume")
        try:
            self.recover()
            while not self.is_over():
                self.turn()
        except BaseException as error:
            self.log.say("crashed", f"the supervisor fails: {type(error).__name__}: {error}")
            raise
        self._close()
        self.log.say("ended", "restarting" if self.shutdown.restart else "supervisor ended")
        return self.shutdown.restart

    def turn(self) -> None:
        """One turn of the loop: wait for something, then see to everything."""
        for key, _ in self.selector.select(self._idle_seconds()):
            key.data()
        self.obey_signals()
        self.dispatcher.follow()
        if not self.shutdown.restart:  # a claimed task is left to the next supervisor
            if self.dispatcher.has_claims:  # settings made before a task was are its settings
                self.reload()
            self.dispatcher.start_claimed()
        if time.monotonic() >= self._timers.tick:
            self._timers.tick = time.monotonic() + TICK
            self.reload()
            self.dispatcher.watch(time.monotonic(), awake())
            self.publish()
        for event in self.events.drain():
            self.handle(event)
        if not self.shutdown.requested:
            self.cleanup.all_when_due()
            self.claimer.claim(self.config.max_concurrent)
        self.queue.thread.retry()
        self.compare_leases()
        self.leases.keep()

    def handle(self, event: Happening) -> None:
        """What follows from an event."""
        match event:
            case QueueChanged():
                self.claimer.want()
                self.claimer.idle = False
                due = self._timers.leases_compared + ASK_AGAIN
                self._timers.compare_leases = min(self._timers.compare_leases, due)
                self.queue.requests(self.is_ours, self.obey)
            case TaskSettled(task_id, closed, not_before):
                self.claimer.want()
                if not_before is not None:
                    self.claimer.want_at(not_before)
                if closed and not self.shutdown.stops:
                    self.cleanup.after_close(task_id)
            case AccountFreed():
                capacity = self.dispatcher.capacity
                wake_next(
                    self.queue, partial(self.events.post, TasksWoken()),
                    of_account=capacity.has_account_again,
                    none_waits=capacity.accounts.full_accounts.clear,
                )  # fmt: skip
            case TasksWoken():
                self.claimer.want()

    def is_over(self) -> bool:
        shutdown, thread = self.shutdown, self.queue.thread
        if shutdown.stops > 2:
            return True
        if shutdown.restart or shutdown.stops > 1 or (shutdown.stops and thread.problem):
            # What is not settled in time is for the next supervisor, as after a crash.
            settled = not thread.owing or time.monotonic() >= shutdown.deadline
            return settled and (shutdown.restart or not self.dispatcher.assignments.runs())
        if thread.owing or len(self.dispatcher.assignments) > 0 or self.cleanup.busy:
            return False
        return shutdown.stops > 0 or (self.claimer.idle and not thread.busy)

    # Start-up: adopt the runs that live, finish those that ended, stop those of lost tasks.

    def recover(self) -> None:
        def each(tasks: list[Task]) -> None:
            stop_orphans(self.home, self.queue.owner, {task.id for task in tasks}, self.log)
            for task in tasks:
                self.dispatcher.resume(_lease_of(task))
            self.queue.claiming = False
            self.wake_all()

        self.queue.claiming = True  # nothing is claimed before it is known what this home holds
        self.read_other_tasks()
        self.queue.leased(each)

    def wake_all(self) -> None:
        """Wake the tasks that were put off and have room now."""
        capacity = self.dispatcher.capacity
        wake(
            self.queue, self.log, partial(self.events.post, TasksWoken()),
            of_budget=capacity.meter.has_budget_again, of_account=capacity.has_account_again,
        )  # fmt: skip

    def read_other_tasks(self) -> None:
        """Learn where other tasks have their directories: a run has no business there."""
        self._timers.read_other_tasks = time.monotonic() + OTHER_TASKS_EVERY
        self.queue.places(OTHER_TASKS, self.dispatcher.starter.learn_other_tasks)

    # What people and other processes want.

    def is_ours(self, request: Request) -> bool:
        """On a shared queue a request is for the supervisor that runs the task."""
        in_hand = self.dispatcher.assignments.get(request.task_id) is not None
        return in_hand or not self.leases.shared

    def obey(self, request: Request) -> None:
        by = request.asked_by or "a person"
        stop = partial(self.dispatcher.stop, request.task_id)
        if request.wish == "tell" and stop(Stopped(by=TOLD)):
            text = f"{request.task_id}: stopping for a message of {by}"
            self.log.say("telling", text)
        elif request.wish == "stop" and stop(Stopped(by=by), now=request.text == "now"):
            self.log.say("stopping", f"{request.task_id}: stopping, as {by} asked")
        else:
            text = f"{request.task_id}: nothing to {request.wish}"
            self.log.say("ignored", text, asked_by=request.asked_by)

    def obey_signals(self) -> None:
        for number in self.shutdown.drain():
            now = self.shutdown.stops > 1
            word = "killing the agents" if now else "stopping the agents"
            self.log.say("stopping", f"{word} ({number.name})")
            self.dispatcher.stop_all(Stopped(by=SHUTDOWN), now=now)

    def compare_leases(self) -> None:
        """After a change of the queue: stop runs whose task was closed or taken from outside."""
        now = time.monotonic()
        if now < self._timers.compare_leases:
            return
        self._timers.compare_leases, self._timers.leases_compared = float("inf"), now
        self.leases.compare()
        if now >= self._timers.read_other_tasks:
            self.read_other_tasks()

    def reload(self) -> None:
        """Apply runtime.toml as it is now; a broken one changes nothing and is reported once."""
        stamp = stamp_of(self.home.config)
        if stamp == self._config_stamp:
            return
        self._config_stamp = stamp
        try:
            fresh = configuration.load(self.home.config)
        except ConfigError as error:
            self.log.say("config_broken", f"settings unchanged: {error.message}")
            return
        if fresh.queue != self.config.queue:
            self.log.say("config", "another queue takes effect after: fleet restart")
        self.config = structs.replace(fresh, queue=self.config.queue)
        self.dispatcher.apply(self.config)
        self.claimer.want()
        self.wake_all()
        self.log.say("config", "settings applied")

    def publish(self) -> None:
        """Write what `fleet status` and `fleet tasks` show."""
        self.dispatcher.publish()
        status = SupervisorStatus(
            runs=len(self.dispatcher.assignments),
            slots=self.config.max_concurrent,
            queue_problem=self.queue.thread.problem,
            shortage=self.dispatcher.backoff.why,
            budgets=self.dispatcher.capacity.meter.statuses,
            on_account=self.dispatcher.assignments.tasks_by_account(),
            lost_log_lines=self.log.lost,
        )
        if status != self._published and write_status(self.home, status):
            self._published = status

    def _idle_seconds(self) -> float:
        """How long there is nothing to do unless something happens."""
        moments = (
            self._timers.tick,
            self.queue.thread.next_moment,
            self.dispatcher.next_moment,
            self.claimer.next_moment,
        )
        return max(0.0, min(moments) - time.monotonic())

    def _open(self) -> None:
        _allow_files()
        self.shutdown.listen(self.selector)
        thread = self.queue.thread
        self.selector.register(thread, selectors.EVENT_READ, thread.deliver)
        self.selector.register(self.pool, selectors.EVENT_READ, self.pool.deliver)
        thread.on_change = partial(self.events.post, QueueChanged())
        thread.start()

    def _close(self) -> None:
        self.publish()
        if self.shutdown.restart:
            self.shutdown.hand_over()
        self.queue.thread.close(PATIENCE if self.shutdown.stops < 2 else 0)
        self.dispatcher.follower.close()
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
    with sole_supervisor(home):
        return Supervisor(home, config, coder=coder, until_idle=until_idle, echo=echo).run()


def utc() -> datetime:
    return datetime.now(UTC)


def _allow_files() -> None:
    """Raise the limit of open files: each run takes one, and many systems begin with 256."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _lease_of(task: Task) -> Lease:
    assert task.lease_owner is not None
    assert task.lease_until is not None
    return Lease(task=task, owner=task.lease_owner, fence=task.fence, until=task.lease_until)
