"""What an outage of the vendor's costs: for ten minutes every request is answered with 503.

The supervisor, its keepers and the vendor are real processes; the agents are the light stand-in of
claude, which speaks as the real one was recorded at a 500. The pauses of fleet's own rules and the
outage itself are a twentieth of what they are, so that ten minutes take half a minute.

python -m tests.bench outage                the figures
python -m tests.bench.outage 1              the same at the real pace: a quarter of an hour
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from pathlib import Path

from fleet.runs.outcome_history import read_ending
from fleet.schemas import Finished
from tests.bench import Figure
from tests.bench.accounts import equip
from tests.fakes import FAKES
from tests.story.scene import Scene
from tests.vendor import Login, Vendor

TASKS, SLOTS = 50, 10
OUTAGE, SHARE = 600.0, 1 / 20
UNAVAILABLE = 503


def figures(share: float = SHARE) -> Generator[Figure]:
    with tempfile.TemporaryDirectory(prefix="fleet-bench-") as folder:
        scene = Scene(Path(folder), coder="claude", model="sonnet", max_concurrent=SLOTS)
        login = Login(10_000, 36_000, refuses=UNAVAILABLE)
        try:
            with Vendor({"one": login}, turns=2) as vendor:
                equip(scene, Path(folder), vendor, "one")
                yield from outage(scene, vendor, login, share)
        finally:
            scene.close()


def outage(scene: Scene, vendor: Vendor, login: Login, share: float) -> Generator[Figure]:
    names = [scene.add("sonnet", coder="claude") for _ in range(TASKS)]
    program = str(FAKES / "short_pauses.py")
    words = [sys.executable, program, str(share), "--until-idle", "--quiet"]
    with Path(os.devnull).open("w") as silent:
        supervisor = subprocess.Popen(words, env=scene.env, stdout=silent, stderr=silent)
    scene.supervisors.append(supervisor)
    scene.until(lambda: vendor.asked)
    time.sleep(OUTAGE * share)  # the outage itself is what is measured
    login.refuses, over = 0, time.time()
    supervisor.wait(timeout=1200 * share + 120)
    endings = [ending for name in names for run in scene.runs(name) if (ending := read_ending(run))]
    refused = sum(status == UNAVAILABLE for *_, status in vendor.asked)
    first = min(at for at, *_, status in vendor.asked if status == 200) - over
    last = max(at for at, *_ in vendor.asked) - over
    pace = f"at 1/{1 / share:.0f} of the pace" if share < 1 else "at the real pace"
    statuses = [scene.status(name) for name in names]
    left = TASKS - statuses.count("closed")
    detail = (
        f"503 for {OUTAGE * share:.0f} s {pace}, {TASKS} tasks, {SLOTS} slots: {len(endings)} runs,"
        f" {refused} requests met it; first answer {first:.1f} s after it, last {last:.1f} s"
    )
    burned = sum(ending.counts for ending in endings if not isinstance(ending.outcome, Finished))
    yield Figure(
        "an outage of ten minutes: attempts burned", burned, 0, at_most=True, detail=detail
    )
    yield Figure("the same: tasks blocked or left", left, 0, at_most=True)


if __name__ == "__main__":
    for figure in figures(1 / float(sys.argv[1])):
        print(figure)
