"""Leases of the tasks in hand: renewed, lost, and perhaps lost."""

import threading
from types import SimpleNamespace

import pytest

from fleet.home.journal import Log
from fleet.queue.protocol import LeaseLost
from fleet.schemas import Stopped
from fleet.schemas.decision import LEASE_LOST
from fleet.schemas.hosts.lease_terms import ALONE, shared_terms
from fleet.supervisor import stop_runs
from fleet.supervisor.assignments import Active, Assignments, Preparing, Unknown
from fleet.supervisor.queue_io import keep_leases
from fleet.supervisor.queue_io.keep_leases import LeaseKeeper
from tests.builders import NOW, a_lease

LEASE = a_lease(fence=7)


class FakeQueue:
    """Remembers whom to answer."""

    def __init__(self, terms):
        self.terms, self.owner = terms, "home1"
        self.renewals = []
        self.asked = []
        self.held = []

    def call(self, do, then):
        self.renewals.append(then)
        self.asked.append(do)

    def find(self, want, then):
        assert want.leased_by == self.owner
        then(self.held)


@pytest.fixture
def clock(monkeypatch):
    """A clock that goes where it is put."""
    hands = [1000.0]
    monkeypatch.setattr(keep_leases, "awake", lambda: hands[0])
    return hands


class Scene:
    def __init__(self, home, *, shared):
        self.queue = FakeQueue(shared_terms(180) if shared else ALONE)
        self.assignments = Assignments()
        log = Log(home.logging, lambda: NOW, lambda text: None)
        self.keeper = LeaseKeeper(home, self.assignments, self.queue, log)
        self.task = self.assignments.take(LEASE, 1000.0 + 180)
        self.task.stage = Preparing(None, threading.Event())

    @property
    def lost(self):
        return self.task.stage.stop_reason == Stopped(by=LEASE_LOST)


@pytest.fixture
def shared(home, clock):
    return Scene(home, shared=True)


@pytest.mark.parametrize("grace", [10, 90])
def test_on_a_shared_queue_a_run_is_stopped_before_its_lease_ends(
    shared, clock, monkeypatch, grace
):
    """Its agent has the grace that it began with, whatever the settings say since, and is dead
    before another host begins the task.
    """
    monkeypatch.setattr(stop_runs, "stop_run", lambda *_, **__: True)
    spec, tools = SimpleNamespace(grace=grace), SimpleNamespace(at_work=())
    run = SimpleNamespace(spec=spec, tools=tools, run=None, keeper=None)
    shared.task.stage = Active(run)
    shared.keeper.keep()
    clock[0] += 180 - grace - 30 - 1
    shared.keeper.keep()
    assert shared.task.stage == Active(run)
    clock[0] += 1
    shared.keeper.keep()
    assert shared.lost


def test_a_run_of_the_supervisor_before_is_renewed_at_once(shared, clock):
    """Else a line that breaks for a moment when its first renewal is due would end it."""
    shared.keeper.keep()
    adopted = shared.assignments.take(a_lease("fleet-2"))
    clock[0] += 0.1
    shared.keeper.keep()
    shared.keeper.keep()
    assert len(shared.queue.renewals) == 2, "that of the other task, and one of this"
    shared.queue.renewals[1]((clock[0], a_lease("fleet-2")))
    assert adopted.held_until == clock[0] + 180
    assert not adopted.renewing


def test_a_renewal_that_was_lost_is_not_asked_again_all_the_time(shared, clock):
    """Of a run that may live: what became of it is found out first."""
    lease = a_lease("fleet-2")
    unknown = shared.assignments.take(lease)
    unknown.stage = Unknown(None, "work", 0.02)
    for _ in range(3):
        shared.keeper.keep()
        unknown.renewing = False
    assert len(shared.queue.renewals) == 2


def test_a_renewal_counts_from_when_the_queue_was_asked(shared, clock):
    """The answer may have taken its time; a question that failed counts for nothing."""
    shared.keeper.keep()
    clock[0] += 130
    shared.queue.renewals[0]((1120.0, LEASE))
    assert shared.task.held_until == 1120 + 180
    assert not shared.task.renewing


def test_a_renewal_that_is_asked_again_counts_from_then(shared, clock):
    """A queue that did not answer for two minutes, and then did, has renewed the lease by then."""
    shared.keeper.keep()
    (ask,), (answered,) = shared.queue.asked, shared.queue.renewals
    queue = SimpleNamespace(renew=lambda lease, ttl: lease)
    ask(queue)  # its answer was lost
    clock[0] += 120
    answered(ask(queue))
    assert shared.task.held_until == 1120 + 180


def test_on_a_queue_of_its_own_a_failing_queue_stops_no_run(home, clock):
    """No other home claims from it."""
    scene = Scene(home, shared=False)
    scene.keeper.keep()
    clock[0] += 86_400
    scene.keeper.keep()
    assert not scene.lost
    assert len(scene.queue.renewals) == 1, "a renewal that waits is not asked again"


def test_a_lease_is_renewed_six_times_before_it_ends(shared, clock):
    """At once the first time."""
    for seconds in (0, 29, 1):
        clock[0] += seconds
        shared.keeper.keep()
        shared.task.renewing = False
    assert len(shared.queue.renewals) == 2


def test_a_lost_lease_ends_the_run(shared):
    """Another home took the task."""
    shared.keeper.keep()
    shared.queue.renewals[0]((1000.0, LeaseLost(task_id="fleet-1", why="another holds it")))
    assert shared.lost
    assert shared.task.stage.abandon.is_set()


def test_the_loss_of_an_older_lease_is_no_loss(shared):
    """The task was given another one since it was asked."""
    shared.keeper.keep()
    later = a_lease(fence=8)
    assert shared.assignments.take(later) is shared.task
    shared.queue.renewals[0]((1000.0, LeaseLost(task_id="fleet-1", why="a later claim holds it")))
    assert not shared.lost
    assert shared.task.lease.fence == 8


def test_a_task_that_the_queue_does_not_hold_is_ended(shared):
    """A person closed it, or another home took it."""
    shared.keeper.compare()
    assert shared.lost


def test_a_claimed_task_that_is_lost_is_dropped(home, clock):
    """Nothing of it runs, and there is no lease to settle."""
    scene = Scene(home, shared=True)
    other = scene.assignments.take(a_lease("fleet-2"))
    scene.keeper.compare()
    assert scene.assignments.get(other.task_id) is None


def test_a_run_that_may_live_keeps_its_place_when_its_lease_is_lost(shared):
    """It is found out first what became of it."""
    shared.task.stage = Unknown(None, "work", 0.02)
    shared.keeper.compare()
    assert shared.assignments.get("fleet-1") is shared.task
    assert isinstance(shared.task.stage, Unknown)
