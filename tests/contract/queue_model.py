"""A queue as plain dictionaries, and a machine that drives a real queue beside it.

The model is the meaning of the protocol in its simplest form; after every step the two must
agree on each task's status, lease and fence, and on the order of ready work.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from fleet.queue.protocol import Draft, Filter, LeaseLost, Queue
from fleet.schemas import Blocked, Closed, Lease, Released
from fleet.schemas.waits import SetAside
from tests.contract.queue_contract import ManualClock
from tests.settled import settle

OWNERS = ("a", "b")
#: Few and round, so that ends of leases and steps of time meet.
SPANS = st.sampled_from([timedelta(seconds=s) for s in (30, 60, 61, 300)])


@dataclass
class Known:
    """What the model knows of one task."""

    id: str
    number: int
    priority: int
    kind: str
    assignee: str
    parent: str | None
    waits_for: tuple[str, ...]
    status: str = "open"
    not_before: datetime | None = None
    fence: int = 0
    holder: str | None = None
    until: datetime | None = None

    @property
    def order(self) -> tuple[int, int]:
        return (self.priority, self.number)


@dataclass
class Model:
    now: Callable[[], datetime]
    tasks: dict[str, Known] = field(default_factory=dict)

    def held_up(self, task: Known | None) -> bool:
        while task is not None:
            if any(self.tasks[other].status != "closed" for other in task.waits_for):
                return True
            task = self.tasks[task.parent] if task.parent else None
        return False

    def ready(self) -> list[str]:
        return self._in_order(t for t in self.tasks.values() if self._ready(t))

    def claimable(self, owner: str) -> list[str]:
        return self._in_order(t for t in self.tasks.values() if self._claimable(t, owner))

    def claim(self, task_id: str, owner: str, ttl: timedelta) -> None:
        task = self.tasks[task_id]
        task.status, task.assignee, task.not_before = "in_progress", owner, None
        task.holder, task.until, task.fence = owner, self.now() + ttl, task.fence + 1

    def end(self, task_id: str, status: str, not_before: datetime | None = None) -> None:
        task = self.tasks[task_id]
        task.assignee = task.assignee if status == "closed" else ""
        task.status, task.not_before, task.holder, task.until = status, not_before, None, None

    def holds(self, lease: Lease) -> bool:
        task = self.tasks[lease.task.id]
        return (task.holder, task.fence) == (lease.owner, lease.fence)

    def _ready(self, task: Known) -> bool:
        return task.status == "open" and not self.held_up(task)

    def _claimable(self, task: Known, owner: str) -> bool:
        if task.kind == "epic" or self.held_up(task):
            return False
        if task.status == "in_progress":
            return task.until is not None and task.until <= self.now()
        due = task.not_before is None or task.not_before <= self.now()
        return task.status == "open" and task.assignee in ("", owner) and due

    @staticmethod
    def _in_order(tasks) -> list[str]:
        return [task.id for task in sorted(tasks, key=lambda task: task.order)]


class QueueMachine(RuleBasedStateMachine):
    """`handles` are two ways into one empty queue; steps take either."""

    def __init__(
        self, handles: Sequence[Queue], clock: ManualClock, tick: Callable[[], None]
    ) -> None:
        super().__init__()
        self.handles = handles
        self.clock = clock
        self.tick = tick
        self.model = Model(clock)
        self.leases: list[Lease] = []

    handle = st.integers(0, 1)
    pick = st.integers(0, 10_000)

    @rule(
        at=handle,
        priority=st.sampled_from([2, 2, 1]),
        kind=st.sampled_from(["task", "task", "task", "epic"]),
        assignee=st.sampled_from(["", "", "", "a", "ann"]),
        waits=st.lists(pick, max_size=2),
        parent=st.none() | pick,
    )
    def add(self, at, priority, kind, assignee, waits, parent):
        known = list(self.model.tasks)
        # A child that waits for its own forebears would be a cycle; the contract has those.
        up = known[parent % len(known)] if known and parent is not None else None
        others = {known[n % len(known)] for n in waits} if known and up is None else set()
        self.tick()
        task = self.handles[at].add(
            Draft(
                title=f"task {len(known)}",
                priority=priority,
                issue_type=kind,
                assignee=assignee,
                parent=up,
                depends_on=tuple(("blocks", other) for other in sorted(others)),
            )
        )
        assert task.id not in known
        assert up is None or task.id.startswith(f"{up}.")
        self.model.tasks[task.id] = Known(
            task.id, len(known), priority, kind, assignee, up, tuple(sorted(others))
        )

    @rule(at=handle, owner=st.sampled_from(OWNERS), count=st.integers(1, 3), ttl=SPANS)
    def claim(self, at, owner, count, ttl):
        expected = self.model.claimable(owner)[:count]
        leases = self.handles[at].claim(owner, count=count, ttl=ttl)
        assert [lease.task.id for lease in leases] == expected
        for lease in leases:
            self.model.claim(lease.task.id, owner, ttl)
            assert self.model.holds(lease)
        self.leases += leases

    @precondition(lambda self: self.leases)
    @rule(
        at=handle,
        which=pick,
        how=st.sampled_from(["open", "open", "closed", "blocked"]),
        wait=st.none() | SPANS,
    )
    def settle(self, at, which, how, wait):
        """Under any lease there ever was: the live ones change things, the others nothing."""
        lease = self.leases[which % len(self.leases)]
        until = self.clock() + wait if wait else None
        settlement = {
            "closed": Closed(reason="done"),
            "open": Released(not_before=until),
            "blocked": Blocked(waits=SetAside(note="why?")),
        }[how]
        held = self.model.holds(lease)
        answer = settle(self.handles[at], lease, settlement)
        assert isinstance(answer, LeaseLost) is not held
        if held:
            self.model.end(lease.task.id, how, until if how == "open" else None)

    @precondition(lambda self: self.leases)
    @rule(at=handle, which=pick, ttl=SPANS)
    def renew(self, at, which, ttl):
        lease = self.leases[which % len(self.leases)]
        held = self.model.holds(lease)
        answer = self.handles[at].renew(lease, ttl=ttl)
        assert isinstance(answer, LeaseLost) is not held
        if held:
            self.model.tasks[lease.task.id].until = self.clock() + ttl

    @rule(step=SPANS)
    def time_passes(self, step):
        self.clock.advance(step)

    @invariant()
    def both_agree(self):
        found = self.handles[0].find(Filter(include_closed=True))
        told = {t.id: (t.status, t.lease_owner, t.lease_until, t.fence) for t in found}
        assert told == {
            t.id: (t.status, t.holder, t.until, t.fence) for t in self.model.tasks.values()
        }
        ready = self.handles[1].find(Filter(ready=True))
        assert [task.id for task in ready] == self.model.ready()

    def teardown(self):
        for handle in self.handles:
            handle.close()


def check_against_model(
    open_handles: Callable[[ManualClock], Sequence[Queue]],
    *,
    examples: int,
    steps: int = 25,
    tick: Callable[[], None] | None = None,
) -> None:
    """Drive a queue and the model side by side; `open_handles` gives a new, empty queue twice."""

    def machine() -> QueueMachine:
        clock = ManualClock()
        return QueueMachine(
            open_handles(clock), clock, tick or (lambda: clock.advance(timedelta(seconds=1)))
        )

    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
