"""A supervisor of a few lines, to be killed: supervisor.py ROOT COUNT SECONDS [for ever].

Tasks are the directories ROOT/0 to ROOT/COUNT-1, each with a witness as its agent. It keeps a
number of runs alive, settles what it finds, and ends when each task has a run that succeeded.
"""

import os
import sys
import time
from pathlib import Path

from fleet.processes import keeper_client
from fleet.runs.run_directory import RunSpec, latest_run, new_run

SLOTS = 12
FAKES = Path(__file__).parent
root, count = Path(sys.argv[1]), int(sys.argv[2])
seconds = [float(word) for word in sys.argv[3].split("-")]


def begin(task):
    length = seconds[0] + (seconds[-1] - seconds[0]) * (int(task.name) % 10) / 9
    argv = (sys.executable, "-I", "-S", str(FAKES / "witness.py"), str(task), str(length))
    run = new_run(task, RunSpec(argv=argv, cwd=str(root), grace=0.5, sweep_grace=0.1))
    keeper = keeper_client.start_keeper(run, os.environ)
    assert isinstance(keeper, keeper_client.Keeper), f"{task}: the lock was thought to be free"
    return run, keeper


def settle(run):
    """Done, adopted or to be done again."""
    match keeper_client.state_of(run):
        case keeper_client.Running(keeper=who):
            keeper = keeper_client.find_keeper(who) if who else None
            return (run, keeper) if keeper else settle(run)
        case keeper_client.Ended(ending) if ending.code == 0:
            (run.task_dir / "done").touch()
        case keeper_client.Orphaned(survivors):
            sys.exit(f"{run.path}: {survivors} cannot be killed")
    return None


tasks = [root / str(number) for number in range(count)]
alive = []
for task in tasks:
    if not (task / "done").exists() and (run := latest_run(task)):
        alive += [found] if (found := settle(run)) else []

while any(not (task / "done").exists() for task in tasks):
    busy = {run.task_dir for run, _ in alive}
    idle = [task for task in tasks if task not in busy and not (task / "done").exists()]
    for task in idle[: SLOTS - len(alive)]:
        alive.append(begin(task))
    ended = [(run, keeper) for run, keeper in alive if keeper.ended()]
    for run, keeper in ended:
        keeper.close()
        alive.remove((run, keeper))
        alive += [found] if (found := settle(run)) else []
    time.sleep(0.005)
