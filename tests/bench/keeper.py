"""What a keeper costs: its start beside a bare process, and what it keeps while it waits.

python -m tests.bench.keeper [rounds]
"""

import os
import sys
import tempfile
import time
from pathlib import Path

from fleet.processes import keeper_client
from fleet.runs.run_directory import RunSpec, new_run
from tests.bench.figures import spread
from tests.story.stage import Stage, fake, wait_for_output

ROUNDS = 40


def spawn(*argv):
    """Seconds from start to end of a bare process."""
    began = time.perf_counter()
    os.waitpid(os.posix_spawn(argv[0], argv, os.environ), 0)
    return time.perf_counter() - began


def kept(task):
    """Seconds from start to end of a keeper with the same process, and until that began."""
    run = new_run(task, RunSpec(argv=("/bin/true",), cwd="/"))
    began, clock = time.perf_counter(), time.monotonic()
    keeper = keeper_client.start_keeper(run, os.environ)
    keeper.wait(30)
    ended = time.perf_counter() - began
    keeper.close()
    return ended, run.started().monotonic - clock


def memory(root):
    """Kilobytes that one more waiting keeper takes: its own pages, and its share of the rest."""
    stage = Stage(root)
    run = stage.run(*fake("polite.sh"))
    stage.start(run)
    wait_for_output(run, "ready")
    rollup = Path(f"/proc/{run.started().keeper.pid}/smaps_rollup").read_text()
    stage.close()
    found = dict(line.split(":") for line in rollup.splitlines() if line.count(":") == 1)
    return {key: int(found[key].split()[0]) for key in ("Rss", "Pss")}


def main(rounds=ROUNDS):
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        kept(root)  # warm the caches
        rows = [(spawn("/bin/true"), spawn(sys.executable, "-I", "-S", "-c", "pass"), *kept(root))
                for _ in range(rounds)]  # fmt: skip
        names = ("/bin/true", "python -I -S -c pass", "keeper + /bin/true", "  until it is forked")
        for name, values in zip(names, zip(*rows, strict=True), strict=True):
            print(f"{name:24}{spread(values)}")
        print("one waiting keeper      ", *(f"{k} {v} kB" for k, v in memory(root).items()))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
