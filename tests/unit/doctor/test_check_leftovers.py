"""Clones by their size, and those that are left of tasks which are over."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec import structs

from fleet.config import Config
from fleet.doctor.check_leftovers import clones
from fleet.doctor.check_result import Installation
from fleet.queue.protocol import Draft
from fleet.queue.sql.sqlite import open_embedded
from fleet.schemas import Closed
from tests.settled import settle


@pytest.fixture
def installation(home):
    return Installation(home=home, env={}, now=datetime.now(UTC), config=Config())


def test_no_clones_are_nothing_to_tell(installation):
    """Not even the directory is there."""
    assert list(clones(installation)) == []
    assert not installation.home.worktrees.exists()


def test_clones_of_tasks_that_are_long_closed_or_unknown_are_told(installation):
    """Those of open tasks and of tasks just closed are wanted."""
    home = installation.home
    queue = open_embedded(home.path)
    still, done = (queue.add(Draft(title=title, metadata={})).id for title in ("a", "b"))
    leases = queue.claim("o", count=2, ttl=timedelta(hours=1))
    (lease,) = [lease for lease in leases if lease.task.id == done]
    settle(queue, lease, Closed(reason="done"))
    queue.close()
    for name in (still, done, "fleet-gone"):
        home.clone(name).mkdir(parents=True)
    _, left = clones(installation)
    assert "fleet-gone (no such task" in left.what
    home.clone("fleet-gone").rmdir()
    later = structs.replace(installation, now=installation.now + timedelta(days=4))
    _, left = clones(later)
    assert left.what.startswith(f"1 left of 2: {done} (closed 2")
    assert f"rm -r {home.clone(done)}" in left.fix
    assert still not in left.what


def test_clones_that_take_all_the_room_are_a_warning(installation):
    """No new one is made until there is room."""
    place = installation.home.clone("fleet-1")
    place.mkdir(parents=True)
    (place / "large").write_bytes(b"x" * (2 << 20))
    sizes, *_ = clones(installation)
    assert (sizes.severity, "most of it fleet-1" in sizes.what) == ("ok", True)
    full = structs.replace(installation, config=Config(workspace_limit="1MB"))
    sizes, *_ = clones(full)
    assert sizes.severity == "warning"
    assert "workspace_limit" in sizes.fix
