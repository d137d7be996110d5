"""The whole supervisor beside the bare thing: keepers alone, a bare parse loop, an idle core.

The settings are those of `SETUP` and not those of `fleet init` (three slots, coder claude): agents
that cost nothing, and enough of them that the supervisor itself is what is measured.

python -m tests.bench supervisor
"""

import os
import select
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

from fleet import coders
from fleet.files.tail import Follower
from fleet.home import AGENT_BIN
from fleet.processes import keeper_client
from fleet.queue.protocol import Draft
from fleet.queue.sql.tracker.search import Search, grouped
from fleet.runs.run_directory import RunSpec, latest_run, new_run
from fleet.supervisor.start.agent_bin import KEEPER
from tests.bench import Figure
from tests.story.scene import Scene

SLOTS = 50
#: Tasks of one round, and rounds: ours and the bare one take turns.
TASKS, ROUNDS = 150, 3
CREATED = 60
QUIET_SECONDS = 15.0
HELD = 500
#: Lines of a kilobyte from each of the printing agents.
LINES = 3000

#: What every figure of this part was measured with.
SETUP = "a TOML coder, no repository, no checks"

#: Does nothing, says so, and ends: one shell and nothing else.
NOOP_SCRIPT = """
echo '{"type":"tool","id":"1"}'; echo '{"type":"end"}'
printf 'fleet-request-1\\0003\\000bd\\000close\\000%s\\0000\\000' "$FLEET_TASK_ID" \\
    > "${FLEET_SPOOL:-.}/close.request"
"""
PRINT_SCRIPT = f"""
import os
line = b'{{"type":"text","text":"' + b"x" * 1000 + b'"}}\\n'
for _ in range({LINES} // 50):
    os.write(1, line * 50)
os.write(1, b'{{"type":"end"}}\\n')
"""
NOOP = ("/bin/sh", "-c", NOOP_SCRIPT)
SLEEP = ("/bin/sleep", "600")
PRINT = (sys.executable, "-I", "-S", "-c", PRINT_SCRIPT)

RULES = """
prompt = "stdin"

[[event]]
when = { type = "tool" }
kind = "tool_use"
call = { id = "id", name = "id" }

[[event]]
when = { type = "text" }
kind = "assistant_text"
text = "text"

[[event]]
when = { type = "end" }
terminal = "success"
"""


def figures() -> Generator[Figure]:
    yield from throughput()
    yield from latency()
    yield from quiet()
    yield printing()


class Bench(Scene):
    """A scene with agents that cost next to nothing."""

    def __init__(self, root: Path, **settings) -> None:
        super().__init__(root, **settings)
        for name, argv in (("noop", NOOP), ("sleep", SLEEP), ("print", PRINT)):
            words = ", ".join(map(toml, argv))
            self.coder(name, f"argv = [{words}]\n{RULES}")

    def supervise(self, *flags: str) -> Any:
        """Start a supervisor from nothing: one that is forked from a warm server has the memory
        of all that the server imported.
        """
        with (self.home.path / "screen").open("ab") as out:
            process = subprocess.Popen(
                (sys.executable, "-m", "fleet", "run", *flags), env=self.env, stdout=out,
                stderr=out, stdin=subprocess.DEVNULL,
            )  # fmt: skip
        self.supervisors.append(process)
        return process

    @property
    def keeper(self) -> Path:
        """The keeper that the supervisor uses, for the bare loop too."""
        return self.home.path / AGENT_BIN / KEEPER

    def fill(self, count: int, coder: str) -> None:
        place = {"fleet": {"cwd": str(self.project), "coder": coder, "model": "none"}}
        with self.queue.db.writing():
            for _ in range(count):
                self.queue.add(Draft(title="a task", metadata=place))

    def count(self, status: str) -> int:
        return dict(grouped(self.queue, Search(), "status")).get(status, 0)

    def until_count(self, status: str, count: int, patience: float = 300.0) -> None:
        end = time.monotonic() + patience
        while self.count(status) < count:
            assert time.monotonic() < end, f"{self.count(status)} {status}: {self.screen()}"
            time.sleep(0.01)

    def until_started(self, count: int, patience: float = 300.0) -> None:
        end = time.monotonic() + patience
        while len(list(self.home.tasks.glob("*/runs/1/started"))) < count:
            assert time.monotonic() < end, self.screen()
            time.sleep(0.1)

    def idle_supervisor(self) -> psutil.Process:
        supervisor = psutil.Process(self.supervise("--quiet").pid)
        self.until_logged("started")
        self.until((self.home.path / "queue.bell").exists)
        time.sleep(0.5)
        return supervisor


@contextmanager
def ground() -> Generator[str]:
    """A directory for a scene, not beside files that were deleted a moment ago.

    Whenever a file is made, ext4 passes one by one over the inodes near by that were freed in the
    last minutes. Beside what the part before has left and deleted, that added 2 to 3 ms to a no-op
    task; a home in which large clones are removed all the time pays some of that too. Directories
    in one that is marked as a top (chattr +T) are put elsewhere.
    """
    with tempfile.TemporaryDirectory(prefix="fleet-bench-") as top:
        with suppress(FileNotFoundError):
            subprocess.run(("chattr", "+T", top), stderr=subprocess.DEVNULL, check=False)
        yield tempfile.mkdtemp(dir=top)


def toml(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def throughput() -> Generator[Figure]:
    """No-op tasks through 50 slots, against keepers and agents with nothing else."""
    with ground() as folder:
        scene = Bench(Path(folder), max_concurrent=SLOTS)
        try:
            supervisor = scene.idle_supervisor()
            pairs, used = [], []
            for number in range(ROUNDS):
                runs = [
                    new_run(scene.project / f"bare-{number}-{n}", RunSpec(argv=NOOP, cwd=folder))
                    for n in range(TASKS)
                ]
                theirs = spawn_and_reap(runs, scene.keeper)
                before = supervisor.cpu_times()
                began = time.perf_counter()
                scene.fill(TASKS, "noop")
                scene.until_count("closed", TASKS * (number + 1))
                pairs.append((time.perf_counter() - began, theirs))
                after = supervisor.cpu_times()
                used.append(after.user + after.system - before.user - before.system)
        finally:
            scene.close()
    ratio = statistics.median(theirs / mine for mine, theirs in pairs)
    mine, theirs = (statistics.median(times) for times in zip(*pairs, strict=True))
    cpu = statistics.median(used) / TASKS * 1e3
    detail = f"{TASKS / mine:.0f}/s : {TASKS / theirs:.0f}/s; {SETUP}"
    yield Figure("no-op tasks, 50 slots : bare keepers", ratio, 0.5, detail=detail)
    detail = f"{TASKS} tasks at once, {SLOTS} slots, {SETUP}; files on {file_system()}"
    yield Figure("a no-op task: the supervisor's CPU (ms)", cpu, 6, at_most=True, detail=detail)


def file_system() -> str:
    """The kind of file system that the homes are on: making files is a good part of a task."""
    here = Path(tempfile.gettempdir()).resolve()
    mounts = {Path(part.mountpoint): part.fstype for part in psutil.disk_partitions(all=True)}
    return next((mounts[path] for path in (here, *here.parents) if path in mounts), "?")


def spawn_and_reap(runs, program: Path) -> float:
    """Seconds to run them all, 50 at a time, and nothing else."""
    began = time.perf_counter()
    waiting, alive = list(runs), {}
    ear = select.poll()
    while waiting or alive:
        while waiting and len(alive) < SLOTS:
            keeper = keeper_client.start_keeper(waiting.pop(), os.environ, program)
            alive[keeper.fileno()] = keeper
            ear.register(keeper.fileno(), select.POLLIN)
        for fd, _ in ear.poll():
            keeper = alive.pop(fd)
            assert keeper.wait(10)
            ear.unregister(fd)
            keeper.close()
    return time.perf_counter() - began


def latency() -> Generator[Figure]:
    """From `create` to a process, with an idle supervisor."""
    with ground() as folder:
        scene = Bench(Path(folder), max_concurrent=SLOTS)
        try:
            scene.idle_supervisor()
            took, alone = [], []
            for number in range(CREATED):
                alone.append(keeper_alone(scene, number))
                began = time.monotonic()
                scene.fill(1, "noop")
                scene.until_count("closed", number + 1)
                newest = max(scene.home.tasks.iterdir(), key=lambda path: path.stat().st_ctime_ns)
                took.append(latest_run(newest).started().monotonic - began)
        finally:
            scene.close()
    (half, most), (keeper, slowest) = map(percentiles, (took, alone))
    alone = f"the keeper's own start: p50 {keeper:.0f}, p99 {slowest:.0f} ms"
    detail = f"p50 {half:.0f} ms; {alone}; {SETUP}"
    yield Figure("create → agent exists, p99 (ms)", most, 100, at_most=True, detail=detail)


def keeper_alone(scene: Bench, number: int) -> float:
    run = new_run(scene.project / f"alone-{number}", RunSpec(argv=NOOP, cwd=str(scene.project)))
    began = time.monotonic()
    keeper = keeper_client.start_keeper(run, os.environ, scene.keeper)
    assert keeper.wait(30)
    keeper.close()
    return run.started().monotonic - began


def percentiles(seconds) -> tuple[float, float]:
    """Median and 99th percentile, in milliseconds."""
    ordered = sorted(seconds)
    last = len(ordered) - 1
    return ordered[last // 2] * 1e3, ordered[round(last * 0.99)] * 1e3


def quiet() -> Generator[Figure]:
    """What agents cost that say nothing: fifty, and then five hundred."""
    with ground() as folder:
        scene = Bench(Path(folder), max_concurrent=HELD)
        try:
            supervisor = scene.idle_supervisor()
            scene.fill(SLOTS, "sleep")
            scene.until_started(SLOTS)
            share, memory = cost(supervisor)
            yield Figure(
                "50 quiet agents: % of a core", share, 0.5, at_most=True,
                detail=f"{memory:.0f} MB; {HELD} slots, {SETUP}",
            )  # fmt: skip
            yield Figure("50 quiet agents: RSS (MB)", memory, 45, at_most=True)
            scene.fill(HELD - SLOTS, "sleep")
            scene.until_started(HELD)
            share, memory = cost(supervisor)
            held = len(list(scene.home.tasks.glob("*/runs/1/started")))
            detail = f"{share:.2f} % of a core, {memory:.0f} MB"
            yield Figure("quiet agents held at once", held, HELD, detail=detail)
        finally:
            scene.close()


def cost(supervisor: psutil.Process) -> tuple[float, float]:
    """Per cent of a core, and megabytes, over a while."""
    time.sleep(2)  # what the start left to do is done
    before, began = supervisor.cpu_times(), time.monotonic()
    time.sleep(QUIET_SECONDS)
    after, took = supervisor.cpu_times(), time.monotonic() - began
    used = after.user + after.system - before.user - before.system
    return 100 * used / took, supervisor.memory_info().rss / 1e6


def printing() -> Figure:
    """Fifty agents print as fast as they can: what following takes, against a bare parse loop."""
    with ground() as folder:
        scene = Bench(Path(folder), max_concurrent=SLOTS, retry_limit=1)
        try:
            supervisor = scene.idle_supervisor()
            pairs: list[tuple[float, float]] = []
            for number in range(ROUNDS):
                theirs = parse(scene, number)
                before = supervisor.cpu_times()
                scene.fill(SLOTS, "print")
                scene.until_count("blocked", SLOTS * (number + 1))  # no agent claimed anything
                after = supervisor.cpu_times()
                mine = after.user + after.system - before.user - before.system
                pairs.append((mine, theirs))
            streams = [latest_run(path).stdout for path in scene.home.tasks.iterdir()]
            size = sum(path.stat().st_size for path in streams) / ROUNDS / 1e6
        finally:
            scene.close()
    ratio = statistics.median(theirs / mine for mine, theirs in pairs)
    mine, theirs = (statistics.median(times) for times in zip(*pairs, strict=True))
    detail = (
        f"{size / mine:.0f} : {size / theirs:.0f} MB a CPU second, {size:.0f} MB a round;"
        f" starts and ends of {SLOTS} tasks included, {SETUP}"
    )
    return Figure("1 KB lines of 50 agents : bare parse loop", ratio, 0.5, detail=detail)


def parse(scene: Bench, number: int) -> float:
    """CPU seconds to make events of what as many agents print, and do nothing with the events.

    While the agents print, as in the supervisor's own round: a loop that has the machine and its
    caches for itself takes less for the same lines.
    """
    coder = coders.make("print", "none", home=scene.home.path)
    now = scene.queue.db.now()
    spec = RunSpec(argv=PRINT, cwd=str(scene.project))
    runs = [new_run(scene.project / f"print-{number}-{n}", spec) for n in range(SLOTS)]
    keepers = [keeper_client.start_keeper(run, os.environ, scene.keeper) for run in runs]
    followers = [Follower(run.stdout) for run in runs]
    used, alive = 0.0, True
    while alive or any(follower.behind for follower in followers):
        alive = not all(keeper.ended() for keeper in keepers)
        began = time.process_time()
        for follower in followers:
            for line in follower.read() if follower.behind else ():
                coder.read(line.data.decode(errors="replace"), now)
        used += time.process_time() - began
        time.sleep(0.01)
    for keeper in keepers:
        keeper.close()
    return used
