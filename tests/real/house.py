"""A house for the whole thing: a fleet home, a project and logins, driven as a person would."""

import json
import os
import signal
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fleet import config
from fleet.accounts.account_store import open_accounts
from fleet.accounts.candidates import all_resting
from fleet.cli.run.run import NEEDS_YOU
from fleet.processes import process_identity
from fleet.runs.run_directory import ProcessId, Run, all_runs
from tests import warm
from tests.builders import UNASKED
from tests.real import agents
from tests.real.test_claude import LOGIN
from tests.real.test_codex import SETTINGS
from tests.scripted_model import Shell
from tests.story.scene import processes_of

#: The task of every test: a script has to name it before it is made.
TASK = "fleet-abc"
#: What every permission allows, and fleet takes for work.
WORK = Shell(command="touch a.txt")
CLOSE = Shell(command=f'bd close {TASK} --reason "wrote it"')
#: As a person sets them: to look up a list price takes each supervisor a third of a second.
PRICES = '\n[prices."*"]\ninput = 3.0\noutput = 15.0\n'
MODELS = {"claude": "sonnet", "codex": "gpt-5"}


@contextmanager
def a_house(programs: Path, url: str) -> Generator["House"]:
    """Not in the system's temporary directory, which sandboxes leave open to all."""
    agents.CACHE.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=agents.CACHE, prefix="house-", ignore_cleanup_errors=True) as root:
        house = House(Path(root), programs, url)
        try:
            yield house
        finally:
            house.close()


class House:
    def __init__(self, root: Path, programs: Path, url: str) -> None:
        self.home, self.project, self.user = root / "home", root / "project", root / "user"
        self.folder = self.home / "tasks" / TASK
        self._supervisors: list[Any] = []
        self._files = ExitStack()
        for directory in (self.project, self.user, root / "codex", root / "claude"):
            directory.mkdir()
        (root / "codex/config.toml").write_text(SETTINGS.format(url=url), encoding="utf-8")
        # What fleet does not pass on to an agent can stand in the agent's own settings.
        own = {"env": {"CLAUDE_CODE_MAX_RETRIES": "0"}}
        (root / "claude/settings.json").write_text(json.dumps(own), encoding="utf-8")
        self.env = {
            "PATH": f"{programs}:{os.environ['PATH']}",
            "HOME": str(self.user),
            "FLEET_HOME": str(self.home),
            "ANTHROPIC_BASE_URL": url,
            "CLAUDE_CONFIG_DIR": str(root / "claude"),
            "CODEX_HOME": str(root / "codex"),
            "CODEX_API_KEY": "script",
            "SECRET_OF_SOMEONE_ELSE": "canary-5d1f",
            **LOGIN,
        }
        self.fleet("init", "--queue", "embedded", "--sandbox", "off")
        with (self.home / "runtime.toml").open("a", encoding="utf-8") as settings:
            settings.write(PRICES)
        self.configure(retry_limit=1, retry_wait_s=1, grace_s=1, **UNASKED)

    # What a person does.

    def fleet(self, *args: str) -> str:
        done = warm.fleet(args, cwd=self.project, env=self.env, timeout=90)
        fine = (0, NEEDS_YOU) if args[0] == "run" else (0,)
        assert done.returncode in fine, (args, done.stdout.decode(), done.stderr.decode())
        return done.stdout.decode()

    def configure(self, **settings: object) -> None:
        self.fleet("config", "set", *(f"{name}={value}" for name, value in settings.items()))

    def create(self, coder: str, title: str = "Write a.txt", *wishes: str) -> None:
        model = ("--model", MODELS[coder]) if coder in MODELS else ("--model", "some-model")
        self.fleet(
            "bd", "create", "--silent", "--id", TASK, "--coder", coder, *model, *wishes, title
        )

    def supervise(self, *flags: str) -> Any:
        """Start a supervisor and go on; `hear` tells what it says."""
        ours, theirs = os.pipe()
        with Path(os.devnull).open("rb") as empty, os.fdopen(theirs, "wb") as out:
            streams = (empty, out, out)
            words = ("run", *flags)
            supervisor = warm.start(words, env=self.env, cwd=self.project, streams=streams)
        supervisor.stdout = self._files.enter_context(os.fdopen(ours, encoding="utf-8"))
        self._supervisors.append(supervisor)
        return supervisor

    def close(self) -> None:
        """End whatever of this house lives."""
        for supervisor in self._supervisors:
            supervisor.kill()
            supervisor.wait()
        self._files.close()
        for left in processes_of(self.home):
            left.kill()

    # What there is to see.

    def task(self) -> dict[str, Any]:
        (task,) = json.loads(self.fleet("show", TASK, "--json"))
        return task

    @property
    def runs(self) -> list[Run]:
        return list(all_runs(self.folder))

    def ending(self, run: int = 1) -> dict[str, Any]:
        return json.loads((self.folder / f"runs/{run}/outcome.json").read_text())

    def events(self, *kinds: str) -> list[dict[str, Any]]:
        lines = (self.folder / "events.jsonl").read_text().splitlines()
        return [event for line in lines if (event := json.loads(line))["kind"] in kinds]

    def cooling(self) -> dict[str, datetime]:
        """Which accounts wait for a limit, and until when."""
        states, now = open_accounts(self.home).states, datetime.now(UTC)
        return all_resting(states, config.load(self.home / "runtime.toml"), now)

    def marked(self) -> list[ProcessId]:
        """Every process that bears the mark of a run of this house."""
        return [who for run in self.runs for who in process_identity.marked(run.spec().id)]

    def alive(self) -> list[object]:
        """All those, and whatever else was started for this home."""
        return [*self.marked(), *processes_of(self.home)]


def hear(supervisor: Any, words: str) -> str:
    """Wait for a supervisor to say something; the line."""
    before: list[str] = []
    for line in supervisor.stdout:
        if words in line:
            return line
        before.append(line)
    raise AssertionError(f"it never said {words!r}: {before}")


class Gate:
    """A place in a command where the agent tells that it is there, and waits to be let on."""

    def __init__(self, folder: Path, name: str = "gate") -> None:
        self._here, self._go = folder / f".{name}.here", folder / f".{name}.go"
        os.mkfifo(self._here)
        os.mkfifo(self._go)
        self.command = f"echo here > {self._here}; cat {self._go}"

    def reached(self) -> None:
        """Return once the agent stands at the gate."""
        assert self._here.read_text() == "here\n"

    def open(self) -> None:
        self._go.write_text("go\n")


def kill_run(run: Run) -> None:
    """Kill the keeper first, so that nobody is left to tell, and then the agent's whole tree."""
    started = run.started()
    assert started is not None
    tree = process_identity.tree(started.keeper, *process_identity.marked(run.spec().id))
    assert len(tree) > 2, "a keeper, an agent and its tool were to be there"
    for who in (started.keeper, *tree):
        process_identity.send(who, signal.SIGKILL)
