"""How long an agent waits for its `bd`: through the drop box, the supervisor and the queue."""

import json
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path

from tests.bench import Figure
from tests.bench.figures import spread
from tests.story.scene import Scene

CALLS = 300
#: Milliseconds of the slowest call in a hundred, from the start of `bd` to its end.
GOAL = 100.0

#: Calls bd again and again, reading and writing in turn, and keeps how long each call took.
AGENT = f"""
import json, os, subprocess, time
task, took = os.environ["FLEET_TASK_ID"], {{"show": [], "comment": [], "close": []}}
lines = {{"show": [task], "comment": [task, "hello"], "close": [task]}}
for number in range({CALLS}):
    for verb, words in lines.items():
        began = time.perf_counter()
        subprocess.run(["bd", verb, *words], check=True, stdout=subprocess.DEVNULL)
        took[verb].append(time.perf_counter() - began)
began = time.perf_counter()
for number in range(50):
    subprocess.run([{sys.executable!r}, "-I", "-S", "-c", "pass"], check=True)
took["bare"] = [(time.perf_counter() - began) / 50]
with open(os.environ["FLEET_ARTIFACT_DIR"] + "/took", "w") as file:
    json.dump(took, file)
print(json.dumps({{"type": "end"}}))
"""


def figures() -> Generator[Figure]:
    with tempfile.TemporaryDirectory(prefix="fleet-bench-") as folder:
        scene = Scene(Path(folder))
        try:
            program = Path(folder, "agent.py")
            program.write_text(AGENT, encoding="utf-8")
            rules = 'prompt = "stdin"\n[[event]]\nwhen = { type = "end" }\nterminal = "success"\n'
            scene.coder("asker", f'argv = ["{sys.executable}", "-I", "{program}"]\n{rules}')
            task = scene.add("none", coder="asker")
            scene.supervise("--quiet")
            kept = scene.folder(task) / "artifacts/took"
            scene.until(kept.exists, patience=300)
            took = json.loads(kept.read_text(encoding="utf-8"))
        finally:
            scene.close()
    (bare,) = took.pop("bare")
    for verb, seconds in took.items():
        slowest = sorted(seconds)[round((len(seconds) - 1) * 0.99)] * 1000
        detail = f"{spread(seconds)}, python -I -S -c pass {bare * 1000:.0f} ms"
        yield Figure(f"an agent's bd {verb}: p99 in ms", slowest, GOAL, at_most=True, detail=detail)
