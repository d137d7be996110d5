"""The whole thing: `fleet bd create`, `fleet run`, a real agent CLI, and the task's end."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.real import agents
from tests.real.test_claude import LOGIN, error, windows
from tests.real.test_codex import SETTINGS
from tests.scripted_model import Call, Refuse, Say, ScriptedModel, Shell, Tokens

CLOSE = Shell(command='bd close fleet-abc --reason "wrote it"')


class House:
    """A fleet home, a project, and the logins of the CLIs, driven as a person would."""

    def __init__(self, root: Path, programs: Path, url: str) -> None:
        self.home, self.project, self.user = root / "home", root / "project", root / "user"
        for directory in (self.project, self.user, root / "codex"):
            directory.mkdir()
        (root / "codex/config.toml").write_text(SETTINGS.format(url=url), encoding="utf-8")
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
        self.fleet("init", "--queue", "embedded")
        self.fleet("config", "set", "retry_limit=1")

    def fleet(self, *args: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "fleet", *args],
            cwd=self.project, env=self.env, stdin=subprocess.DEVNULL, capture_output=True,
            timeout=90, check=False,
        )  # fmt: skip
        assert done.returncode == 0, (args, done.stdout.decode(), done.stderr.decode())
        return done.stdout.decode()

    def create(self, coder: str, model: str) -> str:
        args = ("--silent", "--id", "fleet-abc", "--coder", coder, "--model", model, "Write a.txt")
        return self.fleet("bd", "create", *args).strip()

    def task(self, task_id: str) -> dict:
        (task,) = json.loads(self.fleet("show", task_id, "--json"))
        return task

    def ending(self, task_id: str, run: int = 1) -> dict:
        return json.loads((self.home / "tasks" / task_id / f"runs/{run}/outcome.json").read_text())


@pytest.fixture
def house():
    """Makes a house around a script; everything is gone at the end."""
    with TemporaryDirectory(dir=agents.CACHE, ignore_cleanup_errors=True) as root:

        def make(program: str, model: ScriptedModel) -> House:
            return House(Path(root), agents.cli_directory(program), model.url)

        agents.CACHE.mkdir(parents=True, exist_ok=True)
        yield make


def test_claude_works_through_a_task(house):
    """Created, claimed, worked on in its directory, closed through the agent's own bd."""
    write = Call(tool="Write", input={"file_path": "a.txt", "content": "hi"})
    with ScriptedModel(write, CLOSE, Shell(command="env"), Say(text="Done.")) as model:
        here = house("claude", model)
        write.input["file_path"] = str(here.project / "a.txt")
        task_id = here.create("claude", "sonnet")
        here.fleet("run", "--until-idle")

        task = here.task(task_id)
        assert task["status"] == "closed"
        assert task["close_reason"] == "wrote it [run 1: fleet task fleet-abc receipt]"
        assert (here.project / "a.txt").read_text() == "hi"
        assert sorted(path.name for path in here.project.iterdir()) == ["a.txt"]
        ending = here.ending(task_id)
        assert ending["outcome"]["type"] == "Finished"
        assert ending["tool_calls"] >= 2
        assert ending["tokens"] > 0
        raw = (here.home / "tasks" / task_id / "runs/1/stdout").read_text()
        assert "canary-5d1f" not in raw + str(model.requests)
        argv = (here.home / "tasks" / task_id / "runs/1/run.json").read_text()
        assert "Write a.txt" not in argv


def test_codex_works_through_a_task(house):
    """The same from inside its sandbox."""
    with ScriptedModel(Shell(command="echo hi > a.txt"), CLOSE, Say(text="Done.")) as model:
        here = house("codex", model)
        task_id = here.create("codex", "gpt-5")
        here.fleet("run", "--until-idle")
        assert here.task(task_id)["status"] == "closed"
        assert (here.project / "a.txt").read_text() == "hi\n"


def test_a_rate_limit_costs_no_attempt_and_is_waited_out(house):
    """The task goes back with the reset as its earliest time, and the coder cools."""
    resets = int(time.time()) + 3600
    refusal = Refuse(
        status=429,
        body=error("rate_limit_error", "limit"),
        headers=windows("rejected", "1.0", resets),
    )
    with ScriptedModel(refusal) as model:
        here = house("claude", model)
        task_id = here.create("claude", "sonnet")
        argv = [sys.executable, "-m", "fleet", "run"]
        with subprocess.Popen(argv, env=here.env, stdout=subprocess.PIPE, text=True) as run:
            assert run.stdout is not None
            said = next((line for line in run.stdout if "rate limit" in line), "")
            run.terminate()
        assert "released: rate limit (five_hour)" in said
        assert here.task(task_id)["status"] == "open"
        assert here.ending(task_id)["counts"] is False
        assert json.loads((here.home / "cooling.json").read_text()).keys() == {"claude"}


def test_a_denied_tool_is_named_with_the_setting(house):
    """Nothing hangs, and the reason says what to change."""
    with ScriptedModel(Shell(command="touch /nope"), Say(text="Could not.")) as model:
        here = house("claude", model)
        task_id = here.create("claude", "sonnet")
        here.fleet("run", "--until-idle")
        task = here.task(task_id)
        assert task["status"] == "blocked"
        assert "denied Bash" in task["notes"]
        assert "permissions" in task["notes"]


def test_a_full_context_goes_on_in_a_fresh_session(house):
    """No attempt is counted; the second session closes the task."""
    note = Shell(command="bd show fleet-abc", tokens=Tokens(fresh=1000, cached=190_000))
    with ScriptedModel(note, Shell(command="bd ready"), CLOSE, Say(text="Done.")) as model:
        here = house("claude", model)
        task_id = here.create("claude", "sonnet")
        here.fleet("run", "--until-idle")
        assert here.ending(task_id)["outcome"]["type"] == "ContextFull"
        assert here.ending(task_id)["counts"] is False
        assert here.task(task_id)["status"] == "closed"
