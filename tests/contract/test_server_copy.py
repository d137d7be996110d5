"""A server that was replaced by a copy of an earlier state, as the hosts on it find out."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta

import pytest

from fleet.queue.protocol import Draft
from fleet.queue.sql.hosts import host_table, server_copy
from fleet.queue.sql.postgres import open_postgres
from fleet.supervisor.hosts.server_memory import ServerMemory
from tests.contract.test_hosts import TTL, a_host


@pytest.fixture
def queue(postgres_dsn):
    with closing(open_postgres(postgres_dsn)) as found:
        found.db.rows("DELETE FROM hosts")
        host_table.register(found, a_host(), machine="m")
        yield found


@pytest.fixture
def told():
    return []


@pytest.fixture
def memory(queue, told):
    """A host that was heard of."""
    found = ServerMemory("home1", TTL, lambda _, text: told.append(text))
    found.check(queue)
    found.beaten(queue)
    return found


def go_back(queue):
    """As if the server were a copy of a minute ago."""
    queue.db.rows("UPDATE hosts SET seen_at = seen_at - 60000000")


def reconnected(dsn):
    return closing(open_postgres(dsn))


def test_a_server_that_stays_is_claimed_from(queue, memory, told, postgres_dsn):
    """Also on a new connection, and after its hosts have beaten again."""
    assert memory.may_claim(queue)
    host_table.beat(queue, a_host())
    with reconnected(postgres_dsn) as other:
        assert memory.may_claim(other)
    assert told == []
    assert not memory.went_back.is_set()


def test_a_server_that_does_not_know_the_last_heartbeat_is_a_copy(queue, memory, told):
    """No host claims for a lease: by then every run that the copy does not know has ended."""
    go_back(queue)
    assert not memory.may_claim(queue)
    (line,) = told
    assert "the queue is a copy of an earlier state" in line
    assert memory.went_back.is_set()
    found = server_copy.server_now(queue, "home1")
    assert found.claims_from is not None
    assert abs(found.claims_from - queue.db.now() - TTL) < timedelta(seconds=60)


def test_a_host_names_the_tasks_that_the_copy_does_not_know(queue, told):
    """They are in its home, and will not run: a person has to make them again."""
    found = ServerMemory(
        "home1", TTL, lambda _, text: told.append(text), lambda _: ["fleet-a", "fleet-b"]
    )
    found.check(queue)
    found.beaten(queue)
    go_back(queue)
    found.may_claim(queue)
    _, line = told
    assert "2 tasks of this home are not in that copy: fleet-a, fleet-b" in line
    assert "fleet queue status" in line


def test_a_host_that_was_removed_while_it_was_silent_holds_no_other_host_up(queue, memory, told):
    """It comes back, and the server that forgot it is no copy; a copy of before that is."""
    queue.db.rows("UPDATE hosts SET state = 'gone'")  # as if it were silent for long
    host_table.remove(queue, host_table.find_host(queue, "one"))
    assert memory.may_claim(queue)
    memory.check(queue)
    assert told == []
    assert host_table.register(queue, a_host(), machine="m") == "up"
    memory.beaten(queue)
    queue.db.rows("DELETE FROM hosts")
    memory.check(queue)
    assert len(told) == 1


def test_another_host_waits_for_what_the_first_one_found(queue, memory, told):
    """Also one that was never heard of before, and cannot know."""
    go_back(queue)
    memory.check(queue)
    fresh = ServerMemory("home2", TTL, lambda _, text: told.append(text))
    assert not fresh.may_claim(queue)
    assert "another host found it" in told[-1]


@pytest.mark.parametrize("changed", ["1/00000001/2", "of another cluster"])
def test_a_server_with_another_stamp_is_a_copy(queue, memory, changed):
    """A standby that was promoted, or a dump that was restored: even if it knows the heartbeat."""
    server_copy.note_server(queue, changed)
    assert not memory.may_claim(queue)
    assert server_copy.server_now(queue, "home1").noted not in ("", changed), "noted once"


def test_the_copy_is_claimed_from_once_the_lease_is_over(queue, told):
    """The first claim after that takes what was in hand on the server that is gone."""
    short = ServerMemory("home1", timedelta(0), lambda _, text: told.append(text))
    short.check(queue)
    short.beaten(queue)
    go_back(queue)
    assert short.may_claim(queue)
    queue.add(Draft(title="t"))
    assert len(queue.claim("home1", ttl=TTL, offer=a_host().offer)) == 1


def test_a_restored_dump_has_other_tables(queue, memory, new_postgres_dsn):
    """`pg_restore` makes them anew, also in the cluster that the dump came from."""
    with closing(open_postgres(new_postgres_dsn)) as copy:
        one, two = (server_copy.server_now(each, "home1").stamp for each in (queue, copy))
    assert one.split("/")[:2] == two.split("/")[:2]
    assert one != two


def test_a_claim_that_hangs_keeps_no_heartbeat_waiting(queue, memory, postgres_dsn, monkeypatch):
    """The two threads share what they know, and no lock."""
    asked, answer = threading.Event(), threading.Event()

    def hangs(*words):
        asked.set()
        assert answer.wait(60)
        return server_now(*words)

    server_now = server_copy.server_now
    with reconnected(postgres_dsn) as other, ThreadPoolExecutor(1) as pool:
        monkeypatch.setattr(server_copy, "server_now", hangs)
        claim = pool.submit(memory.may_claim, other)
        assert asked.wait(60)
        monkeypatch.setattr(server_copy, "server_now", server_now)
        memory.check(queue)
        host_table.beat(queue, a_host())
        memory.beaten(queue)
        answer.set()
        assert claim.result(60), "what was asked before the beat is not held against it"
