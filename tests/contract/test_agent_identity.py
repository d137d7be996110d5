"""Each queue as a process that answers an agent opens it: it reads, and writes nothing."""

import json
import os
import subprocess
import sys

import pytest

from fleet import config
from fleet.home import Home, make_home
from fleet.processes.agent_identity import ASKED_BY
from fleet.queue import open_queue
from fleet.queue.protocol import Draft
from tests.contract.beads_home import beads_home, pristine_home

__all__ = ["beads_home", "pristine_home"]

#: Reads, and then tries to add, to request, and to write past the protocol.
PROGRAM = """
import json
from fleet.processes.agent_identity import give_up_changes
give_up_changes()
from fleet import control
from fleet.queue.protocol import Draft, Filter
queue = control.opened().queue
(task,) = queue.find(Filter())
told = {"title": task.title}
ways = {
    "add": lambda: queue.add(Draft(title="the agent's")),
    "request": lambda: queue.request(task.id, "stop"),
    "metadata": lambda: queue.add_metadata(task.id, {"fleet": {"verify": ["x"]}}),
    "close": lambda: queue.close_task(task, by="me", reason="done"),
    "delete": lambda: queue.db.rows("DELETE FROM tasks WHERE 1 = 1"),
}
for name, way in ways.items():
    try:
        way()
        told[name] = "done"
    except Exception as error:
        told[name] = type(error).__name__
print(json.dumps(told))
"""


@pytest.fixture(params=["embedded", "postgres", "beads"])
def place(request, tmp_path):
    """A home with one task in its queue."""
    if request.param == "beads":
        home = request.getfixturevalue("beads_home")
    else:
        home = tmp_path / "home"
        make_home(Home(home))
    name = request.param
    address = request.getfixturevalue("postgres_dsn") if name == "postgres" else name
    (home / config.FILE).write_text(config.default_text(queue=address))
    queue = open_queue(home, config.load(home / config.FILE), may_make=True)
    queue.add(Draft(title="a person's"))
    yield home, queue
    queue.close()


def test_an_agents_process_reads_and_writes_nothing(place):
    """Whichever queue it is: the refusal is the database's, or that of bd."""
    home, queue = place
    before = queue.counts()
    env = {**os.environ, "FLEET_HOME": str(home), ASKED_BY: "fleet-own"}
    done = subprocess.run(
        [sys.executable, "-P", "-c", PROGRAM],
        env=env, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told.pop("title") == "a person's"
    assert "done" not in told.values()
    assert queue.counts() == before
