"""The embedded queue keeps the contract."""

from contextlib import ExitStack, closing
from datetime import timedelta

import pytest

from fleet.queue.protocol import Filter
from fleet.queue.sql import migrate
from fleet.queue.sql.sqlite import open_embedded
from tests.contract.earlier_queue import add_as_before
from tests.contract.queue_contract import QueueContract


class TestEmbedded(QueueContract):
    @pytest.fixture
    def open_queue(self, tmp_path, clock):
        with ExitStack() as handles:
            yield lambda: handles.enter_context(closing(open_embedded(tmp_path, clock=clock)))


def test_a_queue_of_an_earlier_fleet_is_worked_on_after_its_next_open(tmp_path):
    """Its tasks are claimed, counted and listed as before."""
    with closing(open_embedded(tmp_path, steps=list(migrate.steps()[:1]))) as queue:
        add_as_before(queue, closed=["second"], waiting=["first"])
    with closing(open_embedded(tmp_path)) as queue:
        assert queue.counts() == {"open": 1, "closed": 1}
        assert [lease.task.id for lease in queue.claim("a", ttl=timedelta(minutes=5))] == ["first"]
        assert [task.id for task in queue.find(Filter(statuses=("closed",)))] == ["second"]
