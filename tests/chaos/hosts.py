"""The ordeal of hosts: three of them in network namespaces share a queue, and every two seconds
something happens to one: its supervisor or a keeper is killed, its link goes down, or it is gone.
"""

import random
import signal
import time
from collections import Counter
from itertools import pairwise
from typing import NamedTuple

import psutil

from tests.machines.cluster import Cluster
from tests.story.scene import processes_of

#: Seconds. Shorter than a user's lease, so that the ordeal ends; what is held is the ratio to it.
LEASE, GRACE = 12, 1
HOSTS, EVERY = 3, 2.0
#: How many of a hundred agents ignore SIGTERM.
DEAF = 10


class HostsReport(NamedTuple):
    """What came of it. All from `lost` on have to be nothing."""

    seed: int
    tasks: int
    seconds: float
    done: str
    runs: int
    takeovers: int
    #: From the last sign of an agent whose host was gone for good to its successor's first.
    takeover_p99: float
    #: Tasks that are not closed in the end.
    lost: int
    #: Tasks whose agents lived at the same time, by the agents' own ledger.
    overlapping: int
    #: Tasks that were blocked, though nothing was wrong with them.
    blocked: int
    #: Takeovers that took longer than the lease and five seconds.
    late: int

    @property
    def clean(self):
        return not any(self[7:])

    def __str__(self):
        rows = self._asdict().items()
        note = f"(lease_s = {LEASE}, grace_s = {GRACE}, by settings of the ordeal)"
        return "\n".join([*(f"{name.replace('_', ' '):20}{value}" for name, value in rows), note])


class HostsOrdeal:
    def __init__(self, *, tasks, slots, seed):
        self.dice, self.seed = random.Random(seed), seed
        self.done = Counter()
        self.settings = {
            "lease_s": LEASE, "grace_s": GRACE, "max_concurrent": slots, "retry_limit": 100,
        }  # fmt: skip
        self.cluster = Cluster()
        #: Links that are down, and until when.
        self.down = {}
        #: Between which moments a host was gone for good, on the monotonic clock.
        self.vanished = []
        self.hosts = [self.cluster.host(**self.settings) for _ in range(HOSTS)]
        self.tasks = [self._add() for _ in range(tasks)]

    def _add(self):
        deaf = "deaf " if self.dice.randrange(100) < DEAF else ""
        return self.cluster.add(f"{deaf}work:{self.dice.uniform(0.2, 2.0):.2f} tool done end")

    def run(self, limit):
        began = time.monotonic()
        try:
            for host in self.hosts:
                host.supervise("--quiet")
            while (now := time.monotonic()) - began < limit and self.cluster.open_tasks():
                self._mend(now)
                self._happen(now)
                time.sleep(EVERY)
                self._start_what_ended()
            return self._report(time.monotonic() - began)
        finally:
            self.cluster.close()

    def _happen(self, now):
        """One trouble of one host. One link at least stays up, so that the work goes on."""
        host = self.dice.choice(self.hosts)
        match self.dice.choices(("supervisor", "keeper", "link", "gone"), (5, 5, 4, 2))[0]:
            case "supervisor":
                host.kill()
                self.done["supervisors killed"] += 1
            case "keeper":
                if keepers := _keepers(host):
                    self.dice.choice(keepers).send_signal(signal.SIGKILL)
                    self.done["keepers killed"] += 1
            case "link" if len(self.down) < HOSTS - 1 and host not in self.down:
                host.cut()
                self.down[host] = now + self.dice.uniform(1, 60)
                self.done["links cut"] += 1
            case "gone" if len(self.hosts) > 1:
                host.vanish()
                self.vanished.append((now - 0.2, time.monotonic()))
                self.down.pop(host, None)
                self.hosts.remove(host)
                fresh = self.cluster.host(**self.settings)
                fresh.supervise("--quiet")
                self.hosts.append(fresh)
                self.done["hosts gone for good"] += 1
            case _:
                pass

    def _mend(self, now):
        for host in [each for each, until in self.down.items() if until <= now]:
            host.mend()
            del self.down[host]

    def _start_what_ended(self):
        for host in self.hosts:
            if host.supervisors[-1].poll() is not None:
                host.supervise("--quiet")

    def _report(self, seconds):
        tasks = [self.cluster.queue.get(task_id) for task_id in self.tasks]
        gaps = self._takeovers()
        ranked = sorted(gaps)
        return HostsReport(
            seed=self.seed,
            tasks=len(tasks),
            seconds=round(seconds, 1),
            done=", ".join(f"{count} {what}" for what, count in sorted(self.done.items())),
            runs=len(self.cluster.ledger()),
            takeovers=len(gaps),
            takeover_p99=round(ranked[int(len(ranked) * 0.99)], 1) if ranked else 0.0,
            lost=sum(task.status != "closed" for task in tasks),
            overlapping=len(self.cluster.overlaps()),
            blocked=sum(task.status == "blocked" for task in tasks),
            late=sum(gap > LEASE + 5 for gap in gaps),
        )

    def _takeovers(self):
        """How long tasks of hosts that were gone for good stood still."""
        by_task = {}
        for (task, _), life in self.cluster.ledger().items():
            by_task.setdefault(task, []).append(life)
        gaps = []
        for lives in by_task.values():
            lives.sort()
            for one, two in pairwise(lives):
                if any(since <= one[1] <= until for since, until in self.vanished):
                    gaps.append(two[0] - one[1])
        return gaps


def _keepers(host):
    found = []
    for process in processes_of(host.home.path):
        try:
            if any(
                word.endswith(("keeper.py", "keeper.pyc", "/keeper")) for word in process.cmdline()
            ):
                found.append(process)
        except psutil.NoSuchProcess:
            continue
    return found
