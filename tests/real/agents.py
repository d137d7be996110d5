"""How tests start a real agent CLI: as the supervisor will, with what its coder says."""

import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import structs

from fleet.coders.agent_environment import agent_env
from fleet.coders.base import Coder
from fleet.coders.stream.run_totals import RunTotals
from fleet.schemas import Outcome, Task
from tests.builders import a_task
from tests.conftest import missing
from tests.streams import READ_AT

_CACHES = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
CACHE = Path(os.environ.get("FLEET_CLI_CACHE", _CACHES / "fleet-cli"))


def cli_directory(program: str) -> Path:
    """Where a CLI is: in the cache that tools/install-clis fills, or on the PATH."""
    path = shutil.which(program, path=str(CACHE / "node_modules" / ".bin")) or shutil.which(program)
    if path is None:
        missing(program)
    return Path(str(path)).parent


@contextmanager
def desk(program: str) -> Generator["Desk"]:
    """A desk outside the system's temporary directory, which sandboxes leave open to all."""
    directory = cli_directory(program)
    CACHE.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=CACHE, prefix="desk-", ignore_cleanup_errors=True) as root:
        yield Desk(Path(root), directory)


class Desk:
    """A fleet home, a project and a task, for agents to work at."""

    def __init__(self, root: Path, programs: Path) -> None:
        self.root = root
        self.home = root / "home"
        self.project = root / "project"
        self.task_dir = self.home / "tasks" / "fleet-abc"
        self.artifacts = self.task_dir / "artifacts"
        self.spool = self.task_dir / "runs/1/spool"
        for directory in (self.artifacts, self.spool, self.project, root / "user", root / "bin"):
            directory.mkdir(parents=True)
        self._path = f"{root / 'bin'}:{programs}:{os.environ['PATH']}"
        self._user = root / "user"
        bd = root / "bin" / "bd"
        bd.write_text('#!/bin/sh\necho "$@" >>"$FLEET_SPOOL/bd.log"\n', encoding="utf-8")
        bd.chmod(0o755)

    @property
    def task(self) -> Task:
        return a_task(cwd=str(self.project))

    @property
    def said_to_bd(self) -> list[str]:
        log = self.spool / "bd.log"
        return log.read_text(encoding="utf-8").splitlines() if log.exists() else []

    def work(
        self, coder: Coder, *, interrupt: threading.Event | None = None, **login: str
    ) -> tuple[Outcome, RunTotals]:
        """Run the CLI on this task to its end, or until an event, and read what it told."""
        parent = {"PATH": self._path, "HOME": str(self._user), "FLEET_HOME": str(self.home)}
        given = {**login, "FLEET_SPOOL": str(self.spool)}
        env = agent_env(parent, coder, self.task, self.task_dir, given)
        coder.options = structs.replace(coder.options, spool=str(self.spool))
        coder.leave_out = coder.left_out(env, str(self.project))
        prompt = coder.prompt_file(self.task_dir)
        prompt.write_text(coder.prompt(self.task, self.task_dir), encoding="utf-8")
        with prompt.open("rb") as stdin:
            agent = subprocess.Popen(
                coder.build_argv(self.task, self.task_dir),
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=self.project,
                env=env,
                text=True,
            )
        with agent:
            if interrupt is not None:
                assert interrupt.wait(30), "the agent never asked its model"
                agent.send_signal(signal.SIGINT)
            stdout, stderr = _last_words(agent)
        reading = self._read(coder, stdout, env)
        died_of = -agent.returncode if agent.returncode < 0 else None
        code = None if died_of else agent.returncode
        return coder.outcome(reading, code, died_of, stderr=stderr), reading

    def _read(self, coder: Coder, stdout: str, env: dict[str, str]) -> RunTotals:
        reading = RunTotals()
        for line in stdout.split("\n"):
            reading.add(coder.read(line, READ_AT))
        second = coder.second_stream(reading.session_id, env)
        for path in second[0].glob(second[1]) if second else ():
            for line in path.read_text(encoding="utf-8").split("\n"):
                reading.add(coder.read(line, READ_AT, second=True))
        assert (reading.kinds["unknown"], reading.kinds["bad"]) == (0, 0), stdout
        return reading


def _last_words(agent: "subprocess.Popen[str]") -> tuple[str, str]:
    try:
        return agent.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        agent.kill()
        raise
