"""How long runs outlive the emergency brake, with sound keepers, halted ones and dead ones.

python -m tests.bench.brake [rounds]
"""

import os
import signal
import sys
import tempfile
import time
from pathlib import Path

from fleet.control.tasks.kill_runs import brake
from fleet.home import Home
from fleet.processes import process_identity
from tests.bench.figures import spread
from tests.story.stage import Stage, fake, wait_for_output

ROUNDS, RUNS = 10, 10
#: The promise: all of them are gone this long after the brake.
PROMISE = 2.0


def brake_once(root, argv, fate):
    """Seconds from the brake until nothing of ten runs is left."""
    stage = Stage(root / "tasks")
    owner = f"bench{os.urandom(4).hex()}"
    runs = []
    for number in range(RUNS):
        run = stage.run(*argv, task=f"t{number}", id=f"{owner}.t{number}.1", grace=10.0)
        stage.start(run)
        runs.append(run)
    for run in runs:
        wait_for_output(run, "ready")
        if fate is not None:
            os.kill(run.started().keeper.pid, fate)
    began = time.monotonic()
    ends = brake(Home(root), owner, by="bench", now=True)
    took = time.monotonic() - began
    assert all(end.gone for end in ends)
    assert process_identity.bearers(f"{owner}.") == {}
    stage.close()
    return took


def main(rounds=ROUNDS):
    for how, fate in (("sound", None), ("halted", signal.SIGSTOP), ("dead", signal.SIGKILL)):
        took = []
        for _ in range(rounds):
            with tempfile.TemporaryDirectory() as folder:
                took.append(brake_once(Path(folder), fake("stubborn.sh"), fate))
        kept = sum(seconds <= PROMISE for seconds in took)
        words = f"{RUNS} runs that ignore SIGTERM, keepers {how}"
        print(f"{words:46}{spread(took)}  {kept}/{rounds} within {PROMISE} s")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
