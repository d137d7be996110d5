"""Keeps the leases of the tasks in hand, and stops the runs whose lease is lost."""

import time
from functools import partial

from msgspec import structs

from fleet.home import Home
from fleet.home.journal import Log
from fleet.queue.protocol import LeaseLost
from fleet.schemas import Lease, Stopped, Task
from fleet.schemas.decision import LEASE_LOST
from fleet.supervisor.assignments import (
    Active,
    Assignment,
    Assignments,
    Claimed,
    Preparing,
    stop_assignment,
)
from fleet.supervisor.queue_io.queue_requests import LEASE, RENEW, QueueRequests


class LeaseKeeper:
    """Renews leases once a minute.

    `shared`: other homes claim from the queue too, so that a lease that ran out may be another's.
    """

    def __init__(
        self, home: Home, assignments: Assignments, queue: QueueRequests, log: Log, *, shared: bool
    ) -> None:
        self._home, self._assignments, self._queue, self._log = home, assignments, queue, log
        self.shared = shared
        self._renew_at = 0.0

    def keep(self) -> None:
        """Renew what is due; on a shared queue stop runs whose lease has run out."""
        now = awake()
        if now >= self._renew_at:
            self._renew_at = now + RENEW
            for assignment in self._assignments:
                if not assignment.renewing:
                    assignment.renewing = True
                    answered = partial(self._renewed, assignment, assignment.lease, now)
                    self._queue.renew(assignment.lease, answered)
        for assignment in self._assignments if self.shared else ():
            if assignment.held_until is None:
                assignment.held_until = now + LEASE.total_seconds()
            elif now >= assignment.held_until:
                why = "the queue could not be reached to renew it"
                self._lose(assignment, assignment.lease, why)

    def compare(self) -> None:
        """Ask the queue which tasks this home holds, and stop those that it does not hold."""
        leases = [(each, each.lease) for each in self._assignments]

        def check(tasks: list[Task]) -> None:
            fences = {task.id: task.fence for task in tasks}
            for assignment, lease in leases:
                if fences.get(assignment.task_id) != lease.fence:
                    self._lose(assignment, lease, "its task was changed from outside")

        if leases:
            self._queue.leased(check)

    def _renewed(
        self, assignment: Assignment, lease: Lease, asked: float, answer: Lease | LeaseLost
    ) -> None:
        assignment.renewing = False
        if isinstance(answer, LeaseLost):
            self._lose(assignment, lease, answer.why)
        elif assignment.lease.fence == lease.fence:
            assignment.lease = structs.replace(answer, task=lease.task)
            assignment.held_until = asked + LEASE.total_seconds()

    def _lose(self, assignment: Assignment, lease: Lease, why: str) -> None:
        """Stop a task in hand, unless it has another lease by now, or is ending anyway."""
        known = self._assignments.get(assignment.task_id) is assignment
        if not known or assignment.lease.fence != lease.fence:
            return
        match assignment.stage:
            case Claimed():
                self._assignments.remove(assignment)
            case Active() | Preparing(stop_reason=None):
                stop_assignment(assignment, Stopped(by=LEASE_LOST))
            case _:
                return
        text = f"{assignment.task_id}: stopped, the lease is lost: {why}"
        self._log.say("lease_lost", text, task_dir=self._home.task(assignment.task_id))


def awake() -> float:
    """Seconds that count while the machine sleeps, as leases do."""
    return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
