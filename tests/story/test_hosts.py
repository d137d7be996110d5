"""Three hosts in network namespaces, on one PostgreSQL."""

import json
import time

import pytest

from tests.conftest import missing
from tests.contract.postgres_server import binaries
from tests.machines.cluster import Cluster
from tests.machines.network import missing_tool


@pytest.fixture
def cluster():
    tool = missing_tool() or ("" if binaries() else "postgresql")
    if tool:
        missing(tool)
    found = Cluster()
    yield found
    found.close()


def test_a_task_goes_to_the_host_that_fits_and_on_to_another_when_its_host_is_cut_off(cluster):
    """No host blocks what it cannot run; a cut-off agent is dead before its successor begins."""
    plain, gpu = cluster.host(), cluster.host(host_labels="gpu")
    for machine in (plain, gpu):
        machine.supervise()
    bound = cluster.add("work:0.2 tool done end", needs=["host:gpu"])
    nowhere = cluster.add("done end", needs=["host:tpu"])
    elsewhere = cluster.add("done end", cwd="/nowhere/at/all")
    assert cluster.until_status(bound, "closed").last_host == _id(cluster, "host2")
    moved = cluster.add("deaf work:30 | work:0.2 tool done end", needs=["host:gpu"])
    cluster.until(lambda: any(task == moved for task, _ in cluster.ledger()))
    gpu.cut()
    cut_at = time.monotonic()
    third = cluster.host(host_labels="gpu")
    third.supervise()
    task = cluster.until_status(moved, "closed")
    assert task.last_host == _id(cluster, "host3")
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


def _id(cluster, name):
    rows = cluster.queue.db.rows("SELECT id FROM hosts WHERE name = :name", {"name": name})
    return rows[0][0]
