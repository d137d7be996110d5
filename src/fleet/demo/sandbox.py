"""The demo's own ground: a temporary directory that holds a fleet home and a git project."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from fleet.demo.script import CODER
from fleet.demo.simulated_coder import add_coders
from fleet.errors import FleetError
from fleet.home import Home

PROJECT = "bookshelf"

#: Three slots for eight tasks, and waits that suit an audience.
SETTINGS = (
    f"coder={CODER}", "model=steady", "max_concurrent=3", "retry_limit=2", "retry_wait_s=1",
    "grace_s=2",
)  # fmt: skip

#: Nothing of a person's own git settings may sign, refuse, ignore, or stay behind as a daemon.
_GIT_CONFIG = f"""\
[user]
    name = Simulated agent
    email = agent@demo.invalid
[commit]
    gpgSign = false
[core]
    hooksPath = {os.devnull}
    excludesFile = {os.devnull}
    fsmonitor = false
[gc]
    auto = 0
[maintenance]
    auto = false
"""


class Sandbox(Struct, frozen=True):
    """Paths, and the commands of a person who works there."""

    root: Path

    @property
    def home(self) -> Home:
        return Home(self.root / "home")

    @property
    def project(self) -> Path:
        return self.root / PROJECT

    @property
    def env(self) -> Mapping[str, str]:
        """Our own environment, without what points at another home, task or repository."""
        foreign = ("FLEET_TASK", "FLEET_RUN_DIR", "FLEET_ARTIFACT", "GIT_", "BEADS_", "BD_")
        ours = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
        return ours | {"FLEET_HOME": str(self.home.path)}

    def fleet(self, *args: str) -> str:
        """What `fleet …` prints when it is called in the project."""
        return self._told(sys.executable, "-P", "-m", "fleet", *args)

    def git(self, *args: str) -> str:
        return self._told("git", *args)

    def remove(self) -> None:
        shutil.rmtree(self.root)

    def _told(self, *argv: str) -> str:
        done = subprocess.run(
            argv,
            cwd=self.project,
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            words = " ".join(argv[argv.index("fleet") :] if "fleet" in argv else argv)
            raise FleetError(f"{words} failed: {(done.stderr or done.stdout).strip()}")
        return done.stdout.strip()


def new_sandbox() -> Sandbox:
    """An empty one: the directories, and nothing in them."""
    if shutil.which("git") is None:
        raise FleetError("the demo needs git", hint="Install git, then run it again.")
    sandbox = Sandbox(Path(tempfile.mkdtemp(prefix="fleet-demo-")).resolve())
    sandbox.project.mkdir()
    return sandbox


def furnish(sandbox: Sandbox) -> None:
    """A git project, and a home with the embedded queue and the simulated coders."""
    sandbox.git("init", "-q", "--template=")
    with (sandbox.project / ".git" / "config").open("a") as file:
        file.write(_GIT_CONFIG)
    sandbox.fleet("init", "--queue", "embedded")
    add_coders(sandbox.home.path)
    sandbox.fleet("config", "set", *SETTINGS)
