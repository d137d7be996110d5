"""A person's `retry` and `answer` on beads."""

from datetime import timedelta

import pytest

from fleet.errors import NotFound, QueueUnavailable, Refused
from fleet.queue.protocol import Draft
from fleet.schemas import Blocked, Closed, Released
from fleet.schemas.waits import SetAside
from tests.settled import settled

TTL = timedelta(minutes=5)


@pytest.fixture
def blocked(queue):
    queue.add(Draft(title="t"))
    (lease,) = queue.claim("a", ttl=TTL)
    return settled(queue, lease, Blocked(waits=SetAside(note="why?")))


def test_a_blocked_task_is_claimable_again_at_once(queue, blocked):
    """Open, free of its assignee, and the next claim has a higher fence."""
    task = queue.reopen_task(blocked, by="ann")
    assert (task.status, task.assignee, task.lease_owner) == ("open", "", None)
    (lease,) = queue.claim("b", ttl=TTL)
    assert lease.fence > blocked.fence


def test_a_task_that_waits_need_not_wait_any_longer(queue, clock):
    """`not_before` is forgotten, and bd is not written to for that."""
    queue.add(Draft(title="t"))
    (lease,) = queue.claim("a", ttl=TTL)
    waiting = settled(queue, lease, Released(not_before=clock() + TTL))
    assert queue.reopen_task(waiting, by="ann").not_before is None
    assert len(queue.claim("b", ttl=TTL)) == 1


def test_reopening_wakes_the_supervisor(queue, blocked):
    """The supervisor does not wait for its next poll."""
    while queue.wait(timedelta(0)):
        pass
    queue.reopen_task(blocked, by="ann")
    assert queue.wait(timedelta(0)) is True


def test_what_was_changed_since_is_left_alone(beads, queue, blocked):
    """Another claim or a change by hand wins over an older look."""
    queue.reopen_task(blocked, by="ann")
    with pytest.raises(Refused, match="changed meanwhile"):
        queue.reopen_task(blocked, by="ann")
    (lease,) = queue.claim("b", ttl=TTL)
    beads.change(blocked.id, status="blocked")
    with pytest.raises(Refused, match="changed meanwhile"):
        queue.reopen_task(blocked, by="ann")
    assert queue.get(blocked.id).lease_owner == lease.owner


def test_what_is_being_run_is_left_alone(queue):
    """A live lease is not taken away."""
    queue.add(Draft(title="t"))
    (lease,) = queue.claim("a", ttl=TTL)
    with pytest.raises(Refused, match="worked on by a"):
        queue.reopen_task(lease.task, by="ann")
    assert settled(queue, lease, Closed(reason="done")).status == "closed"


def test_a_deleted_task_is_not_found(queue, blocked):
    """There is nothing to open."""
    queue.tracker.delete(blocked.id)
    with pytest.raises(NotFound):
        queue.reopen_task(blocked, by="ann")


def test_a_reopening_that_bd_loses_is_written_again(beads, queue, blocked):
    """As with every write, what bd shows counts."""
    beads.fault("lose", on="update")
    assert queue.reopen_task(blocked, by="ann").status == "open"
    again = settled(queue, queue.claim("a", ttl=TTL)[0], Blocked(waits=SetAside(note="again")))
    beads.fault("lose", on="update", times=2)
    with pytest.raises(QueueUnavailable):
        queue.reopen_task(again, by="ann")
