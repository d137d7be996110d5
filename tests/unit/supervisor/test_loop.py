"""The loop's dealings with leases: what it holds, what it lost, and what it may have lost."""

from datetime import UTC, datetime, timedelta

import pytest

from fleet.coders.stream.tool_calls import ToolCalls
from fleet.config import Config
from fleet.home import Home, make_home
from fleet.queue.protocol import LeaseLost
from fleet.schemas import Lease, Stopped, Task
from fleet.schemas.decision import LEASE_LOST
from fleet.supervisor import loop
from fleet.supervisor.loop import Supervisor

NOW = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
LEASE = Lease(
    task=Task(id="fleet-1", title="a task", created_at=NOW, updated_at=NOW),
    owner="me",
    fence=7,
    until=NOW + timedelta(minutes=10),
)


class FakeLive:
    """As much of a living run as the loop looks at."""

    def __init__(self, home):
        self.task_id = "fleet-1"
        self.lease = LEASE
        self.trail = ToolCalls()
        self.held_until = self.verdict = self.over = self.keeper = self.looking = None
        self.renewing = False
        self.run = type("FakeRun", (), {"task_dir": home.task("fleet-1"), "path": home.path})()


@pytest.fixture
def clock(monkeypatch):
    """A clock that goes where it is put."""
    hands = [1000.0]
    monkeypatch.setattr(loop, "awake", lambda: hands[0])
    return hands


def a_supervisor(tmp_path, queue):
    home = Home(tmp_path / "home")
    make_home(home)
    made = Supervisor(home, Config(queue=queue), echo=lambda text: None)
    live = FakeLive(home)
    made.work.runs._lives["fleet-1"] = live
    made.desk.renew = lambda lease, then: asked.append(then)
    asked = made.asked = []
    return made, live


@pytest.fixture
def shared(tmp_path, clock):
    return a_supervisor(tmp_path, "postgresql://nowhere/fleet")


def test_on_a_shared_queue_a_run_ends_with_its_lease(shared, clock):
    """It cannot be renewed in time: another machine may run the task, so ours must not."""
    supervisor, live = shared
    supervisor.keep_leases()
    clock[0] += 599
    supervisor.keep_leases()
    assert live.verdict is None
    clock[0] += 2
    supervisor.keep_leases()
    assert live.verdict == Stopped(by=LEASE_LOST)


def test_a_renewal_counts_from_when_it_was_asked(shared, clock):
    """The answer may have taken its time."""
    supervisor, live = shared
    supervisor.keep_leases()
    clock[0] += 300
    supervisor.asked[0](LEASE)
    assert live.held_until == 1000 + 600
    assert not live.renewing


def test_on_our_own_queue_a_failing_queue_stops_nobody(tmp_path, clock):
    """Nobody else claims from it."""
    supervisor, live = a_supervisor(tmp_path, "embedded")
    supervisor.keep_leases()
    clock[0] += 86_400
    supervisor.keep_leases()
    assert live.verdict is None
    assert len(supervisor.asked) == 1, "a renewal that waits is not asked again"


def test_a_lost_lease_ends_the_run(shared):
    """Somebody took the task."""
    supervisor, live = shared
    supervisor.keep_leases()
    supervisor.asked[0](LeaseLost(task_id="fleet-1", why="another holds it"))
    assert live.verdict == Stopped(by=LEASE_LOST)


def test_the_loss_of_an_older_lease_is_no_loss(shared):
    """The run was given another one since it was asked."""
    supervisor, live = shared
    supervisor.keep_leases()
    live.lease = Lease(task=LEASE.task, owner="me", fence=8, until=LEASE.until)
    supervisor.asked[0](LeaseLost(task_id="fleet-1", why="a later claim holds it"))
    assert live.verdict is None
    assert live.lease.fence == 8
