"""How long a hostile tree outlives a stop, beyond the grace that it is given.

python -m tests.bench.stop [rounds]
"""

import sys
import tempfile
import time
from pathlib import Path

from fleet.processes import keeper_client, process_identity
from tests.bench.figures import spread
from tests.story.stage import Stage, fake, wait_for_output

ROUNDS = 20
GRACE = 0.5
#: The promise: all of the tree is gone this long after its grace.
PROMISE = 2.0


def stop_once(root, argv, *, now):
    """Seconds from the stop until the keeper has seen everything end."""
    stage = Stage(root)
    run = stage.run(*argv, grace=GRACE)
    keeper = stage.start(run)
    wait_for_output(run, "ready")
    began = time.monotonic()
    keeper_client.stop(run, now=now)
    keeper.wait(60)
    took = time.monotonic() - began
    assert process_identity.marked(run.spec().id) == []
    stage.close()
    return took if now else took - GRACE


def main(rounds=ROUNDS):
    with tempfile.TemporaryDirectory() as folder:
        for name, argv in (
            ("two that ignore SIGTERM", fake("stubborn.sh")),
            ("40 in 40 sessions", fake("horde.sh", 40)),
            ("one that keeps forking", fake("respawner.py", "for ever")),
        ):
            for now in (False, True):
                took = [stop_once(Path(folder), argv, now=now) for _ in range(rounds)]
                kept = sum(seconds <= PROMISE for seconds in took)
                how = "at once" if now else f"after {GRACE} s"
                print(f"{name:26}{how:14}{spread(took)}  {kept}/{rounds} within {PROMISE} s")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
