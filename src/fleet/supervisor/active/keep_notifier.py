"""Keeps a notifier beside the supervisor where the settings name a channel.

The notifier is a process of its own session: it outlives a supervisor that is killed, and then
tells that the supervisor is gone. A supervisor that ends on purpose ends it too.
"""

import os
import signal
import subprocess
import sys
import time

from fleet.files.put_aside import open_or_put_aside
from fleet.supervisor.state import SupervisorState

#: What the notifier prints, below `logging`.
_WORDS = "notify.out"
#: Seconds between two starts, doubled up to the longest; one that ran for long was well.
_PAUSE, _LONGEST = 5.0, 300.0
#: The exit code of a notifier that found another one at work: an earlier supervisor's.
_THERE = 9


class NotifierKeeper:
    """Starts the notifier, and starts it again after a pause when it ends."""

    def __init__(self, state: SupervisorState) -> None:
        self._state = state
        self._process: subprocess.Popen[bytes] | None = None
        self._begun = self._next = 0.0
        self._pause = _PAUSE

    def when_due(self) -> None:
        """Look after it; called once a tick."""
        now = time.monotonic()
        if self._process is not None:
            code = self._process.poll()
            if code is None:
                if not self._state.config.notify.is_on:
                    self.end()
                return
            self._process = None
            self._pause = _PAUSE if now - self._begun > _LONGEST else self._pause * 2
            self._pause = min(self._pause, _LONGEST)
            self._next = now + (_LONGEST if code == _THERE else self._pause)
            if code not in (0, _THERE):
                text = f"the notifier ended with code {code}; again in {self._pause:.0f} s"
                self._state.log.say("notifier", f"{text}: see logging/{_WORDS}")
        elif self._state.config.notify.is_on and now >= self._next:
            self._start(now)

    def end(self) -> None:
        """Have it end; it needs no grace, as the outbox has all that it did."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)

    def _start(self, now: float) -> None:
        home = self._state.home
        self._begun, self._next = now, now + self._pause
        argv = (sys.executable, "-m", "fleet", "notify", "run")
        env = {**os.environ, "FLEET_HOME": str(home.path)}
        try:
            out = open_or_put_aside(home.logging / _WORDS, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        except OSError as error:
            self._state.log.say("notifier", f"no notifier: {error}")
            return
        try:
            self._process = subprocess.Popen(
                argv, cwd=home.path, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:  # the machine is short of processes or memory
            self._state.log.say("notifier", f"no notifier for now: {error}")
        finally:
            os.close(out)
