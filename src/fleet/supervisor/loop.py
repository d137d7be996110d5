"""The supervisor's loop: one thread, woken by the queue, by streams, by keepers and by signals.

What it does stands in `Supervisor.duties`, in this order:

- `SignalDuty`: stops the runs when the supervisor is told to end;
- `RunFollower`: reads what runs print and notices their ends;
- `RunAdopter`: adopts runs of an earlier supervisor;
- `SettingsDuty`: applies runtime.toml when it has changed;
- `RunStarter`: starts claimed tasks;
- `RunWatch`: has the observers of `fleet.extend.OBSERVERS` check all runs, once a second;
- the duties of optional subjects, as `fleet.extend.DUTIES` names them;
- `StatusDuty`: writes what `fleet status` shows;
- `RequestHandler`: carries out what people asked of a task;
- `WakeDuty`: wakes tasks that were put off;
- `Cleanup`: brings work home and removes what closed tasks left;
- `Claimer`: claims tasks while there are free slots;
- `QueueRetries`: makes failed calls of the queue again;
- `LeaseKeeper`: renews leases and stops runs whose lease is lost.

The loop sleeps until the earliest `next_moment` of a duty, or until something happens.
"""

import selectors
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial

from msgspec import Struct, structs

from fleet import extend
from fleet.coders.trusted_files import untrusted
from fleet.config import Config
from fleet.errors import QueueError
from fleet.extend import Duty
from fleet.files import seals
from fleet.files.machine_short import low_disk
from fleet.home import Home, owner_file
from fleet.home.journal import Log
from fleet.processes.supervisor_lock import refuse_dumps, sole_supervisor
from fleet.queue import open_queue
from fleet.schemas.hosts.lease_terms import ALONE, shared_terms
from fleet.supervisor.active.follow_runs import RunFollower, RunWatch
from fleet.supervisor.adopt_runs import RunAdopter
from fleet.supervisor.claim_work import Claimer
from fleet.supervisor.cleanup import Cleanup
from fleet.supervisor.duties import (
    BlockedTasks,
    QueueRetries,
    SettingsDuty,
    SignalDuty,
    StatusDuty,
    WakeDuty,
    tell_converted,
)
from fleet.supervisor.queue_io.handle_requests import RequestHandler
from fleet.supervisor.queue_io.keep_leases import LeaseKeeper
from fleet.supervisor.queue_io.queue_thread import QueueThread
from fleet.supervisor.shortage import allow_files, set_reserve_aside
from fleet.supervisor.start.start_run import RunStarter
from fleet.supervisor.state import Happening, QueueChanged, SupervisorState


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
    ) -> None:
        config = structs.replace(config, coder=coder or config.coder)
        log = Log(home.logging, utc, echo)
        queue = QueueThread(
            partial(open_queue, home.path, config), log.say,
            owner=owner_file.read_or_make(home),
            terms=shared_terms(config.lease_s) if config.shares_queue else ALONE,
        )  # fmt: skip
        self.selector = selectors.DefaultSelector()
        self.state = state = SupervisorState(home, config, queue=queue, log=log)
        self.queue, self.log, self.shutdown = queue, log, state.shutdown
        optional = tuple(extend.duties(state))
        follower = RunFollower(state, self.selector)
        self.claimer = Claimer(state, until_idle=until_idle, max_idle=max_idle)
        self.blocked = BlockedTasks()
        self.duties: tuple[Duty, ...] = (
            SignalDuty(state, self.selector),
            follower,
            RunAdopter(state, follower),
            SettingsDuty(state, coder),
            RunStarter(state, follower),
            RunWatch(follower),
            *optional,
            StatusDuty(state),
            RequestHandler(state),
            WakeDuty(state),
            self.blocked,
            Cleanup(state),
            self.claimer,
            QueueRetries(queue),
            LeaseKeeper(home, state.assignments, queue, log),
        )

    def run(self) -> SupervisorEnd:
        """Supervise until the end. Raises QueueError: with `until_idle`, and nothing is done before
        a person acts on the queue.
        """
        self._open()
        self.log.say("started", f"supervising {self.state.home.path}", owner=self.queue.owner)
        tell_converted(self.state)
        if left := untrusted(self.state.home.path):
            text = f"not loaded, as no person has trusted their files: {', '.join(left)}"
            self.log.say("coders_untrusted", f"{text}. See: fleet coders trust --help")
        try:
            for duty in self.duties:
                duty.start()
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
            blocked=frozenset(self.blocked.ids),
            waits_for_person=self.claimer.idle and self.claimer.waits_for_person,
        )

    def turn(self) -> None:
        """One turn of the loop: wait until a duty is due or something happens, then call each."""
        for key, _ in self.selector.select(self._idle_seconds()):
            key.data()
        for duty in self.duties:
            while self.state.events:
                self.handle(self.state.events.popleft())
            if self._is_called(duty):
                duty.when_due()

    def handle(self, event: Happening) -> None:
        """Tell every duty of an event."""
        for duty in self.duties:
            duty.on_event(event)

    def _is_called(self, duty: Duty) -> bool:
        return not (duty.begins_work and self.shutdown.requested)

    def _idle_seconds(self) -> float:
        """How long no duty is due unless something happens."""
        if self.state.events:
            return 0.0
        due = min(duty.next_moment for duty in self.duties if self._is_called(duty))
        return max(0.0, due - time.monotonic())

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
        if thread.owing or len(self.state.assignments) > 0:
            return False
        if any(duty.busy for duty in self.duties):
            return False
        return shutdown.stops > 0 or (self.claimer.is_over and not thread.busy)

    def _open(self) -> None:
        allow_files()
        set_reserve_aside(self.state.home)
        seals.begin(self.state.home.path)
        for source in (self.queue, self.state.pool, self.state.inspections):
            self.selector.register(source, selectors.EVENT_READ, source.deliver)
        self.queue.on_change = partial(self.state.events.append, QueueChanged())
        self.queue.start()

    def _close(self) -> None:
        for duty in reversed(self.duties):
            duty.close()
        if self.shutdown.restart:
            self.shutdown.hand_over()
        self.queue.close(self.shutdown.patience)
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
