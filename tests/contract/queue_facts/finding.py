"""What `find` selects, and in which order."""

from datetime import timedelta

import pytest

from fleet.queue.beads.queue import BeadsQueue
from fleet.queue.protocol import Draft, Filter
from fleet.queue.sql.tracker.comments import comment
from fleet.schemas import Blocked, Closed, Released
from fleet.schemas.waits import SetAside
from tests.settled import settle

TTL = timedelta(minutes=5)


def say(queue, task_id, text):
    """Comment on a task as `bd comment` does."""
    if isinstance(queue, BeadsQueue):
        queue.tracker.client.ask(["comment", "--", task_id, text])
    else:
        comment(queue, task_id, author="ada", text=text)


def titles(queue, want):
    return [task.title for task in queue.find(want)]


class Finding:
    @pytest.fixture
    def mixed(self, queue):
        """One task of each sort, with priorities that make their order plain."""
        for priority, title in enumerate(("done", "stuck", "running")):
            queue.add(Draft(title=title, priority=priority))
        done, stuck, _running = queue.claim("sup", count=3, ttl=TTL)
        settle(queue, done, Closed(reason="ok"))
        settle(queue, stuck, Blocked(waits=SetAside(note="why?")))
        free = queue.add(Draft(title="free", priority=3))
        queue.add(Draft(title="behind", priority=4, depends_on=(("blocks", free.id),)))
        return queue

    def test_what_was_said_of_a_task_is_told_in_order(self, queue):
        """Of this task alone; and nothing was said of one that is new."""
        task, other = queue.add(Draft(title="t")), queue.add(Draft(title="other"))
        say(queue, task.id, "first\nline")
        say(queue, task.id, "second")
        found = queue.comments(task.id)
        assert {(each.task_id, each.text) for each in found} == {
            (task.id, "first\nline"), (task.id, "second"),
        }  # fmt: skip
        said = [each.created_at for each in found]
        assert said == sorted(said)
        assert list(queue.comments(other.id)) == []

    def test_filters_select_what_they_say(self, mixed):
        """Each filter finds its sort, in queue order."""
        assert titles(mixed, Filter()) == ["stuck", "running", "free", "behind"]
        assert titles(mixed, Filter(include_closed=True)) == [
            "done", "stuck", "running", "free", "behind",
        ]  # fmt: skip
        assert titles(mixed, Filter(statuses=("closed",))) == ["done"]
        assert titles(mixed, Filter(statuses=("blocked", "in_progress"))) == ["stuck", "running"]
        assert titles(mixed, Filter(ready=True)) == ["free"]
        assert titles(mixed, Filter(leased_by="sup")) == ["running"]
        assert titles(mixed, Filter(leased_by="nobody")) == []
        assert titles(mixed, Filter(limit=2)) == ["stuck", "running"]

    def test_the_tasks_of_a_spec_are_found_by_its_path(self, queue):
        """Closed ones too; not those of a spec whose path only begins so."""
        for title, spec in (("epic", "a.md"), ("one", "a.md#1"), ("other", "a.md.old#1")):
            queue.add(Draft(title=title, spec_id=spec))
        queue.add(Draft(title="none"))
        (lease,) = queue.claim("sup", ttl=TTL)
        settle(queue, lease, Closed(reason="ok"))
        assert sorted(titles(queue, Filter(spec="a.md"))) == ["epic", "one"]
        assert titles(queue, Filter(spec="%")) == []

    def test_tasks_are_found_by_their_ids(self, mixed):
        """`ids` finds exactly these, closed ones too, and overlooks unknown ones."""
        (done,) = mixed.find(Filter(statuses=("closed",)))
        (free,) = mixed.find(Filter(ready=True))
        assert titles(mixed, Filter(ids=(free.id, done.id, "fleet-nope"))) == ["done", "free"]
        assert titles(mixed, Filter(ids=("fleet-nope",))) == []

    def test_ready_is_in_queue_order(self, queue, tick):
        """Priority first, then the oldest."""
        for title, priority in (("b", 2), ("c", 2), ("a", 1)):
            queue.add(Draft(title=title, priority=priority))
            tick()
        assert titles(queue, Filter(ready=True)) == ["a", "b", "c"]
        assert titles(queue, Filter(ready=True, limit=1)) == ["a"]

    def test_a_found_task_is_the_whole_task(self, queue):
        """`find` and `get` tell the same of a task, labels and lease with it."""
        task_id = queue.add(Draft(title="t", labels=("x", "y"), metadata={"n": 1})).id
        queue.claim("a", ttl=TTL)
        assert list(queue.find(Filter(leased_by="a"))) == [queue.get(task_id)]

    def test_a_lease_that_ended_is_not_found_by_its_owner(self, queue):
        """`leased_by` is about the present."""
        queue.add(Draft(title="t"))
        (lease,) = queue.claim("a", ttl=TTL)
        settle(queue, lease, Released())
        assert titles(queue, Filter(leased_by="a")) == []
        assert titles(queue, Filter(ready=True)) == ["t"]

    def test_an_empty_queue_finds_nothing(self, queue):
        """Nothing is an empty answer, whatever is asked."""
        assert list(queue.find(Filter(include_closed=True))) == []
        assert list(queue.find(Filter(ready=True))) == []

    def test_what_was_closed_since_a_moment_is_found(self, mixed):
        """A person looks at what is new, however much was closed before."""
        (done,) = mixed.find(Filter(statuses=("closed",)))
        late = done.closed_at + timedelta(seconds=1)
        assert titles(mixed, Filter(statuses=("closed",), closed_since=done.closed_at)) == ["done"]
        assert titles(mixed, Filter(statuses=("closed",), closed_since=late)) == []
