"""Hosts that share a queue, with the queue in hand for the tests."""

import shutil
import signal
import tempfile
import time
from itertools import pairwise
from pathlib import Path

from fleet.queue.protocol import Draft, Filter
from fleet.queue.sql.postgres import open_postgres
from tests.contract.postgres_server import binaries
from tests.machines.machine import Machine
from tests.machines.network import Network
from tests.machines.shared_queue import HubServer

PATIENCE = 60.0


class Cluster:
    """A hub with a server, and hosts that are added one by one. Close it, whatever happens."""

    def __init__(self):
        self.root = Path(tempfile.mkdtemp(prefix="fleet-hosts-"))
        self.root.chmod(0o755)
        self.project = self.root / "project"
        self.project.mkdir()
        self.machines = []
        self.network = Network()
        (place := self.root / "server").mkdir()
        programs = binaries()
        assert programs is not None
        self.server = HubServer(programs, place, self.network.hub)
        try:
            self.server.create()
            self.server.start()
            self.server.run("CREATE DATABASE queue")
            self.queue = open_postgres(self.server.dsn("queue"))
        except BaseException:
            self.close()
            raise

    def host(self, **settings):
        """One more host."""
        number = len(self.machines) + 1
        address = self.server.address("queue")
        machine = Machine(self.root, self.network, number, address, **settings)
        self.machines.append(machine)
        return machine

    def add(self, script, *, title="a task", **settings):
        """A task for any host that fits; all hosts see the project."""
        own = {"cwd": str(self.project), "coder": "actor", "model": script, **settings}
        return self.queue.add(Draft(title=title, metadata={"fleet": own})).id

    def until(self, fact, patience=PATIENCE, pause=0.1):
        end = time.monotonic() + patience
        while not (found := fact()):
            assert time.monotonic() < end, f"waited in vain:\n{self.screens()}"
            time.sleep(pause)
        return found

    def screens(self):
        begun = (each for each in self.machines if each.supervisors)
        return "\n".join(f"{each.name}\n{each.screen()}" for each in begun)

    def until_status(self, task_id, *statuses, patience=PATIENCE):
        return self.until(
            lambda: (task := self.queue.get(task_id)).status in statuses and task, patience
        )

    def open_tasks(self):
        return self.queue.find(Filter())

    def id_of(self, name):
        rows = self.queue.db.rows("SELECT id FROM hosts WHERE name = :name", {"name": name})
        return rows[0][0]

    def until_begun(self, task_id, count=1):
        """Wait until so many agents of a task have lived."""
        return self.until(lambda: len(self.lives(task_id)) >= count and self.lives(task_id))

    def lives(self, task_id):
        """First and last sign of each agent of a task, in order."""
        return sorted(life for (each, _), life in self.ledger().items() if each == task_id)

    def ledger(self):
        """When each agent lived: (task, pid) → first and last sign, on the machine's own clock."""
        lives = {}
        path = self.project / "ledger"
        for line in path.read_text().splitlines() if path.exists() else ():
            task, pid, at = line.split()
            first, _ = lives.get((task, pid), (float(at), 0.0))
            lives[task, pid] = (first, float(at))
        return lives

    def overlaps(self):
        """Tasks whose agents lived at the same time."""
        by_task = {}
        for (task, _), life in self.ledger().items():
            by_task.setdefault(task, []).append(life)
        found = []
        for task, lives in by_task.items():
            lives.sort()
            found += [task for one, two in pairwise(lives) if two[0] < one[1]]
        return found

    def close(self):
        for machine in self.machines:
            machine.vanish()
        if hasattr(self, "queue"):
            self.queue.close()
        self.server.stop(signal.SIGQUIT)
        self.network.close()
        shutil.rmtree(self.root, ignore_errors=True)
