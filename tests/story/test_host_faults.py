"""What can befall one of several hosts, and the server: nothing is lost, nothing overlaps, and each
is said in one clear line.
"""

import shutil
from pathlib import Path

import psutil
import pytest

import fleet
from tests.conftest import missing, only_slow
from tests.story.scene import processes_of

pytestmark = only_slow  # minutes of waiting; what decides is in tests/contract/test_server_copy.py


@pytest.mark.parametrize("promoted", [False, True], ids=["a copy", "a promoted standby"])
def test_a_server_that_is_replaced_by_an_earlier_copy(cluster, promoted):
    """The copy knows neither the lease that was taken since nor the task that was closed: the run
    is ended before another one begins, and the closed task is closed again without a run.
    """
    one = cluster.host()
    one.supervise()
    closed = cluster.add("work:6 tool done end")
    cluster.until_begun(closed)
    later = cluster.add("deaf work:25 tool done end", needs=["host:gpu"])
    cluster.server.copy()
    two = cluster.host(host_labels="gpu")
    two.supervise()
    cluster.until_begun(later)
    cluster.until_status(closed, "closed")
    cluster.queue.close()
    cluster.server.fail_over(promoted=promoted)
    assert cluster.queue.get(later).fence == 0, "the copy does not know of the lease"
    third = cluster.host(host_labels="gpu")
    third.supervise()
    found = cluster.until_status(later, "closed", patience=90)
    assert found.attempts == 0
    assert len(cluster.lives(later)) == 2
    assert cluster.overlaps() == []
    assert cluster.until_status(closed, "closed")
    assert len(cluster.lives(closed)) == 1, cluster.screens()
    for host in (one, two):
        assert host.screen().count("the queue is a copy of an earlier state") == 1


@pytest.mark.parametrize("off", ["+1h", "-1h"])
def test_a_clock_that_is_an_hour_off(cluster, off):
    """Only the server's clock counts: for leases, and for when a task is tried again."""
    if shutil.which("faketime") is None:
        missing("faketime")
    wrong = cluster.host(host_labels="wrong", retry_wait_s=6)
    wrong.env["FAKETIME_DONT_FAKE_MONOTONIC"] = "1"
    wrong.supervise(under=("faketime", "-f", off))
    right = cluster.host()
    right.supervise()
    held = cluster.add("work:20 tool done end", needs=["host:wrong"])
    again = cluster.add("work:0.2 exit:3 | work:0.2 tool done end", needs=["host:wrong"])
    cluster.until_begun(held)
    cluster.queue.add_metadata(held, {"fleet": {"needs": []}})  # the other host would take it too
    assert cluster.until_status(again, "closed").runs == 2
    first, second = cluster.lives(again)
    assert 5 < second[0] - first[1] < 600, "by no clock that is an hour off"
    assert cluster.until_status(held, "closed").runs == 1
    assert cluster.overlaps() == []
    where = "ahead of" if off == "+1h" else "behind"
    assert wrong.screen().count(f"the clock of this machine is 1h {where} the queue's") == 1
    assert "the clock of" not in right.screen()


def test_a_host_that_sleeps_past_its_lease(cluster):
    """Its agent stands still while its successor works, and is ended as soon as the host wakes:
    what it did cannot be settled, and the keeper needs no supervisor for that.
    """
    asleep, other = cluster.host(), cluster.host()
    asleep.supervise()
    task = cluster.add("deaf work:40 tool done end")
    cluster.until_begun(task)
    agents = [pid for each, pid in cluster.ledger() if each == task]
    asleep.sleep()
    other.supervise()
    cluster.until_begun(task, 2)
    asleep.wake()
    cluster.until(lambda: not psutil.pid_exists(int(agents[0])), patience=20)
    found = cluster.until_status(task, "closed")
    assert found.last_host == cluster.id_of("host2")
    assert (found.runs, found.attempts) == (2, 0)
    first, second = cluster.lives(task)
    assert first[1] - second[0] < 30, "a look of the keeper, the grace, and a slow machine"
    assert "lease is lost" in asleep.screen()


def test_supervisor_and_keeper_stand_still_and_the_agent_does_not(cluster):
    """The one case in which nothing on the host can end the agent: it lives beside its successor
    until the keeper goes on, and can settle nothing.
    """
    stuck, other = cluster.host(), cluster.host()
    stuck.supervise()
    task = cluster.add("work:60 | work:0.2 tool done end")
    cluster.until_begun(task)
    (agent,) = [int(pid) for each, pid in cluster.ledger() if each == task]
    guards = [each for each in processes_of(stuck.home.path) if each.pid != agent]
    for each in guards:
        each.suspend()
    other.supervise()
    cluster.until_begun(task, 2)
    for each in guards:
        each.resume()
    cluster.until(lambda: not psutil.pid_exists(agent), patience=20)
    found = cluster.until_status(task, "closed")
    assert (found.last_host, found.attempts) == (cluster.id_of("host2"), 0)


def test_a_host_that_lies_about_its_labels(cluster):
    """What fails there counts as an attempt, over all hosts; a person is asked, and nothing is
    tried for ever.
    """
    liar = cluster.host(host_labels="gpu", retry_limit=2)
    liar.supervise()
    task = cluster.add("work:0.1 exit:3", needs=["host:gpu"])
    found = cluster.until_status(task, "blocked")
    assert len(cluster.lives(task)) == 2
    assert found.last_host == cluster.id_of("host1")


@pytest.fixture
def later(tmp_path):
    """A later fleet: this one with one more step of the schema. Its directory, for PYTHONPATH."""
    package = Path(fleet.__file__).parent
    shutil.copytree(package, tmp_path / "fleet", ignore=shutil.ignore_patterns("__pycache__"))
    steps = tmp_path / "fleet" / "queue" / "sql" / "migrations"
    number = len(list(steps.glob("*.sql"))) + 1
    (steps / f"{number:03}_later.sql").write_text("ALTER TABLE tasks ADD COLUMN later TEXT;\n")
    return str(tmp_path)


def test_a_rolling_upgrade(cluster, later):
    """The first upgraded host migrates the queue; the others finish what they have and take nothing
    more, say so in one line, and work on once they are upgraded.
    """
    old = cluster.host(host_labels="old")
    running = old.supervise()
    task = cluster.add("work:12 tool done end")
    cluster.until_begun(task)
    new = cluster.host()
    new.env["PYTHONPATH"] = later
    new.supervise()
    cluster.until(lambda: "a later fleet has brought the queue to schema" in old.screen())
    waits = cluster.add("work:0.2 tool done end", needs=["host:old"])
    taken = cluster.add("work:0.2 tool done end")
    assert cluster.until_status(taken, "closed").last_host == cluster.id_of("host2")
    assert cluster.until_status(task, "closed").last_host == cluster.id_of("host1")
    assert cluster.queue.get(waits).status == "open"
    assert "Upgrade this one" in old.fleet("queue", "status", check=False)
    assert old.screen().count("a later fleet has brought the queue") == 1

    running.terminate()
    assert running.wait(60) == 0
    assert old.supervise().wait(60) != 0, "the earlier fleet does not start"
    assert (
        "A later fleet has opened the queue. Upgrade this one; nothing was changed." in old.screen()
    )
    old.env["PYTHONPATH"] = later
    old.supervise()
    assert cluster.until_status(waits, "closed").last_host == cluster.id_of("host1")
    assert cluster.overlaps() == []
    kept = cluster.queue.db.rows(
        "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'fleet_back%'"
    )
    assert kept[0][0] == 1, "the tables as they were"
