"""`fleet top` on a real terminal (tmux) over a real supervisor: its start, and its share of a core
while agents talk.

The agents are shells that say something each second; all else is as a user has it.

python -m tests.bench top
"""

import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from fleet.queue.protocol import Draft
from fleet.schemas import Settings
from tests.bench import Figure
from tests.story.scene import Scene

LIVE = 50
SECONDS = 20.0
_START_GOAL, _SHARE_GOAL = 1.0, 5.0

#: Says a text and calls a tool each second, with a context that fills.
TALKER = """
i=0
while :; do
    i=$((i + 1))
    echo '{"type":"text","text":"Looking at part '$i' of the parser"}'
    echo '{"type":"tool","id":"t'$i'","name":"Bash","input":{"command":"pytest -q t'$i'.py"}}'
    echo '{"type":"result","id":"t'$i'"}'
    echo '{"type":"context","tokens":'$((i * 500 % 90000 + 4000))'}'
    sleep 1
done
"""
RULES = """
prompt = "stdin"
context_limit = 100000

[[event]]
when = { type = "tool" }
kind = "tool_use"
call = { id = "id", name = "name", input = "input" }

[[event]]
when = { type = "result" }
kind = "tool_result"
result = { id = "id" }

[[event]]
when = { type = "text" }
kind = "assistant_text"
text = "text"

[[event]]
when = { type = "context" }
kind = "usage"
context_tokens = ["tokens"]
"""


def figures() -> Generator[Figure]:
    if shutil.which("tmux") is None:
        return
    with tempfile.TemporaryDirectory() as root:
        scene = live_home(Path(root), LIVE)
        try:
            yield from _figures(scene)
        finally:
            scene.close()


def live_home(root: Path, live: int, waiting: int = 10) -> Scene:
    """A home with so many agents at work, and some tasks that wait."""
    scene = Scene(root, max_concurrent=live)
    argv = ", ".join(f"'''{word}'''" for word in ("/bin/sh", "-c", TALKER))
    scene.coder("talker", f"argv = [{argv}]\n{RULES}")
    place = Settings(cwd=str(scene.project), coder="talker", model="steady")
    with scene.queue.db.writing():
        for number in range(live + waiting):
            title = f"Port part {number} of the parser"
            fleet = {"cwd": place.cwd, "coder": place.coder, "model": place.model}
            scene.queue.add(Draft(title=title, metadata={"fleet": fleet}))
    scene.supervise()
    scene.until(lambda: len(list(scene.home.tasks.glob("*/events.jsonl"))) >= live, 120)
    return scene


def _figures(scene: Scene) -> Iterator[Figure]:
    with top_in_tmux(scene, 120, 40) as (process, screen):
        first = _cpu(process)
        yield Figure(
            "fleet top, start: seconds of CPU", first, _START_GOAL, at_most=True,
            detail=f"to the first screen with {LIVE} live tasks",
        )  # fmt: skip
        began, before = time.monotonic(), _cpu(process)
        time.sleep(SECONDS)
        share = 100 * (_cpu(process) - before) / (time.monotonic() - began)
        size = process.memory_info().rss >> 20
        assert "RUNNING" in screen()
        yield Figure(
            f"fleet top, {LIVE} live tasks: % of a core", share, _SHARE_GOAL, at_most=True,
            detail=f"over {SECONDS:.0f} s at 120x40, {size} MB",
        )  # fmt: skip


@contextmanager
def top_in_tmux(scene: Scene, width: int, height: int) -> Iterator[tuple[psutil.Process, object]]:
    """`fleet top` in a terminal of this size: its process, and what its screen shows."""
    name = f"fleet-bench-{scene.home.path.parent.name}"
    tmux = ("tmux", "-f", "/dev/null", "-L", name)
    program = Path(sys.executable).with_name("fleet")
    line = f"FLEET_HOME={shlex.quote(str(scene.home.path))} exec {shlex.quote(str(program))} top"
    size = ("-x", str(width), "-y", str(height))
    subprocess.run([*tmux, "new-session", "-d", *size, line], check=True)

    def screen() -> str:
        shown = subprocess.run([*tmux, "capture-pane", "-p"], capture_output=True, check=False)
        return shown.stdout.decode(errors="replace")

    try:
        asked = [*tmux, "display-message", "-p", "#{pane_pid}"]
        pid = int(subprocess.run(asked, capture_output=True, check=True).stdout)
        end = time.monotonic() + 60
        while "RUNNING" not in screen():
            assert time.monotonic() < end, screen()
            time.sleep(0.05)
        yield psutil.Process(pid), screen
    finally:
        subprocess.run([*tmux, "kill-server"], check=False)


def _cpu(process: psutil.Process) -> float:
    used = process.cpu_times()
    return used.user + used.system
