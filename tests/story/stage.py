"""A stage for real processes: tasks in a directory, their runs, and a sweep when the play ends."""

import os
import signal
import sys
import time

from fleet.files.inotify import DirectoryWatch
from fleet.processes import keeper_client, process_identity
from fleet.runs.run_directory import Run, RunSpec, new_run
from tests.fakes import FAKES

PYTHON = (sys.executable, "-I", "-S")
#: No test waits for longer than this for anything; on a quiet machine all take milliseconds.
PATIENCE = 30.0


def fake(name, *args):
    """The argv of a fake agent."""
    program = PYTHON if name.endswith(".py") else ("sh",)
    return (*program, str(FAKES / name), *map(str, args))


class Stage:
    def __init__(self, root):
        self.root = root
        self.ids = []
        self.keepers = []

    def run(self, *argv, task="task", prompt=None, **spec):
        spec = {"cwd": str(self.root), "grace": 0.3, "sweep_grace": 0.2, **spec}
        run = new_run(self.root / task, RunSpec(argv=argv, **spec), prompt)
        self.ids.append(run.spec().id)
        return run

    def start(self, run, **env):
        keeper = keeper_client.start_keeper(run, {**os.environ, **env})
        assert isinstance(keeper, keeper_client.Keeper)
        self.keepers.append(keeper)
        return keeper

    def play(self, *argv, **spec):
        """Run to the end; the run and its exit record."""
        run = self.run(*argv, **spec)
        assert self.start(run).wait(PATIENCE)
        state = keeper_client.state_of(run)
        assert isinstance(state, keeper_client.Ended), (state, run.stderr.read_text())
        return run, state.exit

    def close(self):
        for run_id in self.ids:
            for who in process_identity.tree(*process_identity.marked(run_id)):
                process_identity.send(who, signal.SIGKILL)
        for keeper in self.keepers:
            keeper.wait(PATIENCE)
            keeper.close()


def wait_until(run: Run, fact, patience=PATIENCE):
    """Wait for a fact about a run's files, looking whenever one of them changes."""
    watch = DirectoryWatch()
    watch.add(run.path)
    end = time.monotonic() + patience
    try:
        while not (found := fact()):
            assert time.monotonic() < end, f"waited in vain in {run.path}"
            watch.changed(min(0.5, end - time.monotonic()))
        return found
    finally:
        watch.close()


def wait_for_output(run, text):
    """Wait until the agent has printed `text`; all that it has printed."""
    return wait_until(run, lambda: (out := output(run)) and text in out and out)


def output(run):
    return run.stdout.read_text(errors="replace") if run.stdout.exists() else ""


def wait_gone(*people, patience=PATIENCE):
    """Wait for processes to end that nobody tells us of."""
    end = time.monotonic() + patience
    while any(process_identity.alive(who) for who in people):
        assert time.monotonic() < end, f"still alive: {people}"
        time.sleep(0.002)
