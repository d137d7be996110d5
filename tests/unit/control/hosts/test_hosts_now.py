"""What a person is told who stops or pauses one host of several."""

from datetime import UTC, datetime, timedelta

import pytest

from fleet.control.hosts.hosts_now import HostNow, lines_of
from fleet.queue.sql.hosts.host_table import HostWork
from tests.contract.test_hosts import a_host

WORK = HostWork(host="home2", task_id="fleet-x4f", title="t", lease_until=datetime.now(UTC))


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        ({"state": "up", "tasks": (WORK,)}, "Host beta goes on with fleet-x4f: fleet stop ID"),
        ({"state": "silent", "tasks": (WORK,)}, "Host beta goes on with fleet-x4f"),
        ({"state": "up"}, "Host beta goes on; so that it takes nothing new: fleet host drain beta"),
        ({"state": "draining"}, None),
        ({"state": "gone", "tasks": (WORK,)}, None),
        ({"state": "up", "tasks": (WORK,), "here": True}, None),
    ],
)
def test_hosts_that_go_on_are_named(facts, told):
    """That nothing runs on this host does not say that nothing runs."""
    lines = lines_of([HostNow(host=a_host("home2", "beta"), seen=timedelta(0), **facts)])
    assert lines == () if told is None else told in lines[0]
