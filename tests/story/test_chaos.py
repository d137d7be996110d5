"""Many tasks under a supervisor, or keepers, that are killed again and again: in `make slow`, with
a supervisor that does nothing but follow keepers. In every run test_supervisor_chaos.py kills whole
ones.
"""

import random
import signal
import subprocess
import sys
import time
from collections import Counter

import psutil
import pytest

from fleet.processes import keeper_client as process
from fleet.processes import process_identity
from fleet.runs.run_directory import all_runs, latest_run
from tests.conftest import only_slow
from tests.fakes import FAKES

TASKS = 60
PATIENCE = 400.0
pytestmark = only_slow
linux = pytest.mark.skipif(sys.platform != "linux", reason="needs a subreaper and pdeathsig")


def start_supervisor(root):
    argv = [sys.executable, str(FAKES / "supervisor.py"), str(root), str(TASKS), "0.05-0.2"]
    return subprocess.Popen(argv)


def run_through(root, disturb):
    """Supervisors one after the other until all is done; `disturb` may kill one every 0.3 s."""
    supervisor, end = start_supervisor(root), time.monotonic() + PATIENCE
    try:
        while True:
            assert time.monotonic() < end, f"not done after {PATIENCE} s"
            try:
                code = supervisor.wait(0.3)
            except subprocess.TimeoutExpired:
                disturb(supervisor)
                continue
            if code == 0:
                return
            assert code == -signal.SIGKILL
            supervisor = start_supervisor(root)
    finally:
        supervisor.kill()
        supervisor.wait()


def witnessed(root):
    """What the agents of each task saw."""
    return [Counter((root / str(n) / "witness").read_text().split()) for n in range(TASKS)]


def nobody_left(root):
    """No process on this machine names this test's directory in its arguments."""
    people = (process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"]))
    return not any(str(root) in word for words in people for word in words)


@linux
def test_killed_supervisors_lose_nothing_and_repeat_nothing(tmp_path):
    """Killed every 0.3 s: each task is run by one agent, once, to its end."""
    kills = []

    def disturb(supervisor):
        if len(kills) < 25:
            supervisor.kill()
            kills.append(supervisor.pid)

    run_through(tmp_path, disturb)
    assert len(kills) >= 3
    assert witnessed(tmp_path) == [Counter(begin=1, end=1)] * TASKS
    assert nobody_left(tmp_path)


@linux
def test_killed_keepers_never_let_two_agents_meet(tmp_path):
    """Keepers are killed at random: no overlap, and each task has one run that succeeded."""
    dice, kills = random.Random(7), []

    def disturb(supervisor):
        runs = [run for n in range(TASKS) if (run := latest_run(tmp_path / str(n)))]
        alive = [run.started() for run in runs if run.started() and not run.exit()]
        if len(kills) >= 40:
            return
        chosen = [started.keeper for started in dice.sample(alive, min(3, len(alive)))]
        kills.extend(who for who in chosen if process_identity.send(who, signal.SIGKILL))
        if dice.random() < 0.3:
            supervisor.kill()

    run_through(tmp_path, disturb)
    assert len(kills) >= 5
    seen = witnessed(tmp_path)
    assert all(task["overlap"] == 0 and task["end"] >= 1 for task in seen)
    for number in range(TASKS):
        endings = [run.exit() for run in all_runs(tmp_path / str(number))]
        assert sum(ending is not None and ending.code == 0 for ending in endings) == 1
        assert isinstance(process.glance(latest_run(tmp_path / str(number))), process.Ended)
    assert nobody_left(tmp_path)
