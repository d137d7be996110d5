"""What people told a task's agents outlasts the host that has the task, on a real PostgreSQL."""

from contextlib import closing
from datetime import timedelta
from types import SimpleNamespace

import pytest

from fleet.config import Config
from fleet.home import Home, make_home, messages
from fleet.home.journal import Log
from fleet.queue.protocol import Draft
from fleet.queue.sql.postgres import open_postgres
from fleet.runs.questions import questions_file
from fleet.runs.questions.questions_file import add_block
from fleet.supervisor.hosts.host_travel import HostTravel, _send_task_files
from fleet.travel import in_step
from fleet.travel.shared_queue import SharedQueue
from tests.builders import NOW

TTL = timedelta(minutes=5)


@pytest.fixture
def queue(postgres_dsn):
    with closing(open_postgres(postgres_dsn)) as opened:
        yield opened


@pytest.fixture
def host(tmp_path, postgres_dsn):
    def make(name):
        home = Home(tmp_path / name)
        make_home(home)
        opening = lambda: open_postgres(postgres_dsn)  # noqa: E731
        log = Log(home.logging, lambda: NOW)
        return home, HostTravel(home, Config(), opening, list, log, me=name)

    return make


def claim(queue, owner):
    """The one task, whose lease has run out if it had any."""
    queue.db.rows("UPDATE tasks SET lease_until = 0 WHERE lease_until IS NOT NULL")
    (lease,) = queue.claim(owner, ttl=TTL)
    return lease


def told(home, task_id):
    return [each.message.text for each in messages.read(home.task(task_id))]


def test_a_message_that_a_lost_host_took_is_told_by_the_next(queue, host):
    """It waited in the queue when the host took the task in hand."""
    task_id = queue.add(Draft(title="t")).id
    text = messages.packed(messages.Message(text="use the old one", by="ada", at=NOW))
    queue.request(task_id, "tell", text=text)
    for name in ("alpha", "beta"):
        home, travel = host(name)
        assert not travel.arrive(claim(queue, name)).trouble
        assert told(home, task_id) == ["use the old one"], name
    assert queue.requests() == []


def test_a_message_to_a_living_run_of_a_lost_host_is_told_by_the_next(queue, host):
    """Its agent may have read it, and what it did then is lost with the host."""
    task_id = queue.add(Draft(title="t")).id
    home, travel = host("alpha")
    lease = claim(queue, "alpha")
    assert not travel.arrive(lease).trouble
    messages.add(home.task(task_id), "stop at once", by="ada", at=NOW)
    calls = []
    thread = SimpleNamespace(call=lambda do, then: calls.append(do))
    travel.keep_words(lease, thread)
    add_block(home.task(task_id), "## A: now\n\nthe old one\n")
    for _ in range(2):
        travel.keep_words(lease, thread)
    assert len(calls) == 2, "once for each word"
    assert [call(queue) for call in calls] == [None, None]
    other, their_travel = host("beta")
    assert not their_travel.arrive(claim(queue, "beta")).trouble
    assert told(other, task_id) == ["stop at once"]
    assert "the old one" in questions_file.read(other.task(task_id))
    assert calls[0](queue) is not None, "under a lost lease nothing is kept"


def test_a_host_that_lost_its_lease_leaves_the_message_in_the_queue(queue, host):
    """The host that has the task by now takes it."""
    task_id = queue.add(Draft(title="t")).id
    _, travel = host("alpha")
    stale = claim(queue, "alpha")
    lease = claim(queue, "beta")
    text = messages.packed(messages.Message(text="use the old one", by="ada", at=NOW))
    queue.request(task_id, "tell", text=text)
    assert not travel.arrive(stale).trouble
    assert len(queue.requests()) == 1
    home, travel = host("beta")
    assert not travel.arrive(lease).trouble
    assert told(home, task_id) == ["use the old one"]


def test_artifacts_that_were_sent_are_noted_as_common(queue, host):
    """An edit after that is told from what the queue has not heard of."""
    task_id = queue.add(Draft(title="t")).id
    home, _ = host("alpha")
    shared = SharedQueue(queue, Config())
    add_block(home.task(task_id), "## Q: Which?\n")
    _send_task_files(shared, home, claim(queue, "alpha"))
    assert in_step.edited(home.task(task_id)) == {}
    add_block(home.task(task_id), "## A: now\n\nBlue.\n")
    assert list(in_step.edited(home.task(task_id))) == ["artifacts/Q&A.md"]
