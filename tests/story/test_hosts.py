"""Three hosts in network namespaces, on one PostgreSQL."""

import json
import time

import pytest

from tests.conftest import SLOW


def test_a_task_goes_to_the_host_that_fits_and_on_to_another_when_its_host_is_cut_off(cluster):
    """No host blocks what it cannot run; a cut-off agent is dead before its successor begins."""
    plain, gpu = cluster.host(), cluster.host(host_labels="gpu")
    for machine in (plain, gpu):
        machine.supervise()
    bound = cluster.add("work:0.2 tool done end", needs=["host:gpu"])
    nowhere = cluster.add("done end", needs=["host:tpu"])
    elsewhere = cluster.add("done end", cwd="/nowhere/at/all")
    assert cluster.until_status(bound, "closed").last_host == cluster.id_of("host2")
    moved = cluster.add("deaf work:30 | work:0.2 tool done end", needs=["host:gpu"])
    cluster.until(lambda: any(task == moved for task, _ in cluster.ledger()))
    gpu.cut()
    cut_at = time.monotonic()
    third = cluster.host(host_labels="gpu")
    third.supervise()
    task = cluster.until_status(moved, "closed")
    assert task.last_host == cluster.id_of("host3")
    assert (task.runs, task.attempts) == (2, 0), "the loss is a run more, and costs no attempt"
    assert cluster.overlaps() == []
    begins = sorted(first for (each, _), (first, _) in cluster.ledger().items() if each == moved)
    assert begins[1] - cut_at <= 12 + 5 + 5, "lease, and the time to hear of it"
    gpu.mend()
    for waits in (nowhere, elsewhere):
        assert cluster.queue.get(waits).status == "open"
    assert "no host fits: needs tpu; hosts with it: none up" in plain.fleet("show", nowhere)
    assert "its directory /nowhere/at/all is not there" in plain.fleet("ready")
    hosts = json.loads(plain.fleet("hosts", "--json"))
    assert [each["host"]["name"] for each in hosts] == ["host1", "host2", "host3"]


@pytest.mark.skipif(not SLOW, reason="make slow: two minutes of waiting")
def test_a_server_that_is_stopped_and_comes_back_loses_nothing(cluster):
    """Shorter than the lease no run is lost; longer, the run is ended and begun anew."""
    host = cluster.host(lease_s=30)
    host.supervise()
    task = cluster.add("work:12 tool done end")
    cluster.until(cluster.ledger)
    cluster.queue.close()
    cluster.server.stop()
    time.sleep(6)
    cluster.server.start()
    assert cluster.until_status(task, "closed").runs == 1
    again = cluster.add("work:60 | work:0.2 tool done end")
    cluster.until(lambda: any(each == again for each, _ in cluster.ledger()))
    cluster.queue.close()
    cluster.server.stop()
    time.sleep(40)
    cluster.server.start()
    found = cluster.until_status(again, "closed")
    assert (found.runs, found.attempts) == (2, 0)
    assert sum(each == again for each, _ in cluster.ledger()) == 2, cluster.screens()
    assert cluster.overlaps() == []


@pytest.mark.skipif(not SLOW, reason="make slow: what one host shows is in every test run")
def test_a_drained_host_finishes_and_a_lost_hosts_tasks_begin_at_once(cluster):
    """What a person says of a host is heard within a beat, also by a supervisor without a link."""
    one, two = cluster.host(lease_s=120), cluster.host(lease_s=120)
    one.supervise()
    cluster.until(lambda: "up" in one.fleet("hosts"))
    slow = cluster.add("work:8 tool done end")
    cluster.until(cluster.ledger)
    one.fleet("host", "drain", "host1")
    waits = cluster.add("work:60 | work:0.2 tool done end")
    assert cluster.until_status(slow, "closed").last_host == cluster.id_of("host1")
    assert cluster.queue.get(waits).status == "open"
    one.fleet("host", "resume", "host1")
    cluster.until(lambda: any(each == waits for each, _ in cluster.ledger()))
    one.vanish()
    two.supervise()
    assert "can begin elsewhere" in two.fleet("host", "lost", "host1", "--yes")
    assert cluster.until_status(waits, "closed").last_host == cluster.id_of("host2")


@pytest.mark.skipif(not SLOW, reason="make slow: the table refuses it in every test run")
def test_a_copied_home_is_refused_in_one_line(cluster):
    """Two supervisors with one id would renew each other's leases."""
    one = cluster.host()
    one.supervise()
    cluster.until(lambda: "up" in one.fleet("hosts"))
    two = cluster.host()
    (two.home.path / "owner").write_bytes((one.home.path / "owner").read_bytes())
    assert two.supervise().wait(60) != 0
    assert "another supervisor works on this queue as" in two.screen()
    assert "Traceback" not in two.screen()
