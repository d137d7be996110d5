"""What a box costs: the start of an agent's CLI under a keeper, with it and without.

python -m tests.bench.box [rounds]
"""

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from fleet.processes import keeper_client
from fleet.runs.run_directory import RunSpec, new_run
from fleet.sandbox.bwrap_argv import bwrap_argv
from fleet.sandbox.make_box import make_box
from fleet.sandbox.strict_argv import strict_argv
from fleet.sandbox.try_box import require_box
from tests.bench import Figure
from tests.real.agents import cli_directory

ROUNDS = 7
LEVELS = ("off", "workspace", "strict")


def started(root: Path, level: str) -> float:
    """Seconds from making the box to the end of `claude --version` under a keeper."""
    env = {**os.environ, "PATH": f"{cli_directory('claude')}:{os.environ['PATH']}"}
    began = time.perf_counter()
    argv = ("claude", "--version")
    if level != "off":
        box = make_box(
            env, cwd=str(root), write=[str(root)], program="claude", network=level != "strict"
        )
        if level == "strict":
            argv = strict_argv(box, argv, program=require_box(), hosts=["api.anthropic.com"])
        else:
            argv = (require_box(), *bwrap_argv(box, argv))
    run = new_run(root / level, RunSpec(argv=argv, cwd=str(root), boxed=level != "off"))
    keeper = keeper_client.start_keeper(run, env)
    assert isinstance(keeper, keeper_client.Keeper)
    keeper.wait(60)
    seconds = time.perf_counter() - began
    keeper.close()
    ended = run.exit()
    assert ended is not None
    assert ended.code == 0, run.stderr.read_text()
    return seconds


def measured(rounds: int = ROUNDS) -> dict[str, float]:
    """The median of each level; the levels take turns, so that a busy moment meets all alike."""
    with tempfile.TemporaryDirectory() as folder:
        for level in LEVELS:  # warm the caches
            started(Path(folder), level)
        rows = [[started(Path(folder), level) for level in LEVELS] for _ in range(rounds)]
    return {level: statistics.median(row[at] for row in rows) for at, level in enumerate(LEVELS)}


def figures() -> list[Figure]:
    found = measured()
    detail = ", ".join(f"{level} {seconds * 1e3:.0f} ms" for level, seconds in found.items())
    return [
        Figure(
            f"start of claude through {name} / without",
            found[level] / found["off"],
            goal,
            at_most=True,
            detail=detail,
        )
        for level, name, goal in (("workspace", "a box", 1.3), ("strict", "a strict box", 1.5))
    ]


if __name__ == "__main__":
    print(measured(*map(int, sys.argv[1:])))
