"""The heartbeat's thread on a real PostgreSQL: it lasts whatever a beat meets."""

import threading
from contextlib import closing, contextmanager

import pytest

from fleet.queue.sql.hosts import host_table
from fleet.queue.sql.hosts.shared_news import spends_elsewhere
from fleet.queue.sql.postgres import open_postgres
from fleet.supervisor.hosts.heartbeat import Heartbeat
from tests.contract.test_hosts import TTL, a_host


@pytest.fixture
def queue(postgres_dsn):
    with closing(open_postgres(postgres_dsn)) as found:
        for table in ("hosts", "spending"):
            found.db.rows(f"DELETE FROM {table}")
        yield found


@contextmanager
def beating(postgres_dsn, said):
    beat = Heartbeat(
        lambda: open_postgres(postgres_dsn), a_host(), machine="m", lease=TTL,
        say=lambda kind, text: said.append(f"{kind}: {text}"),
    )  # fmt: skip
    beat.start()
    try:
        yield beat
    finally:
        beat.close(10)


def test_a_beat_that_fails_in_an_unforeseen_way_is_told_and_tried_again(
    queue, postgres_dsn, monkeypatch
):
    """A thread that ends without a word would make the host look dead for good."""
    monkeypatch.setattr("fleet.supervisor.hosts.heartbeat.AGAIN", 0.01)
    failures, healed, said = [3], threading.Event(), []
    carry = "fleet.supervisor.hosts.heartbeat.Exchange.carry"

    def carried(*_):
        if failures[0] > 0:
            failures[0] -= 1
            raise ValueError("what no one thought of")
        healed.set()

    monkeypatch.setattr(carry, carried)
    with beating(postgres_dsn, said):
        assert healed.wait(30), said
    told = [line for line in said if "heartbeat_failed" in line]
    assert len(told) == 1, said
    assert "ValueError: what no one thought of" in told[0]
    assert host_table.find_host(queue, "one").state == "gone", "it left in order"


def test_what_a_later_fleet_tells_of_spending_stops_no_beat(queue):
    """The rest is heard."""
    row = "INSERT INTO spending (task_id, run, day, host, spend, at) VALUES "
    queue.db.rows(f"{row} ('t', 1, 'd', 'home2', '[\"of later\"]', 1)")
    queue.db.rows(f"{row} ('t', 2, 'd', 'home2', '{{\"tokens\": 5}}', 2)")
    found, _ = spends_elsewhere(queue, "home1", "d", None)
    assert [(each.run, each.spend.tokens) for each in found] == [(2, 5)]
