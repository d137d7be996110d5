"""Keeps the leases of the tasks in hand, and stops the runs whose lease is lost."""

import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial

from msgspec import structs

from fleet.errors import BadInput, NotFound, Refused
from fleet.extend import Duty
from fleet.home import Home
from fleet.home.journal import Log
from fleet.processes.keeper_client import hold_until
from fleet.queue.protocol import Filter, LeaseLost, Queue
from fleet.schemas import Lease, Stopped, Task
from fleet.schemas.decision import LEASE_LOST
from fleet.supervisor.assignments import (
    Active,
    Arriving,
    Assignment,
    Assignments,
    Claimed,
    Preparing,
    Trying,
    awake,
)
from fleet.supervisor.queue_io.queue_thread import QueueThread
from fleet.supervisor.state import Happening, QueueChanged, QueueReplaced
from fleet.supervisor.stop_runs import stop_assignment

#: Leases are compared with the queue after a change of the queue, and not more often than this.
_COMPARE_AGAIN = 5.0


class LeaseKeeper(Duty):
    """Renews leases. Where other hosts claim from the queue too, a lease that ran out may be
    another's: a run whose lease cannot be renewed is stopped before that.
    """

    def __init__(self, home: Home, assignments: Assignments, queue: QueueThread, log: Log) -> None:
        self._home, self._assignments, self._queue, self._log = home, assignments, queue, log
        self._terms = queue.terms
        self._renew_at = 0.0
        #: When leases are compared with the queue, and when they last were, on the monotonic clock.
        self._compare_at = self._compared_at = 0.0

    @property
    def next_moment(self) -> float:
        return self._compare_at

    def on_event(self, event: Happening) -> None:
        match event:
            case QueueChanged():  # compare with it, but not more often than every few seconds
                self._compare_at = min(self._compare_at, self._compared_at + _COMPARE_AGAIN)
            case QueueReplaced():
                self.compare()
            case _:
                pass

    def when_due(self) -> None:
        now = time.monotonic()
        if now >= self._compare_at:
            self._compare_at, self._compared_at = float("inf"), now
            self.compare()
        self.keep()

    def keep(self) -> None:
        """Renew what is due; on a shared queue stop runs whose lease is about to run out."""
        now = awake()
        is_due = now >= self._renew_at
        if is_due:
            self._renew_at = now + self._terms.renew_every
        for assignment in self._assignments:
            before = self._terms.stop_before(_grace(assignment))
            is_new = assignment.held_until is None
            if assignment.held_until is None:  # of a supervisor before: its renewal will tell
                assignment.held_until = now + self._terms.renew_every + before
            if (is_due or is_new) and not assignment.renewing:
                assignment.renewing = True
                renew = partial(_renew, assignment.lease, self._terms.length)
                self._queue.call(renew, partial(self._renewed, assignment, assignment.lease))
            if self._terms.shared and now >= assignment.held_until - before:
                why = "the queue could not be reached to renew it"
                self._lose(assignment, assignment.lease, why)

    def compare(self) -> None:
        """Ask the queue which tasks this home holds, and stop the others."""
        leases = [(each, each.lease) for each in self._assignments]

        def check(tasks: list[Task]) -> None:
            fences = {task.id: task.fence for task in tasks}
            for assignment, lease in leases:
                if fences.get(assignment.task_id) != lease.fence:
                    self._lose(assignment, lease, "its task was changed from outside")

        if leases:
            held_tasks(self._queue, check)

    def _renewed(
        self, assignment: Assignment, lease: Lease, answered: tuple[float, Lease | LeaseLost]
    ) -> None:
        asked, answer = answered
        assignment.renewing = False
        if isinstance(answer, LeaseLost):
            self._lose(assignment, lease, answer.why)
        elif assignment.lease.fence == lease.fence:
            assignment.lease = structs.replace(answer, task=lease.task)
            assignment.held_until = asked + self._terms.length.total_seconds()
            self._tell_keeper(assignment)

    def _tell_keeper(self, assignment: Assignment) -> None:
        """Have the keeper of a run know how long the lease lasts, also without a supervisor."""
        run = assignment.run
        if not self._terms.shared or run is None or assignment.held_until is None:
            return
        before = self._terms.keeper_stop_before(run.spec.grace)
        try:
            hold_until(run.run, assignment.held_until - before)
        except OSError as error:
            text = f"{assignment.task_id}: {error.filename}: {error.strerror}"
            self._log.say("disk", text, task_dir=run.run.task_dir)

    def _lose(self, assignment: Assignment, lease: Lease, why: str) -> None:
        """Stop a task in hand, unless the task has another lease by now, or is ending anyway."""
        known = self._assignments.get(assignment.task_id) is assignment
        if not known or assignment.lease.fence != lease.fence:
            return
        match assignment.stage:
            case Claimed() | Arriving():
                self._assignments.remove(assignment)
            case Active() | Preparing(stop_reason=None) | Trying(stop_reason=None):
                stop_assignment(assignment, Stopped(by=LEASE_LOST))
            case _:
                return
        text = f"{assignment.task_id}: stopped, the lease is lost: {why}"
        self._log.say("lease_lost", text, task_dir=self._home.task(assignment.task_id))


def held_tasks(queue: QueueThread, then: Callable[[list[Task]], None]) -> None:
    """Ask for the tasks that this home holds; at the start those of the last supervisor."""
    queue.find(Filter(statuses=("in_progress",), leased_by=queue.owner), then)


def _renew(lease: Lease, ttl: timedelta, queue: Queue) -> tuple[float, Lease | LeaseLost]:
    """In the queue's thread: renew a lease; when the queue was asked, on the clock that counts
    sleep, and its answer. A call that fails is made again later, and counts from then.
    """
    asked = awake()
    try:
        return asked, queue.renew(lease, ttl=ttl)
    except (NotFound, Refused, BadInput) as error:  # the task is gone: no failure of the queue
        return asked, LeaseLost(task_id=lease.task.id, why=error.message)


def _grace(assignment: Assignment) -> float:
    """How long the task's agent may take to end."""
    return assignment.run.spec.grace if assignment.run is not None else 0.0
