"""The demo's temporary directory: a fleet home, a git project, and the supervisor at work there."""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from fleet.control.tasks.kill_runs import brake
from fleet.demo.script import CHECK, CODER, PROJECT
from fleet.demo.simulated_agent import add_coders, cue_file
from fleet.errors import FleetError
from fleet.git.land.land_repository import is_new_enough
from fleet.home import Home, owner_file
from fleet.processes.own_program import OWN_PROGRAM

#: Four slots for nine tasks, and short waits.
SETTINGS = (
    f"coder={CODER}", "model=steady", "max_concurrent=4", "retry_limit=2", "retry_wait_s=1",
    "grace_s=2",
)  # fmt: skip

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

#: Seconds for a supervisor to end after a signal, and for a command to do its work.
_WAIT_S, _COMMAND_S = 10.0, 60.0
#: How often the files are removed anew while a command still writes, and the pause between.
_REMOVALS, _REMOVAL_PAUSE_S = 20, 0.1

#: On Linux: becomes the program that follows, which gets SIGTERM when its parent is gone.
_TIED = ("setpriv", "--pdeathsig", "TERM", "--")

#: A user's own git settings may not sign or refuse commits, ignore files or leave a daemon.
_GIT_CONFIG = f"""\
[user]
    name = Person
    email = person@demo.invalid
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


class Interrupts:
    """Turns SIGNALS into a KeyboardInterrupt inside `allowed()`; elsewhere they wait.

    So no signal falls between the start of a process and its assignment to a variable, nor into
    the removal of the home.
    """

    def __init__(self) -> None:
        self._allowed = False
        self._pending = False
        for number in SIGNALS:
            signal.signal(number, self._receive)

    @contextmanager
    def allowed(self, *, allow: bool = True) -> Generator[None]:
        before, self._allowed = self._allowed, allow
        try:
            self._raise_pending()
            yield
        finally:
            self._allowed = before
        self._raise_pending()

    def _receive(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self._pending = True
        self._raise_pending()

    def _raise_pending(self) -> None:
        if self._pending and self._allowed:
            self._pending = False
            raise KeyboardInterrupt


class DemoHome:
    """A temporary directory, the commands that a person runs there, and at most one supervisor."""

    def __init__(
        self, root: Path, interrupts: Interrupts, *, name: str = "", inside: Sequence[str] = ()
    ) -> None:
        #: What this host is called in the demo of hosts.
        self.name = name
        self.home = Home(root / "home")
        self.project = root / "bookshelf"
        self.project.mkdir()
        self._root = root
        #: What runs a program where this home is; empty: it is here.
        self._inside = tuple(inside)
        self._temporary = root / "tmp"
        self._temporary.mkdir()
        self._interrupts = interrupts
        self._supervisor: subprocess.Popen[bytes] | None = None

    @property
    def env(self) -> Mapping[str, str]:
        """Our own environment, without what points at another home, task or repository."""
        foreign = ("FLEET_TASK", "FLEET_RUN", "FLEET_SPOOL", "FLEET_ART", "GIT_", "BEADS_", "BD_")
        ours = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
        # What a killed supervisor leaves among temporary files goes with the demo.
        return ours | {"FLEET_HOME": str(self.home.path), "TMPDIR": str(self._temporary)}

    def set_up(self) -> None:
        """Make a git project, and a home with the embedded queue and the simulated coders."""
        self.make_project()
        self.fleet("init", "--queue", "embedded", "--sandbox", "off", "--land", "auto")
        add_coders(self.home.path)
        self.fleet("config", "set", *SETTINGS)
        verify = f"{shlex.quote(sys.executable)} {CHECK}"
        self.fleet("config", "set", "--project", ".", f"verify={verify}")

    def make_project(self) -> None:
        """Make a git project with one commit."""
        if not is_new_enough(said := self.git("version")):
            raise FleetError(f"the demo needs git 2.38 or later, and this is {said!r}")
        self.git("init", "-q", "--template=", "-b", "main")
        with (self.project / ".git" / "config").open("a") as file:
            file.write(_GIT_CONFIG)
        for path, text in PROJECT.items():
            (self.project / path).parent.mkdir(exist_ok=True)
            (self.project / path).write_text(text)
        self.git("add", ".")
        self.git("commit", "-q", "-m", "The first commit")

    def fleet(self, *args: str) -> str:
        """What `fleet …` prints in the project."""
        return self._output("fleet", *OWN_PROGRAM, *args)

    def git(self, *args: str) -> str:
        return self._output("git", "git", *args)

    def give_cue(self, key: str) -> None:
        """Let the agent of a demo task go on."""
        cue_file(self._temporary, key).touch()

    def _output(self, name: str, *argv: str) -> str:
        # An interrupt comes after the command: half of one, or its children, would write on while
        # the home is removed.
        words = " ".join((name, *argv[argv.index(name) + 1 :]))
        try:
            with self._interrupts.allowed(allow=False):
                done = subprocess.run(
                    [*self._inside, *argv], cwd=self.project, env=self.env,
                    stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                    timeout=_COMMAND_S,
                )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise FleetError(f"{words} took more than {_COMMAND_S:.0f} s") from error
        if done.returncode != 0:
            raise FleetError(f"{words} failed: {(done.stderr or done.stdout).strip()}")
        return done.stdout.strip()

    def start_supervisor(self) -> int:
        """Start `fleet run`; returns the process number.

        The supervisor gets a session of its own, so that Ctrl-C reaches the demo alone. Where
        `setpriv` exists, the supervisor ends with the demo, even if the demo is killed.
        """
        tied = _TIED if shutil.which(_TIED[0]) else ()
        with self._interrupts.allowed(allow=False), self._printed.open("wb") as out:
            self._supervisor = subprocess.Popen(
                [*tied, *self._inside, *OWN_PROGRAM, "run"],
                cwd=self.project, env=self.env, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                start_new_session=True,
            )  # fmt: skip
        return self._supervisor.pid

    def kill_supervisor(self) -> None:
        """Kill the supervisor with SIGKILL. Its agents run on."""
        if self._supervisor is not None:
            self._supervisor.kill()
            self._supervisor.wait()
            self._supervisor = None

    def supervisor_failure(self) -> str | None:
        """What the supervisor printed before ending unasked; None: still running."""
        if self._supervisor is None or self._supervisor.poll() is None:
            return None
        return self._printed.read_text(errors="replace").strip()[-4000:] or "nothing was printed"

    def stop(self) -> None:
        """End the supervisor, and the runs that outlived one."""
        for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGKILL):
            if self._supervisor is not None:
                self._supervisor.send_signal(number)
                with suppress(subprocess.TimeoutExpired):
                    self._supervisor.wait(_WAIT_S)
                    self._supervisor = None
        if owner := owner_file.read(self.home):
            brake(self.home, owner, by="fleet demo", now=True)

    def remove(self) -> None:
        """Remove all files."""
        remove_files(self._root)

    @property
    def _printed(self) -> Path:
        return self._root / "supervisor.out"


def remove_files(root: Path) -> None:
    """Remove a directory; what was just killed may write for a moment longer."""
    for _ in range(_REMOVALS):
        with suppress(OSError):
            shutil.rmtree(root)
            return
        time.sleep(_REMOVAL_PAUSE_S)
    shutil.rmtree(root)


@contextmanager
def demo_home(*, keep: bool) -> Generator[DemoHome]:
    """A temporary home; at exit all processes end and, unless `keep`, the files go."""
    if shutil.which("git") is None:
        raise FleetError("the demo needs git", hint="Install git, then run it again.")
    interrupts = Interrupts()
    made = DemoHome(Path(tempfile.mkdtemp(prefix="fleet-demo-")).resolve(), interrupts)
    try:
        with interrupts.allowed():
            yield made
    finally:
        try:
            made.stop()
        finally:
            if not keep:
                made.remove()
