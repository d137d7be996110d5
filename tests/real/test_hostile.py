"""Vices that the real CLIs can show, against a scripted model: the same verdicts as for fakes."""

import json
import subprocess

import pytest

from fleet.runs import receipt_json
from tests.conftest import coders, need, only_slow
from tests.real.house import CLOSE, TASK
from tests.scripted_model import Say, ScriptedModel, Shell, Stall
from tests.story.scene import processes_of

DONE = Say(text="Done, everything works.")


def ending(here, run=1):
    return json.loads((here.folder / f"runs/{run}/outcome.json").read_text())


def receipt(here):
    return receipt_json.read(here.runs[-1])


def in_git(here):
    """The project as a repository."""
    git = [need("git"), "-C", str(here.project), "-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "start"]):
        subprocess.run([*git, *words], check=True)


def test_a_denied_tool_and_a_claim_is_not_done(house):
    """The CLI ends in success, exit 0; the change that was asked for is not there."""
    with ScriptedModel(Shell(command="python3 make_probe.py"), CLOSE, DONE) as model:
        here = house("claude", model)
        in_git(here)
        here.create("claude", "Make probe.txt", "--expect", "change")
        here.fleet("run", "--until-idle")
        assert here.task()["status"] == "blocked"
        assert ending(here)["outcome"]["type"] == "Finished"
        assert {"denied_and_missing", "no_effect"} <= set(ending(here)["broke"])
        assert "Bash" in receipt(here).denied


def test_a_write_that_the_sandbox_refused_is_not_done(house):
    """What codex could not write is missed."""
    with ScriptedModel(Shell(command="echo x > /opt/probe.txt"), CLOSE, DONE) as model:
        here = house("codex", model)
        in_git(here)
        here.create("codex", "Make probe.txt", "--expect", "artifact:probe.txt")
        here.fleet("run", "--until-idle")
        assert here.task()["status"] == "blocked"
        assert "artifact_missing" in ending(here)["broke"]


@only_slow
@coders("codex")
@pytest.mark.parametrize("begun", [False, True])
def test_a_model_that_falls_silent_is_a_stall(house, coder, begun):
    """The CLIs themselves would wait for five minutes, or for ever."""
    with ScriptedModel(Stall(begun=begun)) as model:
        here = house(coder, model)
        here.create(coder, "Wait", "--max-idle", "3s")
        here.fleet("run", "--until-idle")
        found = ending(here)
        assert (found["outcome"]["type"], found["outcome"]["rung"]) == ("Stalled", "silent")
        assert here.task()["status"] == "blocked"
        assert not processes_of(here.home)


@only_slow
@coders("codex")
def test_a_server_left_in_the_background_is_gone_afterwards(house, coder):
    """The work is verified all the same, and what was swept is told."""
    server = "echo hi > a.txt; setsid sleep 3600 > /dev/null 2>&1 &"
    with ScriptedModel(Shell(command=server), CLOSE, DONE) as model:
        here = house(coder, model)
        here.configure(permissions="bypass")
        here.create(coder)
        here.fleet("run", "--until-idle")
        assert here.task()["status"] == "closed"
        assert (here.project / "a.txt").read_text() == "hi\n"
        assert not processes_of(here.home)


@only_slow
@coders("codex")
def test_a_command_past_the_runs_time_ends_with_it(house, coder):
    """All of it, soon after the grace; `make bench` tells how soon on a quiet machine."""
    with ScriptedModel(Shell(command="sleep 3600"), DONE) as model:
        here = house(coder, model)
        here.configure(permissions="bypass")
        here.create(coder, "Sleep", "--timeout", "6s")
        here.fleet("run", "--until-idle")
        outcome = ending(here)["outcome"]
        assert (outcome["type"], outcome["limit"]) == ("LimitExceeded", "time")
        assert receipt(here).stop_seconds <= 1 + 10
        assert not processes_of(here.home)


@only_slow
def test_a_verify_command_has_the_last_word_over_a_real_agent(house):
    """The first try is sent back with what failed, and the second is right."""
    wrong, right = Shell(command="echo no > a.txt"), Shell(command="echo hi > a.txt")
    with ScriptedModel(wrong, CLOSE, DONE, right, CLOSE, DONE) as model:
        here = house("claude", model)
        here.configure(permissions="bypass", retry_limit=2)
        here.create(
            "claude", "Write hi", "--verify", f"grep -q hi a.txt || (echo {TASK} wants hi; exit 3)"
        )
        here.fleet("run", "--until-idle")
        assert here.task()["status"] == "closed"
        assert ending(here, 1)["broke"] == ["verify_failed"]
        assert f"{TASK} wants hi" in str(model.requests[3])
