"""The beads queue beside bare calls of `bd` on the same database.

A call of `bd` opens its database anew each time, so what counts is how many calls a verb makes:
fleet looks before it writes and reads again what it wrote, since bd has been seen to lose writes
that it had confirmed. The last figure is what a supervisor costs that has nothing to do.

python -m tests.bench beads
"""

import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

import psutil

from fleet.queue.beads.bd_cli.bd_client import environment
from fleet.queue.beads.bd_cli.bd_database import init_beads
from fleet.queue.beads.queue import BeadsQueue, open_beads
from fleet.queue.protocol import Draft, Filter
from fleet.schemas import Closed
from tests.bench import Figure
from tests.bench.supervisor import RULES, toml
from tests.story.scene import Scene

T = TypeVar("T")

ROUNDS, TASKS = 5, 10
IDLE_SECONDS = 30.0
TTL = timedelta(minutes=5)
WORK = ("/bin/sh", "-c", """
sleep 0.2; echo '{"type":"tool","id":"1"}'; echo '{"type":"end"}'
printf 'fleet-request-1\\0003\\000bd\\000close\\000%s\\0000\\000' "$FLEET_TASK_ID" \\
    > "$FLEET_SPOOL/close.request"
""")  # fmt: skip


def figures() -> Generator[Figure]:
    if shutil.which("bd") is None:
        return
    with tempfile.TemporaryDirectory(prefix="fleet-bench-") as folder:
        scene = Scene(Path(folder), queue="beads", coder="work", max_concurrent=TASKS)
        scene.queue.close()
        words = ", ".join(map(toml, WORK))
        scene.coder("work", f"argv = [{words}]\n{RULES}")
        init_beads(scene.home.path)
        try:
            with closing(open_beads(scene.home.path)) as queue:
                bare = Bare(scene.home.path)
                yield from verbs(queue, bare, scene)
                yield ten_tasks(queue, bare, scene)
                yield idle(scene)
        finally:
            scene.close()


class Bare:
    """`bd` as a script would call it."""

    def __init__(self, home: Path) -> None:
        self._env, self._home = environment(home, os.environ), home

    def __call__(self, *words: str):
        done = subprocess.run(
            ["bd", *words, "--json"], cwd=self._home, env=self._env, capture_output=True, check=True
        )
        return json.loads(done.stdout)

    def create(self) -> str:
        return self("create", "a task")["data"]["id"]

    def claim(self) -> str:
        """The first of what is ready."""
        first = self("ready")["data"][0]["id"]
        self("update", first, "--claim", "--actor=bare")
        return first

    def close(self, task_id: str) -> None:
        self("close", task_id, "--reason=done", "--actor=bare")


def verbs(queue: BeadsQueue, bare: Bare, scene: Scene) -> Generator[Figure]:
    """Each verb in turns with what a script would do; ours is told as a multiple of that."""
    creates, claims, closes, together = [], [], [], []
    for _ in range(ROUNDS):
        mine, _ = timed(scene.fleet, "bd", "create", "a task", "--json")
        theirs, _ = timed(bare.create)
        creates.append((mine, theirs))
    yield multiple("beads: fleet bd create : bd create", creates, 2, "1 call : 1")
    for _ in range(ROUNDS):
        mine, (lease,) = timed(queue.claim, "bench", ttl=TTL)
        theirs, task_id = timed(bare.claim)
        claims.append((mine, theirs))
        mine, _ = timed(queue.settle, lease, Closed(reason="done"))
        theirs, _ = timed(bare.close, task_id)
        closes.append((mine, theirs))
    yield multiple("beads: claim : bd ready, update --claim", claims, 2, "3 calls : 2")
    yield multiple("beads: settle : bd close", closes, 3.5, "3 calls : 1")
    for _ in range(2):
        ids = [queue.add(Draft(title="a task")).id for _ in range(2 * TASKS)]
        leases = queue.claim("bench", count=TASKS, ttl=TTL)
        mine, _ = timed(queue.settle, [(lease, Closed(reason="done")) for lease in leases])
        left = sorted(set(ids) - {lease.task.id for lease in leases})[:TASKS]
        theirs = sum(timed(bare.close, each)[0] for each in left)
        together.append((mine, theirs))
    name = f"beads: {TASKS} settled at once : {TASKS} bd close"
    yield multiple(name, together, 1.5, f"{TASKS + 2} calls : {TASKS}")


def timed(work: Callable[..., T], *words: object, **more: object) -> tuple[float, T]:
    """The seconds that a call took, and its answer."""
    began = time.perf_counter()
    answer = work(*words, **more)
    return time.perf_counter() - began, answer


def multiple(name: str, pairs: list[tuple[float, float]], goal: float, calls: str) -> Figure:
    value = statistics.median(mine / theirs for mine, theirs in pairs)
    mine, theirs = (statistics.median(times) for times in zip(*pairs, strict=True))
    detail = f"{mine * 1e3:.0f} : {theirs * 1e3:.0f} ms; {calls}"
    return Figure(name, value, goal, at_most=True, detail=detail)


def ten_tasks(queue: BeadsQueue, bare: Bare, scene: Scene) -> Figure:
    """`fleet run --until-idle` with ten tasks of 0.2 s, against a script that does them in turn."""
    empty(queue)
    for _ in range(TASKS):
        bare.create()

    theirs, _ = timed(one_by_one, bare)
    place = {"fleet": {"cwd": str(scene.project), "coder": "work", "model": "none"}}
    ids = tuple(queue.add(Draft(title="a task", metadata=place)).id for _ in range(TASKS))
    mine, _ = timed(scene.supervise("--until-idle", "--quiet").wait, 300)
    done = [task.status for task in queue.find(Filter(ids=ids))].count("closed")
    assert done == TASKS, scene.screen()
    detail = f"{mine:.1f} : {theirs:.1f} s; the start of the supervisor included"
    return Figure(
        f"beads: {TASKS} tasks of 0.2 s : a script with bd", mine / theirs, 1, at_most=True,
        detail=detail,
    )  # fmt: skip


def one_by_one(bare: Bare) -> None:
    """Ten tasks as a script does them."""
    for _ in range(TASKS):
        task_id = bare.claim()
        time.sleep(0.2)
        bare.close(task_id)


def empty(queue: BeadsQueue) -> None:
    """Close what is open."""
    while leases := queue.claim("bench", count=50, ttl=TTL):
        queue.settle([(lease, Closed(reason="done")) for lease in leases])


def idle(scene: Scene) -> Figure:
    """What a supervisor and the programs that it starts take of a core with nothing to do."""
    supervisor = psutil.Process(scene.supervise("--quiet").pid)
    scene.until((scene.home.path / "queue.bell").exists)
    time.sleep(5)
    before = used(supervisor)
    time.sleep(IDLE_SECONDS)
    share = 100 * (used(supervisor) - before) / IDLE_SECONDS
    detail = f"{IDLE_SECONDS:.0f} s, the supervisor and every bd that it calls"
    return Figure("beads: an idle supervisor (% of a core)", share, 6, at_most=True, detail=detail)


def used(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system + times.children_user + times.children_system
