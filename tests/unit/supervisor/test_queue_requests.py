"""Clerk and desk: answers in order, errors delivered, nothing dropped, nothing asked in vain."""

import select
import threading
import time
from datetime import UTC, datetime, timedelta

import pytest

from fleet.errors import NotFound, QueueBusy, QueueError
from fleet.queue.protocol import LeaseLost
from fleet.schemas import Closed, Lease, Request, Task
from fleet.supervisor.queue_io import queue_requests as desks
from fleet.supervisor.queue_io.queue_requests import Desk
from fleet.supervisor.queue_io.queue_thread import Clerk

NOW = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
TASK = Task(id="fleet-1", title="a task", created_at=NOW, updated_at=NOW)
LEASE = Lease(task=TASK, owner="me", fence=1, until=NOW + timedelta(minutes=10))
PATIENCE = 10.0


class FakeQueue:
    """Answers what it was told to, and remembers what it was asked."""

    def __init__(self):
        self.asked = []
        self.failing = {}
        self.bell = threading.Semaphore(0)
        self.wishes = []
        self.open = True

    def _do(self, name, answer):
        self.asked.append(name)
        if self.failing.get(name):
            raise self.failing[name].pop(0)
        return answer

    def claim(self, owner, *, count, ttl):
        return self._do("claim", [LEASE] * count)

    def settle(self, lease, settlement):
        return self._do("settle", TASK)

    def renew(self, lease, *, ttl):
        return self._do("renew", lease)

    def find(self, want):
        return self._do("find", [TASK])

    def requests(self):
        return self._do("requests", list(self.wishes))

    def answered(self, request):
        self._do("answered", None)
        self.wishes.remove(request)

    def wait(self, timeout):
        return self.bell.acquire(timeout=0.2)

    def close(self):
        self.open = False


@pytest.fixture
def queue():
    return FakeQueue()


@pytest.fixture
def clerk(queue):
    clerk = Clerk(lambda: queue)
    clerk.start()
    yield clerk
    clerk.close(PATIENCE)


@pytest.fixture
def said():
    return []


@pytest.fixture
def desk(clerk, said, monkeypatch):
    monkeypatch.setattr(desks, "SHORTEST_PAUSE", 0.01)
    return Desk(clerk, "me", lambda action, text: said.append(action))


def run(desk, until):
    """Turn the loop until a fact holds."""
    end = time.monotonic() + PATIENCE
    while not until():
        assert time.monotonic() < end, "waited in vain"
        if select.select([desk.clerk.fileno()], [], [], 0.01)[0]:
            desk.clerk.deliver()
        desk.tend()


class TestClerk:
    def test_answers_come_in_the_order_of_the_questions(self, clerk, desk):
        """And in the thread of whoever delivers them."""
        got = []
        for number in range(50):
            clerk.ask(
                lambda queue, number=number: number,
                lambda answer: got.append((answer, threading.current_thread())),
            )
        run(desk, lambda: len(got) == 50)
        assert [answer for answer, _ in got] == list(range(50))
        assert {thread for _, thread in got} == {threading.main_thread()}

    def test_errors_of_the_queue_are_answers(self, clerk, desk):
        """A busy queue, a full disk, a task that is gone."""
        got = []
        full = OSError(28, "No space left on device", "outcome.json")
        for error in (QueueBusy("locked"), full, NotFound("gone")):

            def fail(queue, error=error):
                raise error

            clerk.ask(fail, got.append)
        run(desk, lambda: len(got) == 3)
        assert [type(error) for error in got] == [QueueBusy, QueueError, QueueError]
        assert "outcome.json: No space left" in got[1].message

    def test_a_mistake_of_ours_is_raised_where_it_is_seen(self, clerk, desk):
        """In the loop's thread, not lost in another."""
        clerk.ask(lambda queue: 1 / 0, lambda answer: None)
        with pytest.raises(ZeroDivisionError):
            run(desk, lambda: False)

    def test_a_change_of_the_queue_rings(self, clerk, desk, queue):
        """In the loop's thread."""
        rings = []
        clerk.rang = lambda: rings.append(threading.current_thread())
        queue.bell.release()
        run(desk, lambda: rings)
        assert rings == [threading.main_thread()]

    def test_it_finishes_what_was_asked_before_it_goes(self, queue):
        """And lets go of the queue."""
        clerk = Clerk(lambda: queue)
        clerk.start()
        for _ in range(20):
            clerk.ask(lambda queue: queue.find(None), lambda answer: None)
        assert clerk.close(PATIENCE)
        assert queue.asked == ["find"] * 20
        assert not queue.open

    def test_a_queue_that_hangs_does_not_keep_it(self, queue):
        """Whoever closes it waits so long and no longer."""
        clerk, hang = Clerk(lambda: queue), threading.Event()
        clerk.start()
        clerk.ask(lambda queue: hang.wait(PATIENCE), lambda answer: None)
        assert not clerk.close(0.01)
        hang.set()


class TestDesk:
    def test_a_settlement_that_fails_is_repeated_until_it_holds(self, desk, queue, said):
        """It is said once that the queue fails, and once that it answers again."""
        queue.failing["settle"] = [QueueBusy("locked")] * 3
        got = []
        desk.settle(LEASE, Closed(reason="done"), got.append)
        run(desk, lambda: got)
        assert got == [TASK]
        assert queue.asked == ["settle"] * 4
        assert said == ["queue_failed", "queue_healed"]
        assert not desk.busy
        assert desk.problem == ""

    def test_evidence_comes_before_the_queue(self, desk, queue):
        """If it cannot be written, the queue is not told."""
        wrote, got = [], []

        def evidence():
            wrote.append(list(queue.asked))
            if len(wrote) == 1:
                raise OSError(28, "No space left on device")

        desk.settle(LEASE, Closed(reason="done"), got.append, evidence)
        run(desk, lambda: got)
        assert wrote == [[], []]
        assert queue.asked == ["settle"]

    def test_one_thing_that_fails_keeps_nothing_else_from_being_asked(self, desk, queue, said):
        """A claim goes on beside a settlement that never holds, and nothing is said twice."""
        queue.failing["settle"] = [QueueBusy("locked")] * 1000
        desk.settle(LEASE, Closed(reason="done"), lambda answer: None)
        got = []
        for times in range(1, 6):
            desk.claim(1, got.append)
            run(desk, lambda times=times: len(got) == times)
        assert desk.problem == "locked"
        assert said == ["queue_failed"]

    def test_only_what_a_task_waits_for_is_owed(self, desk, queue):
        """A claim that fails keeps nobody from ending; a settlement does."""
        queue.failing = {"claim": [QueueBusy("locked")] * 9, "settle": [QueueBusy("locked")] * 9}
        desk.claim(1, lambda leases: None)
        run(desk, lambda: desk.problem)
        assert desk.busy
        assert not desk.owing
        desk.settle(LEASE, Closed(reason="done"), lambda answer: None)
        run(desk, lambda: len(desk._failing) == 2 and not desk.clerk.waiting)
        assert desk.owing

    def test_pauses_grow_for_each_thing_by_itself(self, desk, queue):
        """Many that fail together do not push each other back."""
        queue.failing["renew"] = [QueueBusy("locked")] * 20
        got = []
        for _ in range(20):
            desk.renew(LEASE, got.append)
        run(desk, lambda: queue.asked.count("renew") >= 20)
        run(desk, lambda: len(got) == 20)
        assert desk.next_moment == float("inf")

    @pytest.mark.parametrize("verb", ["settle", "renew"])
    def test_a_task_that_is_gone_is_a_lost_lease(self, desk, queue, verb):
        """And not a queue that fails for ever."""
        queue.failing[verb] = [NotFound("no such task")]
        got = []
        if verb == "settle":
            desk.settle(LEASE, Closed(reason="done"), got.append)
        else:
            desk.renew(LEASE, got.append)
        run(desk, lambda: got)
        assert got == [LeaseLost(task_id="fleet-1", why="no such task")]
        assert desk.problem == ""

    def test_a_wish_is_handed_over_once(self, desk, queue):
        """However often somebody rings before it is struck out: to stop twice means at once."""
        queue.wishes = [Request(id="1", task_id="fleet-1", wish="stop", asked_at=NOW)]
        queue.failing["answered"] = [QueueBusy("locked")] * 2
        got = []
        for _ in range(3):
            desk.requests(lambda _: True, got.append)
            run(desk, lambda: not desk._asking)
        run(desk, lambda: not desk.busy)
        assert [request.id for request in got] == ["1"]
        assert queue.wishes == []

    def test_a_wish_for_another_supervisor_is_left_to_it(self, desk, queue):
        """On a queue that machines share, only whoever runs the task can carry it out."""
        queue.wishes = [
            Request(id="1", task_id="theirs", wish="stop", asked_at=NOW),
            Request(id="2", task_id="fleet-1", wish="stop", asked_at=NOW),
        ]
        got = []
        desk.requests(lambda request: request.task_id == "fleet-1", got.append)
        run(desk, lambda: not desk.busy)
        assert [request.id for request in got] == ["2"]
        assert [request.id for request in queue.wishes] == ["1"]

    def test_leases_are_renewed_once_a_minute(self, desk):
        """At once the first time."""
        assert desk.renew_due(1000.0)
        assert not desk.renew_due(1059.0)
        assert desk.renew_due(1060.0)
