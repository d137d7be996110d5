"""Who gets which task: order, exclusiveness, and time."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

from fleet.queue.protocol import Draft, LeaseLost
from fleet.schemas import Closed, Lease, Released
from tests.settled import settle

TTL = timedelta(minutes=5)


def held(leases):
    return [lease.task.id for lease in leases]


class Claiming:
    #: False where `defer_until` follows the real clock and not the test's.
    defers_by_clock = True

    def test_the_best_priority_comes_first(self, queue):
        """P0 before P3, whichever was added first."""
        low = queue.add(Draft(title="low", priority=3)).id
        high = queue.add(Draft(title="high", priority=0)).id
        assert held(queue.claim("a", count=2, ttl=TTL)) == [high, low]

    def test_among_equals_the_oldest_comes_first(self, queue, tick):
        """Within one priority the queue is first in, first out."""
        first = queue.add(Draft(title="first", id="fleet-zzz")).id
        tick()
        second = queue.add(Draft(title="second", id="fleet-mmm")).id
        tick()
        third = queue.add(Draft(title="third", id="fleet-aaa")).id
        assert held(queue.claim("a", ttl=TTL)) == [first]
        assert held(queue.claim("a", count=5, ttl=TTL)) == [second, third]

    def test_a_claim_takes_no_more_than_it_was_asked_for(self, queue):
        """`count` bounds a claim, and the best of the rest stay for the next."""
        ids = [queue.add(Draft(title=f"p{p}", priority=p)).id for p in (0, 1, 2)]
        assert held(queue.claim("a", count=2, ttl=TTL)) == ids[:2]
        assert held(queue.claim("a", count=2, ttl=TTL)) == ids[2:]

    def test_an_empty_queue_gives_nothing(self, queue):
        """No work is an empty list, not an error."""
        assert queue.claim("a", count=3, ttl=TTL) == []

    def test_a_claim_says_what_it_holds(self, queue, clock):
        """The lease and the stored task agree on owner, fence and end."""
        task_id = queue.add(Draft(title="t")).id
        (lease,) = queue.claim("a", ttl=TTL)
        task = queue.get(task_id)
        assert (lease.owner, lease.until, lease.task.id) == ("a", clock() + TTL, task_id)
        assert (task.status, task.assignee, task.lease_owner) == ("in_progress", "a", "a")
        assert (task.lease_until, task.fence) == (lease.until, lease.fence)
        assert lease.task.status == "in_progress"
        assert task.started_at is not None

    def test_a_leased_task_is_not_given_again(self, queue):
        """Neither another owner nor the same one gets it while the lease runs."""
        queue.add(Draft(title="t"))
        assert len(queue.claim("a", ttl=TTL)) == 1
        assert queue.claim("b", ttl=TTL) == []
        assert queue.claim("a", ttl=TTL) == []

    def test_two_handles_at_once_never_share_a_task(self, queue, open_queue):
        """Handles that claim side by side split the queue without overlap."""
        ids = {queue.add(Draft(title=f"t{n}")).id for n in range(6)}
        other = open_queue()

        def take_all(handle, owner):
            taken = []
            while leases := handle.claim(owner, ttl=TTL):
                taken += held(leases)
            return taken

        with ThreadPoolExecutor(2) as pool:
            both = [pool.submit(take_all, queue, "a"), pool.submit(take_all, other, "b")]
            taken = [task_id for future in both for task_id in future.result(timeout=60)]
        assert sorted(taken) == sorted(ids)

    def test_an_epic_is_never_work(self, queue):
        """Epics hold children; no agent is sent to work on one."""
        queue.add(Draft(title="epic", issue_type="epic"))
        assert queue.claim("a", ttl=TTL) == []

    def test_a_task_of_somebody_else_is_left_alone(self, queue):
        """A task assigned to a person waits for that person."""
        task_id = queue.add(Draft(title="hers", assignee="ann")).id
        assert queue.claim("a", ttl=TTL) == []
        assert held(queue.claim("ann", ttl=TTL)) == [task_id]

    def test_a_deferred_task_is_claimed_once_it_is_due(self, queue, clock, advance):
        """The defer date passes, and the task is work like any other."""
        ahead = timedelta(days=1) if self.defers_by_clock else timedelta(days=-1)
        task_id = queue.add(Draft(title="put off", defer_until=clock() + ahead)).id
        if self.defers_by_clock:
            assert queue.claim("a", ttl=TTL) == []
            advance(ahead + timedelta(seconds=1))
        assert held(queue.claim("a", ttl=TTL)) == [task_id]

    def test_a_lease_that_ran_out_can_be_taken_over(self, queue, advance):
        """After its end the task is claimed again, under a higher fence."""
        queue.add(Draft(title="t"))
        (old,) = queue.claim("a", ttl=TTL)
        advance(TTL - timedelta(seconds=1))
        assert queue.claim("b", ttl=TTL) == []
        advance(timedelta(seconds=2))
        (new,) = queue.claim("b", ttl=TTL)
        assert new.task.id == old.task.id
        assert new.fence > old.fence
        assert queue.get(new.task.id).lease_owner == "b"

    def test_the_same_owner_gets_a_new_fence_too(self, queue, advance):
        """A takeover by the owner itself still makes the older lease worthless."""
        queue.add(Draft(title="t"))
        (old,) = queue.claim("a", ttl=TTL)
        advance(TTL + timedelta(seconds=1))
        (new,) = queue.claim("a", ttl=TTL)
        assert new.fence > old.fence
        assert isinstance(settle(queue, old, Closed(reason="late")), LeaseLost)
        assert queue.get(new.task.id).status == "in_progress"

    def test_a_renewed_lease_holds_longer(self, queue, clock, advance):
        """Renewal moves the end and keeps the fence."""
        queue.add(Draft(title="t"))
        (lease,) = queue.claim("a", ttl=TTL)
        advance(TTL - timedelta(seconds=1))
        renewed = queue.renew(lease, ttl=TTL)
        assert isinstance(renewed, Lease)
        assert (renewed.fence, renewed.until) == (lease.fence, clock() + TTL)
        assert queue.get(lease.task.id).lease_until == renewed.until
        advance(timedelta(minutes=1))
        assert queue.claim("b", ttl=TTL) == []

    def test_a_late_renewal_saves_a_lease_that_nobody_took(self, queue, advance):
        """An owner that slept past the end goes on if no one came in between."""
        queue.add(Draft(title="t"))
        (lease,) = queue.claim("a", ttl=TTL)
        advance(TTL * 2)
        assert isinstance(queue.renew(lease, ttl=TTL), Lease)
        assert queue.claim("b", ttl=TTL) == []

    def test_a_lost_lease_cannot_be_renewed(self, queue, advance):
        """After a takeover the old owner hears that it lost, and why."""
        queue.add(Draft(title="t"))
        (old,) = queue.claim("a", ttl=TTL)
        advance(TTL + timedelta(seconds=1))
        (new,) = queue.claim("b", ttl=TTL)
        lost = queue.renew(old, ttl=TTL * 9)
        assert isinstance(lost, LeaseLost)
        assert lost.task_id == old.task.id
        assert "b" in lost.why
        assert queue.get(old.task.id).lease_until == new.until

    def test_an_ended_lease_cannot_be_renewed(self, queue):
        """What was settled stays settled, also for an owner that still holds the old lease."""
        queue.add(Draft(title="t"))
        (lease,) = queue.claim("a", ttl=TTL)
        settle(queue, lease, Released())
        assert isinstance(queue.renew(lease, ttl=TTL), LeaseLost)
        assert queue.get(lease.task.id).lease_owner is None

    def test_a_released_task_waits_for_its_moment(self, queue, clock, advance):
        """`not_before` keeps a task from being claimed until then."""
        task_id = queue.add(Draft(title="t")).id
        (lease,) = queue.claim("a", ttl=TTL)
        settle(queue, lease, Released(not_before=clock() + timedelta(minutes=30)))
        assert queue.claim("a", ttl=TTL) == []
        advance(timedelta(minutes=31))
        assert held(queue.claim("a", ttl=TTL)) == [task_id]

    def test_a_new_claim_forgets_the_moment(self, queue, clock, advance):
        """A task that was claimed after its wait and released again is free at once."""
        task_id = queue.add(Draft(title="t")).id
        (lease,) = queue.claim("a", ttl=TTL)
        settle(queue, lease, Released(not_before=clock() + timedelta(minutes=30)))
        advance(timedelta(minutes=31))
        (lease,) = queue.claim("a", ttl=TTL)
        settle(queue, lease, Released())
        assert held(queue.claim("b", ttl=TTL)) == [task_id]
