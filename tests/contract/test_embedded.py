"""The embedded queue keeps the contract."""

from contextlib import ExitStack, closing
from datetime import timedelta

import pytest

from fleet.errors import QueueError
from fleet.home import Home
from fleet.queue.protocol import Draft, Filter
from fleet.queue.sql import migrate
from fleet.queue.sql.sqlite import open_embedded
from fleet.runs.outcome_history import write_ending
from fleet.schemas import Blocked, Closed, NeedsHuman
from fleet.schemas.waits import Asks
from tests.builders import a_run, an_ending
from tests.contract.earlier_queue import (
    add_as_before,
    block_as_before,
    check_blocked_as_before,
)
from tests.contract.queue_contract import QueueContract


class TestEmbedded(QueueContract):
    @pytest.fixture
    def open_queue(self, tmp_path, clock):
        with ExitStack() as handles:
            yield lambda: handles.enter_context(closing(open_embedded(tmp_path, clock=clock)))

    def test_leases_that_end_together_are_one_commit(self, queue):
        """A commit waits for the disk: fifty runs that end at once do not wait fifty times."""
        leases = _leases(queue, 3)
        commits = []
        queue.db._connection.set_commit_hook(lambda: bool(commits.append(1)))
        assert queue.settle([(lease, Closed(reason="done")) for lease in leases]) == [None] * 3
        assert len(commits) == 1
        assert queue.counts() == {"closed": 3}

    def test_a_settlement_that_no_queue_takes_undoes_no_other(self, queue):
        """Those that were made together with it are each made by themselves."""
        first, second, third = _leases(queue, 3)
        impossible = Closed(reason=None)
        answers = queue.settle(
            [(first, Closed(reason="a")), (second, impossible), (third, Closed(reason="c"))]
        )
        assert [type(answer) for answer in answers] == [type(None), QueueError, type(None)]
        assert queue.get(second.task.id).lease_owner == "a"
        assert queue.counts() == {"closed": 2, "in_progress": 1}


def _leases(queue, count):
    for number in range(count):
        queue.add(Draft(title=f"task {number}"))
    return queue.claim("a", count=count, ttl=timedelta(minutes=5))


def test_a_queue_of_an_earlier_fleet_is_worked_on_after_its_next_open(tmp_path):
    """Its tasks are claimed, counted and listed as before."""
    with closing(open_embedded(tmp_path, steps=list(migrate.steps()[:1]))) as queue:
        add_as_before(queue, closed=["second"], waiting=["first"])
    with closing(open_embedded(tmp_path)) as queue:
        assert queue.counts() == {"open": 1, "closed": 1}
        assert [lease.task.id for lease in queue.claim("a", ttl=timedelta(minutes=5))] == ["first"]
        assert [task.id for task in queue.find(Filter(statuses=("closed",)))] == ["second"]


def test_why_tasks_of_an_earlier_fleet_wait_is_read_from_their_notes_once(tmp_path):
    """The notes were all that said so; a later line below a question took it away."""
    with closing(open_embedded(tmp_path, steps=list(migrate.steps()[:7]))) as queue:
        block_as_before(queue)
    with closing(open_embedded(tmp_path)) as queue:
        check_blocked_as_before(queue)


def test_a_question_without_its_mark_is_known_by_the_run_that_asked_it(tmp_path):
    """Some agents leave the mark out, and the notes alone do not tell."""
    with closing(open_embedded(tmp_path, steps=list(migrate.steps()[:7]))) as queue:
        block_as_before(queue)
        queue.db.rows("UPDATE tasks SET notes = 'Old or new?' WHERE id = 'asks'")
    run = a_run(Home(tmp_path).task("asks"))
    old = an_ending(NeedsHuman(question="Old or new?"), Blocked(note="Old or new?"))
    write_ending(run, old)
    with closing(open_embedded(tmp_path)) as queue:
        assert queue.get("asks").waits == Asks(text="Old or new?")
