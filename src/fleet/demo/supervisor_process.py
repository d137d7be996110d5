"""The supervisor as a child process: `fleet run`, started, killed, and stopped with all it runs."""

import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress

from fleet.demo.interrupts import Interrupts
from fleet.demo.sandbox import Sandbox
from fleet.processes import keeper_client, process_identity
from fleet.processes.keeper_client import Running
from fleet.runs.run_directory import Run, all_runs

#: Seconds for what takes a fraction of one: a supervisor that ends, a keeper that sweeps.
PATIENCE = 10.0

#: On Linux: becomes the program that follows, which gets SIGTERM when its parent is gone.
TIED = ("setpriv", "--pdeathsig", "TERM", "--")


class Child:
    """At most one supervisor at a time."""

    def __init__(self, sandbox: Sandbox, interrupts: Interrupts) -> None:
        self._sandbox = sandbox
        self._interrupts = interrupts
        self._process: subprocess.Popen[bytes] | None = None
        self._said = b""

    def start(self) -> int:
        """Start one; its process number.

        It gets a session of its own, so that Ctrl-C is ours to hear. Where the system can, it is
        told to end when we do, even if we are killed.
        """
        tied = TIED if shutil.which(TIED[0]) else ()
        with self._interrupts.held():
            self._process = subprocess.Popen(
                [*tied, sys.executable, "-P", "-m", "fleet", "run"],
                cwd=self._sandbox.project,
                env=self._sandbox.env,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        assert self._process.stdout is not None
        os.set_blocking(self._process.stdout.fileno(), False)
        return self._process.pid

    def last_words(self) -> str | None:
        """What it said before it ended by itself; None while it lives."""
        self._listen()
        if self._process is None or self._process.poll() is None:
            return None
        self._listen()
        return self._said.decode(errors="replace").strip() or "nothing"

    def kill(self) -> None:
        """The hard way: it gets no chance to do anything. Its agents run on."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._close()

    def stop(self) -> None:
        """End it and everything that it started, whatever it takes."""
        for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGKILL):
            if self._process is None:
                break
            self._process.send_signal(number)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(PATIENCE)
                self._close()
        tasks = self._sandbox.home.tasks
        for folder in sorted(tasks.iterdir()) if tasks.is_dir() else []:
            for run in all_runs(folder):
                _end(run)

    def _listen(self) -> None:
        """Empty the pipe, so that it never fills; only the end is worth keeping."""
        if self._process is not None and self._process.stdout is not None:
            new = self._process.stdout.read()
            self._said = (self._said + (new or b""))[-4000:]

    def _close(self) -> None:
        if self._process is not None and self._process.stdout is not None:
            self._process.stdout.close()
        self._process = None


def _end(run: Run) -> None:
    """A run that outlived its supervisor: its keeper ends it, or we do."""
    state = keeper_client.glance(run)
    if isinstance(state, Running) and state.started is not None:
        keeper = keeper_client.adopt(state.started)
        keeper_client.stop(run, now=True)
        if keeper is not None:
            keeper.wait(PATIENCE)
            keeper.close()
    for who in process_identity.tree(*process_identity.marked(run.spec().id)):
        process_identity.send(who, signal.SIGKILL)
