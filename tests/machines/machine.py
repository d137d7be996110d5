"""One host: a namespace, a home, and the supervisors that were started there."""

import os
import signal
import subprocess
import sys
from contextlib import suppress

import psutil

from fleet import config
from fleet.home import Home, make_home
from tests.builders import IN_PLACE, UNASKED, trust_coders
from tests.machines.network import inside
from tests.story.scene import ACTOR, processes_of


class Machine:
    """A host by its number; `settings` go into its runtime.toml."""

    def __init__(self, root, network, number, address, **settings):
        self.number, self.network = number, network
        self.name = f"host{number}"
        self.space = network.plug(number)
        self.home = Home(root / self.name)
        make_home(self.home)
        chosen = {"coder": "actor", "retry_wait_s": 1, "grace_s": 1, "lease_s": 12}
        chosen |= {"queue": address, "host_name": self.name, "land": "branch"}
        chosen |= UNASKED if "land" in settings else IN_PLACE
        self.home.config.write_text(config.default_text(**{**chosen, **settings}))
        (self.home.path / "coders").mkdir()
        (self.home.path / "coders" / "actor.toml").write_text(ACTOR)
        trust_coders(self.home.path)
        self.env = {**os.environ, "FLEET_HOME": str(self.home.path)}
        self.supervisors = []

    def supervise(self, *flags, under=()):
        """Start a supervisor on this host, `under` another program if wanted."""
        with (self.home.path / "screen").open("ab") as screen:
            process = subprocess.Popen(
                inside(self.space, *under, sys.executable, "-m", "fleet", "run", *flags),
                env=self.env, stdin=subprocess.DEVNULL, stdout=screen, stderr=screen,
            )  # fmt: skip
        self.supervisors.append(process)
        return process

    def fleet(self, *words, cwd=None, check=True):
        """One command on this host; what it printed."""
        done = subprocess.run(
            inside(self.space, sys.executable, "-m", "fleet", *words),
            env=self.env, cwd=cwd, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert not check or done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    def cut(self):
        self.network.cut(self.number)

    def mend(self):
        self.network.mend(self.number)

    def kill(self, process=None):
        """`kill -9` a supervisor."""
        process = process or self.supervisors[-1]
        process.send_signal(signal.SIGKILL)
        process.wait(30)

    def sleep(self):
        """Every process of the host stands still, as on a laptop that is shut."""
        self._signal_all(signal.SIGSTOP)

    def wake(self):
        self._signal_all(signal.SIGCONT)

    def _signal_all(self, number):
        for process in processes_of(self.home.path):
            with suppress(psutil.NoSuchProcess):
                process.send_signal(number)

    def vanish(self):
        """As if the plug were pulled: every process of the host is gone at once."""
        self._signal_all(signal.SIGKILL)
        for process in self.supervisors:
            if process.poll() is None:
                process.kill()
                process.wait(30)

    def screen(self):
        return (self.home.path / "screen").read_text()
