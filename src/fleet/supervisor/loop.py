"""The loop: one thread, woken by the queue, by growing streams, by ending keepers, by signals."""

import selectors
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

from msgspec import Struct, structs

from fleet import config as configuration
from fleet.coders.trusted_files import untrusted
from fleet.config import Config
from fleet.errors import ConfigError, QueueError
from fleet.files import seals
from fleet.files.machine_short import low_disk
from fleet.files.safe_read import stamp_of
from fleet.home import Home, owner_file
from fleet.home.journal import Log
from fleet.home.status_file import SupervisorStatus, paused, write_status
from fleet.processes.supervisor_lock import refuse_dumps, sole_supervisor
from fleet.queue import open_queue
from fleet.queue.protocol import Filter
from fleet.schemas import Blocked, Closed, Released, Stopped, Task
from fleet.schemas.decision import SHUTDOWN
from fleet.schemas.hosts.lease_terms import ALONE, shared_terms
from fleet.supervisor.active.follow_runs import RunFollower
from fleet.supervisor.active.side_processes import side_processes
from fleet.supervisor.adopt_runs import adopt_tasks, look_again, next_look, stop_orphans
from fleet.supervisor.assignments import awake
from fleet.supervisor.claim_work import Claimer
from fleet.supervisor.cleanup import Cleanup
from fleet.supervisor.hosts.take_part import keep_part, make_heartbeat
from fleet.supervisor.lander import Lander
from fleet.supervisor.queue_io.fire_schedules import ScheduleClock
from fleet.supervisor.queue_io.keep_leases import LeaseKeeper
from fleet.supervisor.queue_io.obey_requests import RequestObeyer
from fleet.supervisor.queue_io.plan_epics import close_left_epics
from fleet.supervisor.queue_io.queue_backups import QueueBackups
from fleet.supervisor.queue_io.queue_thread import QueueThread
from fleet.supervisor.queue_io.reopen_tasks import (
    go_on_if_answered,
    wake_all,
    wake_for_base,
)
from fleet.supervisor.shortage import allow_files, release_reserve, set_reserve_aside
from fleet.supervisor.shutdown import PATIENCE, Shutdown
from fleet.supervisor.start.start_run import RunStarter
from fleet.supervisor.state import (
    Happening,
    LandingEnded,
    QueueChanged,
    SupervisorState,
    TaskSettled,
)
from fleet.supervisor.stop_runs import stop_all
from fleet.supervisor.worker_pool import WorkerPool
from fleet.watchdog.stall_rules import Patience

#: The blocked tasks that are asked at the start whether their question was answered meanwhile.
ANSWERED = Filter(statuses=("blocked",), limit=500)
#: How often settings are read, runs are checked and progress is published.
TICK = 1.0


class LoopMemory(Struct):
    """What the loop remembers from one turn to the next."""

    config_stamp: tuple[int, int, int]
    #: The coder of tasks that name none, whatever the settings say; None: the configured one.
    coder: str | None = None
    #: When the next tick is due, on the monotonic clock.
    tick: float = 0.0
    published: SupervisorStatus | None = None


class SupervisorEnd(Struct, frozen=True, kw_only=True):
    """How a supervisor ended."""

    #: The caller shall start a new supervisor.
    restart: bool = False
    #: Tasks that this supervisor blocked and that are blocked still; and whether others wait for a
    #: person: a budget, a login, a pause.
    blocked: frozenset[str] = frozenset()
    waits_for_person: bool = False


class Supervisor:
    """One home's supervisor. `run` returns once it was stopped, or is idle and was to end then."""

    def __init__(
        self,
        home: Home,
        config: Config,
        *,
        coder: str | None = None,
        until_idle: bool = False,
        max_idle: float = 0.0,
        echo: Callable[[str], None] | None = print,
        patience: Patience | None = None,
    ) -> None:
        config = structs.replace(config, coder=coder or config.coder)
        log = Log(home.logging, utc, echo)
        self.selector = selectors.DefaultSelector()
        pool = WorkerPool()
        self.backups = QueueBackups(home.path, config.queue, pool, log, utc)
        opening = partial(open_queue, home.path, config)
        finishing = partial(opening, later=True)
        queue = QueueThread(
            opening, log.say, self.backups.rescue,
            owner=owner_file.read_or_make(home),
            terms=shared_terms(config.lease_s) if config.shares_queue else ALONE,
        )  # fmt: skip
        heartbeat = make_heartbeat(home, config, log.say)
        self.state = SupervisorState(
            home, config, queue=queue, log=log, now=heartbeat.now,
            pool=pool, heartbeat=heartbeat,
        )  # fmt: skip
        if config.shares_queue:
            self.state.share(finishing)
        self.follower = RunFollower(self.state, self.selector, patience)
        self.starter = RunStarter(self.state, self.follower)
        self.obeyer = RequestObeyer(self.state)
        self.leases = LeaseKeeper(home, self.state.assignments, self.queue, log)
        self.claimer = Claimer(self.state, until_idle=until_idle, max_idle=max_idle)
        self.cleanup = Cleanup(self.state)
        self.lander = Lander(self.state, finishing)
        self.schedules = ScheduleClock(self.state)
        self.beside = side_processes(self.state)
        self.shutdown = Shutdown()
        self._memory = LoopMemory(stamp_of(home.config), coder)
        self._blocked: set[str] = set()

    @property
    def queue(self) -> QueueThread:
        return self.state.queue

    @property
    def log(self) -> Log:
        return self.state.log

    def run(self) -> SupervisorEnd:
        """Supervise until the end. Raises QueueError: with `until_idle`, and nothing is done before
        a person acts on the queue.
        """
        self._open()
        self.log.say("started", f"supervising {self.state.home.path}", owner=self.queue.owner)
        if paused(self.state.home):
            self.claimer.say_paused()
        if left := untrusted(self.state.home.path):
            text = f"not loaded, as no person has trusted their files: {', '.join(left)}"
            self.log.say("coders_untrusted", f"{text}. See: fleet coders trust --help")
        try:
            self.recover()
            while not self.is_over():
                self.turn()
        except BaseException as error:
            self.log.say("crashed", f"the supervisor fails: {type(error).__name__}: {error}")
            raise
        given_up = self._given_up()
        self._close()
        self.log.say("ended", "restarting" if self.shutdown.restart else "supervisor ended")
        if given_up is not None:
            raise given_up
        return SupervisorEnd(
            restart=self.shutdown.restart,
            blocked=frozenset(self._blocked),
            waits_for_person=self.claimer.idle and self.claimer.waits_for_person,
        )

    def turn(self) -> None:
        """One turn of the loop: wait for something, then see to everything."""
        for key, _ in self.selector.select(self._idle_seconds()):
            key.data()
        self.obey_signals()
        self.follower.read()
        self.follower.see_to_ends()
        look_again(self.state, self.follower)
        if not self.shutdown.restart:  # a claimed task is left to the next supervisor
            if self.starter.has_claims:  # settings made before a task was are its settings
                self.reload()
            self.starter.start_claimed()
        if time.monotonic() >= self._memory.tick:
            self._memory.tick = time.monotonic() + TICK
            self.reload()
            self.follower.watch(time.monotonic(), awake())
            self.state.accounts.keep_logins(self.state.config, self.state.now())
            if not self.shutdown.requested:
                for process in self.beside:
                    process.when_due()
            self.publish()
            if self.state.travel is not None:
                self.state.travel.tell_later(self.state.inspections, self.state.heartbeat.name)
            if self.state.heartbeat.server_went_back():
                self.leases.compare()
                # What was settled since is settled again.
                self.leases.leased(partial(adopt_tasks, self.state))
        while self.state.events:
            self.handle(self.state.events.popleft())
        if not self.shutdown.requested:
            self.cleanup.all_when_due()
            self.backups.when_due()
            self.lander.when_due()
            self.schedules.when_due()
            self.claimer.claim()
        self.queue.retry()
        if self.leases.compare_when_due():
            self.starter.read_other_tasks()
        self.leases.keep()

    def handle(self, event: Happening) -> None:
        """What follows from an event."""
        match event:
            case QueueChanged():
                self.claimer.want()
                self.lander.want()
                self.schedules.want()
                self.claimer.idle = False
                self.leases.want_compare()
                self.obeyer.look()
                self.state.heartbeat.look()
                if self.state.travel is not None:
                    self.state.travel.live.look()
            case TaskSettled(task_id, settlement):
                self.claimer.want()
                self.state.tell_hosts(task_id)
                self._blocked.discard(task_id)
                match settlement:
                    case Blocked(to_land=to_land):
                        self.lander.want()  # the work is brought home; or others wait for its files
                        if to_land:
                            return
                        self._blocked.add(task_id)
                    case Released(not_before=moment) if moment is not None:
                        self.claimer.want_at(moment)
                    case _:
                        pass
                if not self.shutdown.stops:
                    self.cleanup.after_run(task_id, closed=isinstance(settlement, Closed))
            case LandingEnded(task_id, closed, asks):
                self.claimer.want()
                self.claimer.idle = False
                self.state.tell_hosts(task_id)
                (self._blocked.add if asks else self._blocked.discard)(task_id)
                wake_for_base(self.state)
                if closed and not self.shutdown.stops:
                    self.cleanup.after_run(task_id, closed=True)

    def _given_up(self) -> QueueError | None:
        """Why a supervisor that is to end when idle ends before: the queue waits for a person, and
        no run is left. What is not settled is for the next supervisor.
        """
        if self.shutdown.requested or not self.claimer.until_idle or self.state.assignments.runs():
            return None
        return self.queue.broken

    def is_over(self) -> bool:
        shutdown, thread = self.shutdown, self.queue
        if self._given_up() is not None:
            return True
        if shutdown.stops > 2:
            return True
        late = time.monotonic() >= shutdown.deadline
        if shutdown.stops and late and low_disk(self.state.home.path):
            return True  # the keepers write down how the runs ended once there is room
        if shutdown.restart or shutdown.stops > 1 or (shutdown.stops and thread.problem):
            # What is not settled in time is for the next supervisor, as after a crash.
            if late and shutdown.stops > 1:
                return True  # keepers were told; a disk that takes nothing must not hold it up
            settled = not thread.owing or late
            return settled and (shutdown.restart or not self.state.assignments.runs())
        if thread.owing or len(self.state.assignments) > 0 or self.cleanup.busy:
            return False
        if self.lander.busy:
            return False
        return shutdown.stops > 0 or (self.claimer.is_over and not thread.busy)

    # Start-up: adopt the runs that live, finish those that ended, stop those of lost tasks.

    def recover(self) -> None:
        def each(tasks: list[Task]) -> None:
            stop_orphans(self.state, {task.id for task in tasks})
            adopt_tasks(self.state, tasks)
            self._memory.tick = 0.0  # published at once: the first tick knew of none of them
            self.claimer.claiming = False
            close_left_epics(self.state)
            self.queue.find(ANSWERED, self.go_on_with_answered)
            wake_all(self.state)
            wake_for_base(self.state)

        self.claimer.claiming = True  # nothing is claimed before it is known what this home holds
        self.starter.read_other_tasks()
        self.leases.leased(each)

    def go_on_with_answered(self, tasks: list[Task]) -> None:
        """Go on with tasks whose answer came as an earlier supervisor was killed."""
        for task in tasks:
            go_on_if_answered(self.state, task, self.state.home.task(task.id))

    # What people and other processes want.

    def obey_signals(self) -> None:
        for number in self.shutdown.drain():
            now = self.shutdown.stops > 1
            release_reserve(self.state.home)  # for the records of how the runs ended
            word = "killing the agents" if now else "stopping the agents"
            self.log.say("stopping", f"{word} ({number.name})")
            self.lander.stop()
            stop_all(self.state, Stopped(by=SHUTDOWN), now=now)

    def reload(self) -> None:
        """Apply the present runtime.toml; a broken one changes nothing and is reported once."""
        stamp = stamp_of(self.state.home.config)
        if stamp == self._memory.config_stamp:
            return
        self._memory.config_stamp = stamp
        try:
            fresh = configuration.load(self.state.home.config)
        except ConfigError as error:
            self.log.say("config_broken", f"settings unchanged: {error.message}")
            return
        queue = self.state.config.queue
        if fresh.queue != queue:
            self.log.say("config", "another queue takes effect after: fleet restart")
        coder = self._memory.coder or fresh.coder
        self.state.apply(structs.replace(fresh, queue=queue, coder=coder))
        self.claimer.want()
        wake_all(self.state)
        wake_for_base(self.state)
        self.log.say("config", "settings applied")

    def publish(self) -> None:
        """Write what `fleet status` and `fleet tasks` show."""
        self.follower.publish()
        keep_part(self.state, ending=self.shutdown.requested)
        status = SupervisorStatus(
            runs=len(self.state.assignments),
            slots=self.state.config.max_concurrent,
            queue_problem=self.queue.problem,
            shortage=self.state.backoff.why,
            budgets=self.state.meter.statuses(),
            on_account=self.state.assignments.tasks_by_account(),
            lost_log_lines=self.log.lost,
        )
        if status != self._memory.published and write_status(self.state.home, status):
            self._memory.published = status

    def _idle_seconds(self) -> float:
        """How long there is nothing to do unless something happens."""
        moments = (
            self._memory.tick,
            self.queue.next_moment,
            self.follower.next_moment,
            next_look(self.state.assignments),
            self.starter.next_moment,
            self.claimer.next_moment,
            self.lander.next_moment,
        )
        return max(0.0, min(moments) - time.monotonic())

    def _open(self) -> None:
        allow_files()
        set_reserve_aside(self.state.home)
        seals.begin(self.state.home.path)
        self.shutdown.listen(self.selector)
        for source in (self.queue, self.state.pool, self.state.inspections):
            self.selector.register(source, selectors.EVENT_READ, source.deliver)
        self.queue.on_change = partial(self.state.events.append, QueueChanged())
        self.queue.start()
        self.state.heartbeat.start()

    def _close(self) -> None:
        self.publish()
        if self.shutdown.restart:
            self.shutdown.hand_over()
        else:
            for process in self.beside:
                process.end()
        patience = PATIENCE if self.shutdown.stops < 2 else 0
        if not self.shutdown.restart:
            if self.state.travel is not None and patience:
                self.state.travel.tell_rest(self.state.heartbeat.name)
            self.state.heartbeat.close(patience)
        self.queue.close(patience)
        self.follower.close()
        self.selector.close()


def supervise(
    home: Home,
    config: Config,
    *,
    coder: str | None = None,
    until_idle: bool = False,
    max_idle: float = 0.0,
    echo: Callable[[str], None] | None = print,
) -> SupervisorEnd:
    """Be the home's supervisor until the end; with `until_idle` that comes `max_idle` seconds after
    the last work. `echo` shows each line of the log; None: the log alone has them.
    """
    refuse_dumps()
    with sole_supervisor(home, coder or ""):
        return Supervisor(
            home, config, coder=coder, until_idle=until_idle, max_idle=max_idle, echo=echo
        ).run()


def utc() -> datetime:
    return datetime.now(UTC)
