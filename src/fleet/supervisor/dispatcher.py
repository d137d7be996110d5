"""Takes each task in hand from its claim to its settlement, through the stages of the table."""

import selectors
import time
from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path

from fleet.accounts.breaker_store import Breaker
from fleet.config import Config
from fleet.errors import BadInput
from fleet.home import Home
from fleet.home.journal import Log
from fleet.home.status_file import paused
from fleet.runs.outcome_history import Ending, read_ending
from fleet.runs.run_directory import Run, latest_run
from fleet.runs.run_id import RunId
from fleet.schemas import Lease, Stopped
from fleet.schemas.decision import blocked, released
from fleet.settlement.run_record import own_env
from fleet.settlement.settle_table import stopped
from fleet.supervisor.active.assign_account import AccountAssigner
from fleet.supervisor.active.budget_meter import BudgetMeter
from fleet.supervisor.active.follow_runs import RunFollower
from fleet.supervisor.active.message_receipts import MessageReceipts
from fleet.supervisor.active.watch_runs import Watchdog
from fleet.supervisor.adopt_runs import Adoption
from fleet.supervisor.assignments import (
    Assignment,
    Assignments,
    Claimed,
    Finishing,
    Preparing,
    stop_assignment,
)
from fleet.supervisor.capacity import Capacity
from fleet.supervisor.events import Happenings
from fleet.supervisor.finish.finish_run import RunFinisher, Settler
from fleet.supervisor.host.resource_backoff import ResourceBackoff
from fleet.supervisor.host.worker_pool import WorkerPool
from fleet.supervisor.queue_io.queue_requests import QueueRequests
from fleet.supervisor.start.agent_bin import make_programs
from fleet.supervisor.start.launch import SHORT
from fleet.supervisor.start.start_run import RunStarter
from fleet.supervisor.start.workspace import Prepared
from fleet.watchdog.stall_rules import Patience

#: How long starting runs may keep the loop from everything else, in seconds.
_SLICE = 0.02
#: How many runs are inspected at once.
_INSPECTIONS = 64


class Dispatcher:
    """What the supervisor does with the tasks that it holds."""

    def __init__(
        self,
        home: Home,
        config: Config,
        *,
        coder: str | None,
        queue: QueueRequests,
        pool: WorkerPool,
        events: Happenings,
        log: Log,
        clock: Callable[[], datetime],
        selector: selectors.BaseSelector,
        patience: Patience | None = None,
    ) -> None:
        self._home, self._config, self._log = home, config, log
        #: Why all runs are to end; runs that come to light from then on are stopped too.
        self.stopping: Stopped | None = None
        table = self.assignments = Assignments()
        # Threads of their own: an inspection may take minutes, and no other work waits for it.
        inspections = WorkerPool(_INSPECTIONS)
        selector.register(inspections, selectors.EVENT_READ, inspections.deliver)
        breaker = Breaker(home.path)
        meter = BudgetMeter(home, config, log, clock)
        accounts = AccountAssigner(
            home, breaker=breaker, pool=inspections, log=log, env=own_env(),
            spent=meter.spent_by, running=table.by_account, at_work=table.at_work,
        )  # fmt: skip
        self.capacity = Capacity(
            home, config, coder=coder, meter=meter, accounts=accounts, clock=clock
        )
        self.backoff = ResourceBackoff(log)
        self._messages = MessageReceipts(log, clock)
        self._settler = Settler(table, queue, events, log)
        self._finisher = RunFinisher(
            assignments=table, settler=self._settler, capacity=self.capacity,
            breaker=breaker, messages=self._messages, pool=inspections, events=events, log=log,
            clock=clock,
        )  # fmt: skip
        self._watchdog = Watchdog(table, pool, log, clock, patience=patience)
        self.follower = RunFollower(
            table, selector, log, clock,
            accounts=accounts, watchdog=self._watchdog, finish=self._finish,
        )  # fmt: skip
        self._adoption = Adoption(home, table, self.follower, log)
        self.starter = RunStarter(
            home, coder=coder, programs=make_programs(home.path), follower=self.follower, pool=pool,
            settler=self._settler, accounts=accounts, backoff=self.backoff, meter=meter,
            log=log, clock=clock, prepared=self._prepared,
        )  # fmt: skip

    @property
    def next_moment(self) -> float:
        """When there is something to do without an event, on the monotonic clock."""
        start = self.backoff.until if self.has_claims else float("inf")
        return min(self.follower.next_moment, self._adoption.next_moment, start)

    def apply(self, config: Config) -> None:
        """Go by these settings from now on."""
        self._config = config
        self.capacity.apply(config)

    # Start runs, or take up those of an earlier supervisor.

    @property
    def has_claims(self) -> bool:
        """A task is about to be started."""
        return any(isinstance(each.stage, Claimed) for each in self.assignments)

    def start_claimed(self) -> None:
        """Start claimed tasks, for as long as the loop may wait."""
        end = time.monotonic() + _SLICE
        for assignment in self.assignments:
            if time.monotonic() >= end or self.backoff.held:
                return
            if isinstance(assignment.stage, Claimed):
                self._guarded(assignment, self._start)

    def resume(self, lease: Lease) -> None:
        """See to a task that an earlier supervisor held when it ended."""
        self._guarded(self.assignments.take(lease), self._resume)

    def _guarded(self, assignment: Assignment, act: Callable[[Assignment, Path], None]) -> None:
        """Keep one task's fault from the others: the task is blocked, or waits for the machine."""
        try:
            act(assignment, self._home.task(assignment.task_id))
        except BadInput as error:  # an id that cannot name a file
            self._settler.settle(assignment, blocked(f"invalid: {error.message}"))
        except OSError as error:
            why = f"{error.filename or assignment.task_id}: {error.strerror or error}"
            if error.errno in SHORT:
                self.backoff.hold(why)
                self._settler.settle(assignment, released(why))
            else:
                self._settler.settle(assignment, blocked(f"invalid: {why}"))

    def _start(self, assignment: Assignment, task_dir: Path) -> None:
        run = latest_run(task_dir)
        if run is not None and read_ending(run) is None:
            self._adoption.take_up(assignment, run, self._config, self.stopping)
        elif self.stopping is not None:
            why = released("claimed as the supervisor ended")
            self._settler.settle(assignment, why, task_dir)
        elif paused(self._home):
            self._settler.settle(assignment, released("claimed as fleet was paused"), task_dir)
        else:
            self.starter.begin(self._config, assignment, task_dir)

    def _resume(self, assignment: Assignment, task_dir: Path) -> None:
        run = latest_run(task_dir)
        ending = read_ending(run) if run is not None else None
        if run is None or (ending is not None and not _is_of(ending, run, assignment.lease)):
            self._settler.settle(assignment, released("claimed, and never started"), task_dir)
        elif ending is not None:
            self._settler.settle(assignment, ending.decision, task_dir)
        else:
            self._adoption.take_up(assignment, run, self._config, self.stopping)

    def _prepared(self, assignment: Assignment, stage: Preparing, prepared: Prepared) -> None:
        """A task's directory is ready, or cannot be."""
        if (reason := stage.stop_reason or self.stopping) is not None:
            self._settler.settle(assignment, stopped(reason, assignment.task_id))
        elif paused(self._home):
            self._settler.settle(assignment, released("claimed as fleet was paused"))
        else:
            go_on = partial(self.starter.go_on, self._config, stage.ready, prepared)
            self._guarded(assignment, go_on)

    # Follow the runs.

    def follow(self) -> None:
        """Read what runs have printed, act on it, and finish the runs that have ended."""
        self.follower.read(self._config)
        self.follower.see_to_ends()
        self._adoption.look_again(self._config, self.stopping)

    def watch(self, now: float, awake: float) -> None:
        """Hold every run against its budgets, its limits and the stall rules.

        `awake` is `now` on a clock that counts while the machine sleeps.
        """
        for assignment, passed in self.capacity.meter.over_budget(self.assignments):
            stop_assignment(assignment, passed)
        self._watchdog.tick(now, awake)

    def _finish(self, assignment: Assignment, stage: Finishing) -> None:
        self._finisher.finish(assignment, stage, self._config)

    def publish(self) -> None:
        """Write `progress.json` of every run."""
        for assignment, run in self.assignments.runs():
            try:
                self._messages.look(run)
                run.publish(assignment.doing)
            except OSError as error:
                why = f"{error.filename or run.run.path}: {error.strerror or error}"
                self._log.say("disk", f"{run.task_id}: {why}", task_dir=run.run.task_dir)

    # Stop them.

    def stop(self, task_id: str, reason: Stopped, *, now: bool = False) -> bool:
        """End one task's run, or see that it does not begin. False: there is nothing to end."""
        assignment = self.assignments.get(task_id)
        if assignment is None:
            return False
        if isinstance(assignment.stage, Claimed):
            self._settler.settle(assignment, stopped(reason, task_id))
            return True
        return stop_assignment(assignment, reason, now=now)

    def stop_all(self, reason: Stopped, *, now: bool) -> None:
        """End every run, and those that come to light from now on."""
        self.stopping = reason
        for assignment in self.assignments:
            self.stop(assignment.task_id, reason, now=now)


def _is_of(ending: Ending, run: Run, lease: Lease) -> bool:
    """The ending was decided under this very lease."""
    if ending.fence is not None:
        return ending.fence == lease.fence
    return run.spec().id == str(RunId.of(lease))
