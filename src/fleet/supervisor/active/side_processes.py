"""Keeps the notifier and the exporter beside the supervisor, where the settings want them.

Each is a process of its own session: it outlives a supervisor that is killed; the notifier then
tells that the supervisor is gone. A supervisor that ends on purpose ends them too.
"""

import os
import signal
import subprocess
import time
from collections.abc import Callable

from fleet.config import Config
from fleet.extend import TickingDuty
from fleet.files.put_aside import open_or_put_aside
from fleet.processes.own_program import OWN_PROGRAM
from fleet.schemas.backoff import Backoff
from fleet.supervisor.state import SupervisorState

#: Seconds between two starts; a process that ran for the longest pause was well.
_BACKOFF = Backoff(5.0, 300.0)
#: The exit code of one that found another one at work: an earlier supervisor's.
_THERE = 9


class SideProcess:
    """Starts `fleet <command> run`, and starts the command again after a pause when that process
    ends.
    """

    def __init__(
        self,
        state: SupervisorState,
        name: str,
        command: str,
        is_wanted: Callable[[Config], bool],
    ) -> None:
        self._state, self._name, self._command = state, name, command
        self._is_wanted = is_wanted
        #: What it prints, below `logging`.
        self._words = f"{command}.out"
        self._process: subprocess.Popen[bytes] | None = None
        self._begun = self._next = 0.0
        self._pause = _BACKOFF.first

    def when_due(self) -> None:
        """Start, restart or end the process as the settings want; called once a tick."""
        now = time.monotonic()
        if self._process is not None:
            code = self._process.poll()
            if code is None:
                if not self._is_wanted(self._state.config):
                    self.end()
                return
            self._process = None
            was_well = now - self._begun > _BACKOFF.longest
            self._pause = _BACKOFF.first if was_well else _BACKOFF.after(self._pause)
            self._next = now + (_BACKOFF.longest if code == _THERE else self._pause)
            if code not in (0, _THERE):
                text = f"the {self._name} ended with code {code}; again in {self._pause:.0f} s"
                self._state.log.say(self._name, f"{text}: see logging/{self._words}")
        elif self._is_wanted(self._state.config) and now >= self._next:
            self._start(now)

    def end(self) -> None:
        """End the process; no grace is needed, as all that was done is on the disk."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)

    def _start(self, now: float) -> None:
        home, log = self._state.home, self._state.log
        self._begun, self._next = now, now + self._pause
        argv = (*OWN_PROGRAM, self._command, "run")
        env = {**os.environ, "FLEET_HOME": str(home.path)}
        place = home.logging / self._words
        try:
            out = open_or_put_aside(place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        except OSError as error:
            log.say(self._name, f"no {self._name}: {error}")
            return
        # A request to end waits until the process can take it: one that has hardly begun may have
        # something to send yet.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        try:
            self._process = subprocess.Popen(
                argv, cwd=home.path, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:  # the machine is short of processes or memory
            log.say(self._name, f"no {self._name} for now: {error}")
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
            os.close(out)


class SideProcesses(TickingDuty):
    """All side processes that a home may want."""

    begins_work = True

    def __init__(self, state: SupervisorState) -> None:
        self._shutdown = state.shutdown
        self._processes = (
            SideProcess(state, "notifier", "notify", lambda config: config.notify.is_on),
            SideProcess(state, "exporter", "otel", lambda config: config.otel.is_on),
        )

    def tick(self) -> None:
        for process in self._processes:
            process.when_due()

    def close(self) -> None:
        if not self._shutdown.restart:
            for process in self._processes:
                process.end()
