"""What holds a task up, and which graphs cannot be made."""

from datetime import timedelta

import pytest

from fleet.errors import NotFound, Refused
from fleet.queue.protocol import Draft, Filter
from fleet.schemas import Closed, Edge
from tests.settled import settle

TTL = timedelta(minutes=5)


def held(leases):
    return [lease.task.id for lease in leases]


def every_id(queue):
    return {task.id for task in queue.find(Filter(include_closed=True))}


class Dependencies:
    def test_a_task_waits_for_what_it_depends_on(self, queue):
        """A dependent task is claimed only after its blocker is closed."""
        blocker = queue.add(Draft(title="blocker", priority=3)).id
        waiting = queue.add(
            Draft(title="waiting", priority=0, depends_on=(("blocks", blocker),))
        ).id
        (lease,) = queue.claim("a", count=5, ttl=TTL)
        assert lease.task.id == blocker
        settle(queue, lease, Closed(reason="done"))
        assert held(queue.claim("a", count=5, ttl=TTL)) == [waiting]

    def test_a_new_task_can_hold_up_an_older_one(self, queue):
        """`blocks` of a draft makes an existing task wait for the new one."""
        older = queue.add(Draft(title="older", priority=0)).id
        newer = queue.add(Draft(title="newer", priority=3, blocks=(older,))).id
        assert held(queue.claim("a", count=5, ttl=TTL)) == [newer]

    def test_what_a_task_waits_for_is_told_until_it_is_closed(self, queue):
        """A person who asks why a task does not run sees the tasks before it."""
        blocker = queue.add(Draft(title="blocker")).id
        edges = (("blocks", blocker), ("related", queue.add(Draft(title="other")).id))
        waiting = queue.add(Draft(title="waiting", depends_on=edges)).id
        assert [task.id for task in queue.blockers(waiting)] == [blocker]
        assert list(queue.blockers(blocker)) == []
        (lease,) = [each for each in queue.claim("a", count=5, ttl=TTL) if each.task.id == blocker]
        settle(queue, lease, Closed(reason="done"))
        assert list(queue.blockers(waiting)) == []

    def test_a_related_task_does_not_wait(self, queue):
        """Only blocking types hold a task up."""
        one = queue.add(Draft(title="one", priority=0)).id
        two = queue.add(Draft(title="two", priority=1, depends_on=(("related", one),))).id
        assert held(queue.claim("a", count=5, ttl=TTL)) == [one, two]

    def test_children_are_numbered_under_their_parent(self, queue):
        """The children of P are P.1, P.2, and so on, and a grandchild is P.1.1."""
        parent = queue.add(Draft(title="parent")).id
        first = queue.add(Draft(title="child", parent=parent)).id
        second = queue.add(Draft(title="child", parent=parent)).id
        grandchild = queue.add(Draft(title="grandchild", parent=first)).id
        assert (first, second) == (f"{parent}.1", f"{parent}.2")
        assert grandchild == f"{parent}.1.1"

    def test_an_open_parent_holds_no_child_up(self, queue):
        """Children of a parent that waits for nothing are work."""
        parent = queue.add(Draft(title="parent", issue_type="epic")).id
        child = queue.add(Draft(title="child", parent=parent)).id
        assert held(queue.claim("a", count=5, ttl=TTL)) == [child]

    def test_a_blocked_parent_holds_its_child_up(self, queue):
        """What a parent waits for, its children wait for too."""
        blocker = queue.add(Draft(title="blocker", priority=4)).id
        parent = queue.add(
            Draft(title="parent", issue_type="epic", depends_on=(("blocks", blocker),))
        ).id
        child = queue.add(Draft(title="child", parent=parent)).id
        (lease,) = queue.claim("a", count=5, ttl=TTL)
        assert lease.task.id == blocker
        settle(queue, lease, Closed(reason="done"))
        assert held(queue.claim("a", count=5, ttl=TTL)) == [child]

    def test_a_parent_put_off_holds_its_child_up(self, queue, clock):
        """Children of a deferred parent wait for its date."""
        later = clock() + timedelta(days=2)
        parent = queue.add(Draft(title="parent", issue_type="epic", defer_until=later)).id
        queue.add(Draft(title="child", parent=parent))
        assert queue.claim("a", count=5, ttl=TTL) == []
        assert list(queue.find(Filter(ready=True))) == []

    def test_labels_come_down_to_children(self, queue):
        """A child has its parent's labels and its own, unless it asks not to."""
        parent = queue.add(Draft(title="parent", labels=("area",))).id
        heir = queue.add(Draft(title="heir", parent=parent, labels=("own",)))
        free = queue.add(Draft(title="free", parent=parent, inherit_labels=False))
        assert set(heir.labels) == {"area", "own"}
        assert free.labels == ()

    def test_a_cycle_is_refused_whole(self, queue):
        """A task that would wait for itself through another is not made at all."""
        one = queue.add(Draft(title="one")).id
        with pytest.raises(Refused):
            queue.add(Draft(title="two", depends_on=(("blocks", one),), blocks=(one,)))
        assert every_id(queue) == {one}
        assert held(queue.claim("a", ttl=TTL)) == [one]

    def test_a_long_cycle_is_refused_too(self, queue):
        """The chain is followed to its end, not only one step."""
        one = queue.add(Draft(title="one")).id
        two = queue.add(Draft(title="two", depends_on=(("blocks", one),))).id
        with pytest.raises(Refused):
            queue.add(Draft(title="three", depends_on=(("blocks", two),), blocks=(one,)))
        assert every_id(queue) == {one, two}

    def test_a_task_cannot_wait_for_itself(self, queue):
        """A self-dependency is refused, and the task is not made."""
        with pytest.raises(Refused):
            queue.add(Draft(title="me", id="fleet-me", depends_on=(("blocks", "fleet-me"),)))
        assert every_id(queue) == set()

    @pytest.mark.parametrize(
        "draft",
        [
            Draft(title="x", depends_on=(("blocks", "fleet-nope"),)),
            Draft(title="x", blocks=("fleet-nope",)),
            Draft(title="x", parent="fleet-nope"),
        ],
        ids=["depends_on", "blocks", "parent"],
    )
    def test_an_unknown_dependency_is_refused_whole(self, queue, draft):
        """A link to a task that is not there adds nothing."""
        with pytest.raises(NotFound):
            queue.add(draft)
        assert every_id(queue) == set()

    def test_the_edges_of_a_task_are_known_both_ways(self, queue):
        """What it depends on, and what depends on it; edges of other tasks are not asked for."""
        first = queue.add(Draft(title="first"))
        middle = queue.add(Draft(title="middle", depends_on=(("blocks", first.id),)))
        last = queue.add(Draft(title="last", depends_on=(("blocks", middle.id),)))
        child = queue.add(Draft(title="child", parent=last.id))
        assert list(queue.edges([])) == []
        assert list(queue.edges([middle.id])) == sorted(
            [Edge(middle.id, first.id, "blocks"), Edge(last.id, middle.id, "blocks")]
        )
        assert list(queue.edges([child.id])) == [Edge(child.id, last.id, "parent-child")]
