"""Calls of the queue: answered in order, errors delivered, none dropped, none made in vain."""

import select
import threading
import time
from datetime import timedelta
from functools import partial

import pytest

from fleet.errors import NotFound, QueueBusy
from fleet.queue.protocol import LeaseLost
from fleet.schemas import Closed
from fleet.schemas.backoff import Backoff
from fleet.supervisor.queue_io import keep_leases, queue_thread
from fleet.supervisor.queue_io.queue_thread import DueSettlement, QueueThread
from tests.builders import a_lease

LEASE = a_lease()
TTL = timedelta(minutes=1)
PATIENCE = 10.0


class FakeQueue:
    """Answers what it was told to, and remembers what it was asked."""

    def __init__(self):
        self.asked = []
        self.failing = {}
        self.bell = threading.Semaphore(0)
        self.open = True
        self.together = []

    def _do(self, name, answer):
        self.asked.append(name)
        if self.failing.get(name):
            raise self.failing[name].pop(0)
        return answer

    def claim(self, owner, *, count, ttl, offer=None):
        return self._do("claim", [LEASE] * count)

    def settle(self, settlements):
        self.together.append(len(settlements))
        try:
            return self._do("settle", [None] * len(settlements))
        except NotFound as error:
            return [error] * len(settlements)

    def renew(self, lease, *, ttl):
        return self._do("renew", lease)

    def find(self, want):
        return self._do("find", [LEASE.task])

    def wait(self, timeout):
        return self.bell.acquire(timeout=0.2)

    def close(self):
        self.open = False


@pytest.fixture
def queue():
    return FakeQueue()


@pytest.fixture
def thread(queue, said, monkeypatch):
    monkeypatch.setattr(queue_thread, "_BACKOFF", Backoff(0.01, 10.0))
    thread = a_thread(queue, said)
    yield thread
    thread.close(PATIENCE)


def a_thread(queue, said=()):
    thread = QueueThread(lambda: queue, lambda action, text: said.append(action))
    thread.start()
    return thread


def settle(thread, then, evidence=lambda: None):
    def settled():
        evidence()
        return Closed(reason="done")

    thread.call(DueSettlement(LEASE, settled), then, owed=True)


def claim(thread, then):
    thread.call(lambda queue: queue.claim("me", count=1, ttl=TTL), then)


def renew(thread, then):
    thread.call(partial(keep_leases._renew, LEASE, TTL), lambda answer: then(answer[1]))


def run(thread, until):
    """Turn the loop until a fact holds."""
    end = time.monotonic() + PATIENCE
    while not until():
        assert time.monotonic() < end, "waited in vain"
        if select.select([thread.fileno()], [], [], 0.01)[0]:
            thread.deliver()
        thread.retry()


class TestQueueThread:
    def test_answers_come_in_the_order_of_the_questions(self, thread):
        """And in the thread that calls `deliver`."""
        got = []
        for number in range(50):
            thread.call(
                lambda queue, number=number: number,
                lambda answer: got.append((answer, threading.current_thread())),
            )
        run(thread, lambda: len(got) == 50)
        assert [answer for answer, _ in got] == list(range(50))
        assert {thread for _, thread in got} == {threading.main_thread()}

    def test_a_call_that_the_queue_fails_is_made_again(self, thread, said):
        """A busy queue, a full disk, a task that is gone; and the message is kept meanwhile."""
        full = OSError(28, "No space left on device", "outcome.json")
        errors, problems, got = [NotFound("gone"), full, QueueBusy("locked")], [], []

        def fail(queue):
            problems.append(thread.problem)
            if errors:
                raise errors.pop()
            return "done"

        thread.call(fail, got.append)
        run(thread, lambda: got)
        assert problems == ["", "locked", "outcome.json: No space left on device", "gone"]
        assert (got, said) == (["done"], ["queue_failed", "queue_healed"])

    def test_a_defect_is_raised_in_the_loops_thread(self, thread):
        """In the loop's thread, not lost in another."""
        thread.call(lambda queue: 1 / 0, lambda answer: None)
        with pytest.raises(ZeroDivisionError):
            run(thread, lambda: False)

    def test_a_change_of_the_queue_rings(self, thread, queue):
        """In the loop's thread."""
        rings = []
        thread.on_change = lambda: rings.append(threading.current_thread())
        queue.bell.release()
        run(thread, lambda: rings)
        assert rings == [threading.main_thread()]

    def test_it_finishes_what_was_asked_before_it_goes(self, queue):
        """And lets go of the queue."""
        thread = a_thread(queue)
        for _ in range(20):
            thread.call(lambda queue: queue.find(None), lambda answer: None)
        assert thread.close(PATIENCE)
        assert queue.asked == ["find"] * 20
        assert not queue.open

    def test_a_queue_that_hangs_does_not_keep_it(self, queue):
        """`close` returns when its time is over."""
        thread, hang = a_thread(queue), threading.Event()
        thread.call(lambda queue: hang.wait(PATIENCE), lambda answer: None)
        assert not thread.close(0.01)
        hang.set()


class TestWhatIsAsked:
    def test_a_settlement_that_fails_is_repeated_until_it_holds(self, thread, queue, said):
        """It is said once that the queue fails, and once that it answers again."""
        queue.failing["settle"] = [QueueBusy("locked")] * 3
        got = []
        settle(thread, got.append)
        run(thread, lambda: got)
        assert got == [None]
        assert queue.asked == ["settle"] * 4
        assert said == ["queue_failed", "queue_healed"]
        assert not thread.busy
        assert thread.problem == ""

    def test_settlements_that_wait_are_made_together_and_in_order(self, thread, queue):
        """On beads each call starts a program, which costs as much for one task as for ten."""
        busy, got = threading.Event(), []
        thread.call(lambda queue: busy.wait(PATIENCE), lambda answer: None)
        for number in range(3):
            note = partial(queue.asked.append, f"evidence {number}")
            settle(thread, lambda _, n=number: got.append(n), note)
        claim(thread, lambda leases: got.append("claimed"))
        settle(thread, lambda _: got.append("last"))
        busy.set()
        run(thread, lambda: "last" in got)
        assert got == [0, 1, 2, "claimed", "last"]
        assert queue.together == [3, 1]
        assert queue.asked[:4] == ["evidence 0", "evidence 1", "evidence 2", "settle"]

    def test_evidence_comes_before_the_queue(self, thread, queue):
        """If it cannot be written, the queue is not told."""
        wrote, got = [], []

        def evidence():
            wrote.append(list(queue.asked))
            if len(wrote) == 1:
                raise OSError(28, "No space left on device")

        settle(thread, got.append, evidence)
        run(thread, lambda: got)
        assert wrote == [[], []]
        assert queue.asked == ["settle"]

    def test_one_thing_that_fails_keeps_nothing_else_from_being_asked(self, thread, queue, said):
        """A claim goes on beside a settlement that never holds, and nothing is said twice."""
        queue.failing["settle"] = [QueueBusy("locked")] * 1000
        settle(thread, lambda answer: None)
        got = []
        for times in range(1, 6):
            claim(thread, got.append)
            run(thread, lambda times=times: len(got) == times)
        assert thread.problem == "locked"
        assert said == ["queue_failed"]

    def test_only_what_a_task_waits_for_is_owed(self, thread, queue):
        """A claim that fails keeps no supervisor from ending; a settlement does."""
        queue.failing = {"claim": [QueueBusy("locked")] * 9, "settle": [QueueBusy("locked")] * 9}
        claim(thread, lambda leases: None)
        run(thread, lambda: thread.problem)
        assert thread.busy
        assert not thread.owing
        settle(thread, lambda answer: None)
        run(
            thread,
            lambda: len(thread._failing) == 2 and not thread._waiting,
        )
        assert thread.owing

    def test_pauses_grow_for_each_thing_by_itself(self, thread, queue):
        """Many that fail together do not push each other back."""
        queue.failing["renew"] = [QueueBusy("locked")] * 20
        got = []
        for _ in range(20):
            renew(thread, got.append)
        run(thread, lambda: queue.asked.count("renew") >= 20)
        run(thread, lambda: len(got) == 20)
        assert thread.next_moment == float("inf")

    @pytest.mark.parametrize("verb", ["settle", "renew"])
    def test_a_task_that_is_gone_is_a_lost_lease(self, thread, queue, verb):
        """And not a queue that fails for ever."""
        queue.failing[verb] = [NotFound("no such task")]
        got = []
        if verb == "settle":
            settle(thread, got.append)
        else:
            renew(thread, got.append)
        run(thread, lambda: got)
        assert got == [LeaseLost(task_id="fleet-1", why="no such task")]
        assert thread.problem == ""
