"""Real agent CLIs in a box, through `fleet run`: a whole working day in one story each."""

import json
import subprocess

import pytest

from fleet.sandbox.try_box import try_box
from tests.conftest import coders, missing, only_slow
from tests.real.house import CLOSE, TASK, Gate, hear
from tests.real.test_hooks import said
from tests.scripted_model import Say, ScriptedModel, Shell

#: Edits, tests and commits, which no CLI does unasked outside of a box.
WORK = Shell(
    command="printf 'import unittest\\nclass T(unittest.TestCase):\\n"
    " def test(self): self.assertTrue(1)\\n' > test_a.py"
    " && python3 -B -m unittest -q test_a 2> tested"
    " && git add -A && git commit -qm 'made in a box' && git log --format=%an -1 > author"
)
MORE = Shell(command="echo pear > table && git add -A && git commit -qm more")
ASK = Shell(command=f'bd update {TASK} --status blocked --notes "QUESTION: which table?"')


@pytest.fixture
def project(house):
    """Makes a house whose project is a repository, with a key that no agent is to see."""

    def make(coder, model, level, **lists):
        if not try_box({}).works:
            missing("bwrap")
        here = house(coder, model)
        git = ["git", "-C", str(here.project)]
        start = ["commit", "-q", "--allow-empty", "-m", "start"]
        who = ["config", "user.name", "Ann"], ["config", "user.email", "ann@example.org"]
        for words in (["init", "-qb", "main"], *who, start):
            subprocess.run([*git, *words], check=True, env=here.env)
        (here.user / ".ssh").mkdir()
        (here.user / ".ssh/id_ed25519").write_text("canary-ssh")
        here.configure(sandbox=level)
        own = [f"{name}={value}" for name, value in lists.items()]
        if own:
            here.fleet("config", "set", "--project", str(here.project), *own)
        here.create(coder)
        return here

    return make


@coders("codex")
def test_a_day_in_a_box(project, tmp_path, coder):
    """Edit, test, commit; the supervisor is killed, and the next one adopts the box; a message
    reaches the agent, another stops it and goes on with its session; a question is asked and
    answered; the task is closed, and the commit is in the project.
    """
    first_gate, second_gate = Gate(tmp_path), Gate(tmp_path, "second")
    gates = Shell(command=first_gate.command), Shell(command=second_gate.command)
    with ScriptedModel(WORK, *gates, ASK, Say(), MORE, CLOSE, Say()) as model:
        here = project(coder, model, "workspace", sandbox_write=tmp_path)
        first = here.supervise()
        first_gate.reached()
        first.kill()
        first.wait()
        second = here.supervise("--until-idle")
        hear(second, "adopted run 1")
        here.fleet("tell", TASK, "Use the plum table.")
        first_gate.open()
        second_gate.reached()
        assert "plum" in said(model.requests[2])
        here.fleet("tell", "--now", TASK, "Or the pear table.")
        hear(second, "blocked")
        second.wait(60)
        one, two = here.ending(1), here.ending(2)
        assert (one["outcome"]["type"], one["counts"]) == ("Stopped", False)
        assert two["session_id"] == one["session_id"] != ""
        assert "pear" in said(model.requests[3])
        assert two["outcome"]["type"] == "NeedsHuman"
        here.fleet("answer", TASK, "The pear one.")
        here.fleet("run", "--until-idle")

        assert here.task()["status"] == "closed"
        assert here.alive() == []
        log = ["git", "-C", str(here.project), "log", "--all", "--format=%s by %an"]
        assert "made in a box by Ann" in subprocess.check_output(log, text=True)


@only_slow
@coders("claude")
def test_a_task_in_a_strict_box(project, coder):
    """The model is reached through the one way out; claude's key never enters the box."""
    look = Shell(command="cat /proc/*/environ ~/.ssh/id_ed25519 | tr '\\0' '\\n'; env | grep -c .")
    with ScriptedModel(WORK, look, CLOSE, Say()) as model:
        here = project(coder, model, "strict", sandbox_hosts=model.url.partition("//")[2])
        here.fleet("run", "--until-idle")
        assert here.task()["status"] == "closed"
        printed = here.runs[0].stdout.read_text()
        assert "canary" not in printed
        keys = {"claude": "sk-ant-oat01-script", "codex": "script"}
        assert set(model.logins) == {keys[coder]}
        if coder == "claude":
            assert "kept-outside-1" in printed
            assert keys[coder] not in printed
        assert json.loads((here.folder / "runs/1/exit.json").read_text())["code"] == 0
