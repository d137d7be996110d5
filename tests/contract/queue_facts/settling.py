"""How a lease ends, and how wishes wait for the supervisor."""

from datetime import timedelta

import pytest

from fleet.errors import NotFound, Refused
from fleet.queue.protocol import Draft, LeaseLost
from fleet.schemas import Blocked, Closed, Released
from fleet.schemas.waits import Asks, SetAside, ToLand
from tests.settled import settle

TTL = timedelta(minutes=5)


class Settling:
    def test_closed_ends_the_task_for_good(self, queue):
        """A closed task has a time and a reason, no lease, and is never claimed again."""
        task_id = queue.add(Draft(title="t")).id
        (lease,) = queue.claim("a", ttl=TTL)
        assert settle(queue, lease, Closed(reason="tests pass: 12 of 12")) is None
        task = queue.get(task_id)
        assert (task.status, task.close_reason) == ("closed", "tests pass: 12 of 12")
        assert task.closed_at is not None
        assert (task.lease_owner, task.lease_until) == (None, None)
        assert queue.claim("b", ttl=TTL) == []

    def test_several_leases_are_ended_at_once_each_by_itself(self, queue):
        """One that is lost, or cannot be ended, keeps no other from its end."""
        for title in ("a", "b", "c"):
            queue.add(Draft(title=title))
        first, second, third = leases = queue.claim("a", count=3, ttl=TTL)
        ids = [lease.task.id for lease in leases]
        settle(queue, second, Released())
        answers = queue.settle(
            [
                (first, Closed(reason="x")),
                (second, Closed(reason="y")),
                (third, Blocked(waits=SetAside(note="z"))),
            ]
        )
        assert [type(answer) for answer in answers] == [type(None), LeaseLost, type(None)]
        assert [queue.get(each).status for each in ids] == ["closed", "open", "blocked"]
        assert queue.get(ids[0]).close_reason == "x"
        assert queue.settle([]) == []

    def test_released_gives_the_task_back(self, queue):
        """A released task is open, free of owner and lease, and at once claimable by anyone."""
        task_id = queue.add(Draft(title="t")).id
        (lease,) = queue.claim("a", ttl=TTL)
        settle(queue, lease, Released(note="the network was down"))
        task = queue.get(task_id)
        assert (task.status, task.assignee, task.lease_owner) == ("open", "", None)
        assert "the network was down" in task.notes
        (again,) = queue.claim("b", ttl=TTL)
        assert again.fence > lease.fence

    def test_released_keeps_the_moment_it_waits_for(self, queue, clock):
        """`not_before` can be read from the task."""
        queue.add(Draft(title="t"))
        (lease,) = queue.claim("a", ttl=TTL)
        until = clock() + timedelta(minutes=7)
        settle(queue, lease, Released(not_before=until))
        assert queue.get(lease.task.id).not_before == until

    def test_blocked_waits_for_a_person(self, queue, advance):
        """A blocked task says what it needs and is not claimed, however long one waits."""
        task_id = queue.add(Draft(title="t")).id
        (lease,) = queue.claim("a", ttl=TTL)
        settle(queue, lease, Blocked(waits=Asks(text="which colour?")))
        task = queue.get(task_id)
        assert (task.status, task.assignee, task.lease_owner) == ("blocked", "", None)
        assert task.notes == "QUESTION: which colour?"
        advance(timedelta(days=400))
        assert queue.claim("b", ttl=TTL) == []

    def test_a_note_is_added_to_the_notes_before_it(self, queue):
        """Settling never overwrites what was noted earlier."""
        queue.add(Draft(title="t", notes="first"))
        (lease,) = queue.claim("a", ttl=TTL)
        settle(queue, lease, Released(note="second"))
        assert queue.get(lease.task.id).notes == "first\nsecond"

    @pytest.mark.parametrize(
        "settlement",
        [Closed(reason="done"), Released(note="mine"), Blocked(waits=SetAside(note="help"))],
        ids=["closed", "released", "blocked"],
    )
    def test_a_lost_lease_settles_nothing(self, queue, advance, settlement):
        """Under a lease that another took over nothing changes, and the answer says why."""
        queue.add(Draft(title="t"))
        (old,) = queue.claim("a", ttl=TTL)
        advance(TTL + timedelta(seconds=1))
        queue.claim("b", ttl=TTL)
        before = queue.get(old.task.id)
        lost = settle(queue, old, settlement)
        assert isinstance(lost, LeaseLost)
        assert lost.task_id == old.task.id
        assert "b" in lost.why
        assert queue.get(old.task.id) == before

    def test_a_lease_settles_once(self, queue):
        """A second settle of the same lease finds it ended and changes nothing."""
        queue.add(Draft(title="t"))
        (lease,) = queue.claim("a", ttl=TTL)
        settle(queue, lease, Closed(reason="done"))
        lost = settle(queue, lease, Released())
        assert isinstance(lost, LeaseLost)
        assert "closed" in lost.why
        assert queue.get(lease.task.id).status == "closed"

    def test_a_late_settle_counts_if_nobody_took_over(self, queue, advance):
        """An owner that finishes after the end of an untaken lease loses no work."""
        queue.add(Draft(title="t"))
        (lease,) = queue.claim("a", ttl=TTL)
        advance(TTL * 2)
        settle(queue, lease, Closed(reason="slow but done"))
        assert queue.get(lease.task.id).status == "closed"

    def test_wishes_wait_in_order_until_they_are_answered(self, queue, open_queue, tick):
        """A request stays, oldest first, for any handle to see, and goes once it is answered."""
        task_id = queue.add(Draft(title="t")).id
        stop = queue.request(task_id, "stop", asked_by="ann")
        tick()
        tell = queue.request(task_id, "tell", text="use tabs", asked_by="bob")
        assert (stop.task_id, stop.wish, stop.asked_by) == (task_id, "stop", "ann")
        other = open_queue()
        assert other.requests() == [stop, tell]
        queue.answered(stop)
        assert other.requests() == [tell]
        queue.answered(stop)
        assert other.requests() == [tell]

    def test_a_wish_for_an_unknown_task_is_refused(self, queue):
        """Nothing is kept for a task that is not there."""
        with pytest.raises(NotFound):
            queue.request("fleet-nope", "stop")
        assert queue.requests() == []

    def test_a_person_closes_a_task_whatever_lease_is_on_it(self, queue):
        """The lease ends with the close; a close from before a claim is refused."""
        before = queue.add(Draft(title="t"))
        (lease,) = queue.claim("a", ttl=TTL)
        with pytest.raises(Refused):
            queue.close_task(before, by="ann", reason="enough")
        task = queue.close_task(queue.get(before.id), by="ann", reason="enough")
        assert (task.status, task.close_reason, task.lease_owner) == ("closed", "enough", None)
        assert isinstance(settle(queue, lease, Released()), LeaseLost)
        assert queue.get(before.id).status == "closed"

    def test_verified_work_waits_blocked_until_its_task_is_closed_or_sent_back(self, queue):
        """The same on every queue: no lease, nothing claims it, and what depends on it waits."""
        task = queue.add(Draft(title="first"))
        queue.add(Draft(title="second", depends_on=(("blocks", task.id),)))
        (lease,) = queue.claim("a", ttl=TTL)
        assert settle(queue, lease, Blocked(waits=ToLand(into="main"))) is None
        waiting = queue.get(task.id)
        assert (waiting.status, waiting.lease_owner) == ("blocked", None)
        assert queue.claim("a", ttl=TTL) == []
        queue.reopen_task(waiting, by="a", note="sent back")
        (lease,) = queue.claim("a", ttl=TTL)
        assert lease.task.id == task.id
        assert settle(queue, lease, Blocked(waits=ToLand(into="main"))) is None
        with pytest.raises(Refused):
            queue.close_task(waiting, by="a", reason="landed")
        queue.close_task(queue.get(task.id), by="a", reason="landed")
        (lease,) = queue.claim("a", ttl=TTL)
        assert lease.task.title == "second"
