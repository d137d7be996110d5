"""The Queue protocol: the few verbs that the supervisor and the surfaces need of any queue.

Three queues keep it (embedded, PostgreSQL, beads), and one contract test class holds all
three to the same meaning. Synchronous on purpose: a claim takes well under a millisecond on
SQL, and a caller that must not block calls the queue from a thread.
"""

import os
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, Protocol

from msgspec import Struct, field

from fleet.errors import FleetError
from fleet.queue.schedules import ScheduleTable
from fleet.schemas import Comment, Edge, Lease, Offer, Request, Settlement, Status, Task, Wish
from fleet.schemas.waits import Waits

Clock = Callable[[], datetime]


class Draft(Struct, frozen=True, kw_only=True):
    """A task that does not exist yet."""

    title: str
    description: str = ""
    priority: int = 2
    issue_type: str = "task"
    labels: tuple[str, ...] = ()
    #: (type, id) pairs: the new task depends on each id. ("blocks", id) is the ordinary one.
    depends_on: tuple[tuple[str, str], ...] = ()
    #: Tasks that shall wait for the new one.
    blocks: tuple[str, ...] = ()
    parent: str | None = None
    inherit_labels: bool = True
    assignee: str = ""
    owner: str = ""
    created_by: str = ""
    design: str = ""
    acceptance_criteria: str = ""
    notes: str = ""
    spec_id: str = ""
    external_ref: str | None = None
    estimated_minutes: int | None = None
    due_at: datetime | None = None
    defer_until: datetime | None = None
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    #: An id to use instead of a new one; refused if it is taken.
    id: str | None = None


class LeaseLost(Struct, frozen=True, kw_only=True):
    """A write under a lease that is no longer ours changed nothing; this says why."""

    task_id: str
    why: str


def lost_lease(
    lease: Lease, status: str | None, holder: str | None, fence: int, *, called: str = ""
) -> LeaseLost:
    """Why a lease no longer holds. `status` is the task's, None: there is no such task; `holder`
    has the task now, and people call it `called`.
    """
    if status is None:
        why = "the task was deleted"
    elif holder is None:
        why = f"the task is {status} and not claimed"
    elif holder == lease.owner:
        why = f"a later claim by {holder} holds it (fence {fence})"
    else:
        why = f"{called or holder} holds it"
    return LeaseLost(task_id=lease.task.id, why=why)


def new_request(task_id: str, wish: Wish, *, text: str, asked_by: str, at: datetime) -> Request:
    """A wish for the supervisor under an id that no other has."""
    id_ = os.urandom(16).hex()
    return Request(id=id_, task_id=task_id, wish=wish, text=text, asked_by=asked_by, asked_at=at)


class Filter(Struct, frozen=True, kw_only=True):
    """Which tasks to find. An empty filter finds every task that is not closed."""

    statuses: tuple[Status, ...] = ()
    include_closed: bool = False
    ids: tuple[str, ...] = ()
    leased_by: str | None = None
    #: The tasks of one spec, closed ones too: their `spec_id` is this text, or goes on with `#`.
    spec: str | None = None
    #: Only tasks that were closed at this moment or later.
    closed_since: datetime | None = None
    #: Only tasks that could be worked on now.
    ready: bool = False
    limit: int | None = None


class Queue(Protocol):
    """One central queue of tasks. Only the holder of a lease may settle it."""

    @property
    def schedules(self) -> ScheduleTable:
        """The lines of cron that create tasks."""
        ...

    def add(self, draft: Draft) -> Task:
        """Put a task in the queue, durably."""
        ...

    def claim(
        self, owner: str, *, count: int = 1, ttl: timedelta, offer: Offer | None = None
    ) -> list[Lease]:
        """Lease up to `count` ready tasks, best first: priority, then oldest.

        Also takes a task whose lease ran out. Epics and tasks with another assignee
        are left alone, and where hosts share the queue so are tasks that need something
        that is not in the host's `offer`. The run that the lease is for has the number
        `lease.task.runs`, where the queue counts runs.
        """
        ...

    def renew(self, lease: Lease, *, ttl: timedelta) -> Lease | LeaseLost:
        """Hold a lease for longer."""
        ...

    def settle(
        self, settlements: Sequence[tuple[Lease, Settlement]]
    ) -> list[LeaseLost | FleetError | None]:
        """End leases, each separately; returns the answer to each in turn, or the error that kept
        that lease from being ended. Raises QueueError only if none was ended.

        Under a lost lease nothing changes, and the answer says so. A queue that counts runs and
        attempts takes the counts of `lease.task`.
        """
        ...

    def request(self, task_id: str, wish: Wish, *, text: str = "", asked_by: str = "") -> Request:
        """Leave a wish for the supervisor."""
        ...

    def requests(self) -> list[Request]:
        """The wishes that wait to be carried out, oldest first."""
        ...

    def answered(self, request: Request) -> None:
        """Mark a wish as carried out."""
        ...

    def reopen_task(
        self,
        task: Task,
        *,
        by: str,
        note: str = "",
        waits: Waits | None = None,
        anew: bool = False,
    ) -> Task:
        """Put a task back, unassigned and without a moment to wait for: open, or blocked for what
        it `waits` for. `note` is added to the notes.

        `anew`: its attempts are counted anew, and every host may try it.
        Refused if the task was changed since it was read, so that no claim is undone.
        """
        ...

    def close_task(self, task: Task, *, by: str, reason: str) -> Task:
        """Close a task in a person's name, whatever lease the task is under.

        Refused if the task was changed since it was read, or may not be closed.
        """
        ...

    def add_metadata(self, task_id: str, metadata: dict[str, Any]) -> None:
        """Add keys to a task's metadata, or replace those keys."""
        ...

    def counts(self) -> dict[str, int]:
        """How many tasks there are of each status."""
        ...

    def get(self, task_id: str) -> Task:
        """One task by the whole id. Raises NotFound."""
        ...

    def blockers(self, task_id: str) -> Sequence[Task]:
        """The open tasks that this one waits for by a direct dependency."""
        ...

    def edges(self, ids: Sequence[str]) -> Sequence[Edge]:
        """What these tasks depend on, and what depends on them."""
        ...

    def comments(self, task_id: str) -> Sequence[Comment]:
        """What was said about a task, oldest first."""
        ...

    def find(self, want: Filter) -> Sequence[Task]:
        """Tasks in queue order: priority, then oldest."""
        ...

    def wait(self, timeout: timedelta) -> bool:
        """Sleep until the queue may have changed (True) or the time is over (False)."""
        ...

    def close(self) -> None:
        """Let go of files and connections. The queue itself stays."""
        ...
