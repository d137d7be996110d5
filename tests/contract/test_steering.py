"""What steering asks of a queue, the same on all three."""

import os
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

from fleet.config import Config
from fleet.control import Control
from fleet.control.tasks.retry import retry
from fleet.errors import Refused
from fleet.home import Home, make_home
from fleet.queue.protocol import Draft
from fleet.schemas import Blocked, Closed, Released
from fleet.schemas.waits import Asks, SetAside
from tests.conftest import SLOW
from tests.contract.beads_home import beads_home, pristine_home
from tests.settled import settle, settled
from tests.simulated.beads import SimulatedBeads, in_process

__all__ = ["beads_home", "pristine_home"]

TTL = timedelta(minutes=5)
ENV = {"USER": "ada"}


QUEUES = ["embedded", "postgres", "stand-in"]
#: The stand-in for bd is much faster: the real one plays where its own part matters most, if asked.
ON_REAL_BD = pytest.mark.parametrize("fleet", [*QUEUES, *["beads"][:SLOW]], indirect=True)
ON_STAND_IN = pytest.mark.parametrize("fleet", QUEUES, indirect=True)


@pytest.fixture
def fleet(request, tmp_path, monkeypatch):
    """An open home on each queue."""
    queue, home = request.param, Home(tmp_path / "home")
    if queue == "postgres":
        queue = request.getfixturevalue("postgres_dsn")
    elif queue == "beads":
        home = Home(request.getfixturevalue("beads_home"))
    elif queue == "stand-in":
        queue, home = "beads", Home(SimulatedBeads(tmp_path).home)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    make_home(home)
    with in_process(), closing(Control(home, Config(queue=queue), ENV)) as fleet:
        yield fleet


def claimed(fleet, title="Fix it"):
    fleet.queue.add(Draft(title=title))
    (lease,) = fleet.queue.claim("us", ttl=TTL)
    return lease


@ON_REAL_BD
def test_a_blocked_task_goes_back_into_the_queue(fleet):
    """Open, without an assignee, and the next to be claimed."""
    lease = claimed(fleet)
    task = settled(fleet.queue, lease, Blocked(waits=Asks(text="which?")))
    done = fleet.queue.reopen_task(task, by="ada")
    assert (done.status, done.assignee) == ("open", "")
    assert [lease.task.id for lease in fleet.queue.claim("us", ttl=TTL)] == [task.id]


@ON_STAND_IN
def test_a_waiting_task_that_is_retried_waits_no_more(fleet):
    """It is open already; only its wait stands in the way."""
    later = datetime.now(UTC) + timedelta(hours=1)
    task = settled(fleet.queue, claimed(fleet), Released(not_before=later))
    assert fleet.queue.claim("us", ttl=TTL) == []
    retry(fleet, task)
    assert [lease.task.id for lease in fleet.queue.claim("us", ttl=TTL)] == [task.id]


@ON_STAND_IN
def test_nobodys_claim_is_undone_by_an_old_look(fleet):
    """The task was claimed again after it was read."""
    lease = claimed(fleet)
    task = settled(fleet.queue, lease, Blocked(waits=SetAside(note="why")))
    fleet.queue.reopen_task(task, by="ada")
    (lease,) = fleet.queue.claim("them", ttl=TTL)
    with pytest.raises(Refused):
        fleet.queue.reopen_task(task, by="ada")
    assert fleet.queue.get(task.id).lease_owner == "them"


@ON_REAL_BD
def test_tasks_are_counted_by_their_status(fleet):
    """The closed ones too."""
    settle(fleet.queue, claimed(fleet), Closed(reason="done"))
    claimed(fleet)
    fleet.queue.add(Draft(title="One more"))
    assert fleet.queue.counts() == {"closed": 1, "in_progress": 1, "open": 1}
