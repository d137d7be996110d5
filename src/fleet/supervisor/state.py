"""What the parts of one supervisor share: settings, the tasks in hand, the ways to the outside."""

from collections import deque
from collections.abc import Callable
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct

from fleet import extend
from fleet.config import Config
from fleet.home import Home
from fleet.home.journal import Log
from fleet.queue import open_queue
from fleet.schemas import Settlement
from fleet.settlement.run_record import own_env
from fleet.supervisor.active.assign_account import AccountAssigner
from fleet.supervisor.active.budget_meter import BudgetMeter
from fleet.supervisor.assignments import Assignment, Assignments
from fleet.supervisor.hosts.heartbeat import Heartbeat, NoHosts
from fleet.supervisor.hosts.host_travel import HostTravel
from fleet.supervisor.queue_io.queue_thread import QueueThread
from fleet.supervisor.shortage import ResourceBackoff
from fleet.supervisor.shutdown import Shutdown
from fleet.supervisor.worker_pool import WorkerPool

if TYPE_CHECKING:
    from fleet.queue.protocol import Queue
    from fleet.supervisor.active.observe_runs import Observers

#: How many runs are inspected at once.
_INSPECTIONS = 64


class Happening(Struct, frozen=True):
    """What duties hear of; optional subjects have kinds of their own."""


class QueueChanged(Happening, frozen=True):
    """Another process may have changed the queue."""


class QueueReplaced(Happening, frozen=True):
    """The queue is a copy of an earlier state, so leases and settlements may be unknown to it."""


class Recovered(Happening, frozen=True):
    """The tasks that this home held at the start are in hand."""


class SettingsApplied(Happening, frozen=True):
    """Other settings are in force."""


class StopRequested(Happening, frozen=True):
    """The supervisor was told to stop; all runs are stopped."""


class TaskSettled(Happening, frozen=True):
    """The queue knows what became of a task, so that there is a free slot."""

    task_id: str
    #: None: the lease was lost, and with it the say over the task.
    settlement: Settlement | None


class LandingEnded(Happening, frozen=True):
    """The lander has done with a task: the work has landed, went back, or waits for a person."""

    task_id: str
    closed: bool = False
    asks: bool = False


class SupervisorState:
    """One supervisor's state."""

    def __init__(
        self,
        home: Home,
        config: Config,
        *,
        queue: QueueThread,
        log: Log,
        now: Callable[[], datetime] | None = None,
        heartbeat: Heartbeat | NoHosts | None = None,
    ) -> None:
        self.home, self.config = home, config
        #: What the supervisor was told to do by signals.
        self.shutdown = Shutdown()
        #: This supervisor among the hosts of a shared queue.
        self.heartbeat = heartbeat or NoHosts()
        #: On a queue that hosts share: what goes from host to host; None: there is one host.
        self.travel: HostTravel | None = None
        self.queue, self.log = queue, log
        #: The time by the queue's clock, which counts for all hosts.
        self.now = now or self._now
        self.assignments = Assignments()
        #: What happened since the last turn of the loop, oldest first.
        self.events: deque[Happening] = deque()
        self.pool = WorkerPool()
        # Threads of their own: an inspection may take minutes, and no other work waits for it.
        self.inspections = WorkerPool(_INSPECTIONS)
        self.backoff = ResourceBackoff(log)
        self.meter = BudgetMeter(home, config, log, self.now)
        self.accounts = AccountAssigner(
            home, pool=self.inspections, log=log, env=own_env(),
            assignments=self.assignments, meter=self.meter,
        )  # fmt: skip

    def share(self, heartbeat: Heartbeat) -> HostTravel:
        """Other hosts work on the queue too: tasks and what is known of them travel."""
        living, me = self.assignments.living, self.queue.owner
        self.heartbeat = heartbeat
        self.travel = HostTravel(self.home, self.config, self.open_queue, living, self.log, me=me)
        return self.travel

    def open_queue(self) -> "Queue":
        """Open the queue for a thread beside the loop."""
        return open_queue(self.home.path, self.config, later=True)

    def _now(self) -> datetime:
        return self.heartbeat.now()

    def keep_words(self, assignment: Assignment) -> None:
        """Have the other hosts know what people said to the task's agent, if there are any."""
        if self.travel is not None:
            self.travel.keep_words(assignment.lease, self.queue)

    @cached_property
    def observers(self) -> "Observers":
        """What follows the runs; made from the whole state."""
        from fleet.supervisor.active.observe_runs import Observers

        return Observers(extend.observers(self))

    def apply(self, config: Config) -> None:
        """Go by these settings from now on."""
        self.config = config
        self.meter.apply(config)
