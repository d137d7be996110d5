"""How a waiting supervisor hears of a change."""

import threading
import time
from datetime import timedelta

from fleet.queue.protocol import Draft
from fleet.schemas import Closed
from tests.settled import settle

AT_ONCE = timedelta(0)
LONG = timedelta(seconds=20)


def drain(queue):
    """Hear everything there is to hear by now."""
    for _ in range(20):
        if not queue.wait(AT_ONCE):
            return
    raise AssertionError("the queue keeps ringing although nothing changes")


class Waking:
    def test_a_quiet_queue_lets_one_sleep(self, queue):
        """Without a change `wait` lasts as long as asked and says False."""
        drain(queue)
        started = time.monotonic()
        assert queue.wait(timedelta(milliseconds=200)) is False
        assert time.monotonic() - started >= 0.19

    def test_a_write_of_another_handle_is_heard(self, queue, open_queue):
        """What was written while no handle waited is heard by the next wait."""
        other = open_queue()
        drain(queue)
        other.add(Draft(title="news"))
        assert queue.wait(LONG) is True

    def test_a_sleeping_queue_is_woken(self, queue, open_queue):
        """A write ends a wait that has already begun, long before its time is over."""
        other = open_queue()
        drain(queue)
        writer = threading.Timer(0.2, other.add, [Draft(title="news")])
        started = time.monotonic()
        writer.start()
        try:
            assert queue.wait(LONG) is True
        finally:
            writer.join()
        assert time.monotonic() - started < LONG.total_seconds() / 2

    def test_a_settled_task_and_a_wish_are_heard(self, queue, open_queue):
        """The ends of leases and the wishes of people wake a supervisor too."""
        other = open_queue()
        task_id = other.add(Draft(title="t")).id
        (lease,) = other.claim("a", ttl=timedelta(minutes=5))
        drain(queue)
        other.request(task_id, "stop")
        assert queue.wait(LONG) is True
        drain(queue)
        settle(other, lease, Closed(reason="done"))
        assert queue.wait(LONG) is True
