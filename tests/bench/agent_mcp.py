"""The agents' MCP server: how soon it answers, what it holds, what its tools cost; and how long an
answer takes to reach an agent that waits, and a run that was parked.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from datetime import UTC, datetime
from pathlib import Path

from fleet.config import load
from fleet.control import Control
from fleet.control.tasks.questions import answer
from fleet.runs.questions import asked_json
from fleet.supervisor.start.agent_bin import TOOL_SERVER, AgentPrograms
from tests.bench import Figure
from tests.bench.figures import spread
from tests.builders import look_on
from tests.story.scene import Scene
from tests.story.test_ask_human import ask
from tests.story.test_spool import scripted

STARTS, ANSWERS = 41, 20
HELLO = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}


def _started(argv: list[str]) -> tuple[float, float, int]:
    """Seconds until a server answers, its memory in MB, and the bytes of its list of tools."""
    began = time.perf_counter()
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin
        assert server.stdout
        server.stdin.write(json.dumps(HELLO).encode() + b"\n")
        server.stdin.flush()
        server.stdout.readline()
        took = time.perf_counter() - began
        server.stdin.write(json.dumps({**HELLO, "method": "tools/list"}).encode() + b"\n")
        server.stdin.flush()
        tools = json.loads(server.stdout.readline())["result"]["tools"]
        status = Path(f"/proc/{server.pid}/status").read_text(encoding="utf-8")
        held = int(status.split("VmHWM:")[1].split()[0]) / 1024
        server.stdin.close()
    return took, held, len(json.dumps(tools, separators=(",", ":")))


def _bare() -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-I", "-S", "-c", "pass"], check=True)
    return time.perf_counter() - began


def _until(fact, patience: float = 60.0) -> None:
    end = time.monotonic() + patience
    while not fact():
        assert time.monotonic() < end
        time.sleep(0.001)


def _answered(scene: Scene, fleet: Control, task: str, reached) -> float:
    """Seconds from a person's answer until it has reached the agent."""
    began = time.perf_counter()
    answer(fleet, fleet.get(task), "a", at=datetime.now(UTC))
    _until(reached)
    return time.perf_counter() - began


def figures() -> Generator[Figure]:
    with tempfile.TemporaryDirectory(prefix="fleet-bench-") as folder:
        program = AgentPrograms(Path(folder)).make() / TOOL_SERVER
        argv = [sys.executable, "-I", "-S", str(program), folder]
        pairs = [(_started(argv), _bare()) for _ in range(STARTS)]
    ready = statistics.median(start[0] for start, _ in pairs)
    bare = statistics.median(each for _, each in pairs)
    detail = (
        f"{spread([start[0] for start, _ in pairs])}, python -I -S -c pass {bare * 1000:.0f} ms"
    )
    yield Figure("MCP server: ready, median in s", ready, 0.15, at_most=True, detail=detail)
    ratio = statistics.median(start[0] / alone for start, alone in pairs)
    yield Figure("MCP server: ready : bare Python", ratio, 3, at_most=True)
    yield Figure("MCP server: memory in MB", pairs[0][0][1], 15, at_most=True)
    size = pairs[0][0][2]
    yield Figure("MCP tools: tokens (4 bytes)", size / 4, 350, at_most=True, detail=f"{size} bytes")
    with tempfile.TemporaryDirectory(prefix="fleet-bench-") as folder:
        scene = Scene(Path(folder))
        try:
            yield from _answers(scene)
        finally:
            scene.close()


def _answers(scene: Scene) -> Generator[Figure]:
    look_on(scene.home.path)
    scene.supervise("--quiet")
    fleet = Control(scene.home, load(scene.home.config))
    waited, parked = [], []
    for number in range(ANSWERS):
        task = scripted(scene, f"w{number}", ask(scene), "bd close $FLEET_TASK_ID")
        _until(lambda task=task: asked_json.open_question(scene.folder(task)))
        got = scene.folder(task) / "artifacts/got"
        waited.append(_answered(scene, fleet, task, lambda got=got: got.stat().st_size))
    scene.fleet("config", "set", "ask_wait=1ms")
    for number in range(ANSWERS):
        task = scripted(
            scene,
            f"p{number}",
            "[ -s $FLEET_ARTIFACT_DIR/got ] && exec bd close $FLEET_TASK_ID",
            ask(scene),
        )
        _until(lambda task=task: scene.status(task) == "blocked")
        second = scene.folder(task) / "runs/2/started"
        parked.append(_answered(scene, fleet, task, second.exists))
    for name, took in (("the agent that waits", waited), ("the next run of a parked one", parked)):
        slowest = sorted(took)[round((len(took) - 1) * 0.99)]
        yield Figure(f"answer → {name}: p99 in s", slowest, 2, at_most=True, detail=spread(took))
