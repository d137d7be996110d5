"""Real CLIs with fleet's MCP server: a question is answered in time, or parked and carried on."""

import json
import subprocess
import sys
import time

import pytest

from fleet.sandbox.try_box import try_box
from tests.builders import look_on
from tests.conftest import SLOW, coders, missing
from tests.fakes import FAKES
from tests.real.house import CLOSE, TASK, WORK
from tests.scripted_model import Call, Say, ScriptedModel, Shell

both = pytest.mark.parametrize("coder", ["claude", "codex"])
QUESTION = "Plums or pears?"
ASK = Call(
    tool="mcp__fleet__ask_human", input={"question": QUESTION, "options": ["plums", "pears"]}
)
REPORT = Call(tool="mcp__fleet__report_progress", input={"text": "half", "done": 1, "of": 2})
PROPOSE = Call(
    tool="mcp__fleet__propose_task", input={"title": "Prune the tree", "description": "It is old."}
)


def until(found, seconds=60.0):
    """Wait until a question can be seen, as a person would see it."""
    end = time.monotonic() + seconds
    while not (seen := found()):
        assert time.monotonic() < end, "it never came"
        time.sleep(0.05)
    return seen


def asked(house):
    return json.loads(house.fleet("questions", "--json"))


@coders("codex")
def test_a_question_is_answered_while_its_agent_waits(house, coder):
    """The tool returns the answer; the run is one run, and nothing was counted as silence."""
    with ScriptedModel(REPORT, ASK, WORK, CLOSE, Say()) as model:
        here = house(coder, model)
        here.create(coder)
        look_on(here.home)
        supervisor = here.supervise("--until-idle")
        (question,) = until(lambda: asked(here))
        assert question["waiting"] is True
        assert question["options"] == ["plums", "pears"]
        assert "its agent goes on" in here.fleet("answer", TASK, "2")
        assert supervisor.wait(90) == 0
        assert here.task()["status"] == "closed"
        assert len(here.runs) == 1
        assert "pears" in str(model.requests[2])
        (report,) = here.events("fleet_progress")
        assert report["text"] == "half (1 of 2)"
        assert here.events("fleet_asked")
        assert not here.events("fleet_degraded")
        assert "## A:" in (here.folder / "artifacts/Q&A.md").read_text()


@coders("claude")
def test_a_parked_question_frees_the_slot_and_its_answer_resumes_the_same_session(house, coder):
    """No attempt is counted, and the session knows what it asked and what was answered."""
    with ScriptedModel(ASK, Say(text="I end my turn."), PROPOSE, WORK, CLOSE, Say()) as model:
        here = house(coder, model)
        here.configure(ask_wait="1s")
        look_on(here.home)
        here.create(coder)
        here.fleet("run", "--until-idle")
        first = here.ending(1)
        assert first["outcome"]["type"] == "NeedsHuman"
        assert (first["counts"], first["attempts"]) == (False, 0)
        assert here.task()["status"] == "blocked"
        assert "Parked" in str(model.requests[1])
        (question,) = asked(here)
        assert question["waiting"] is False
        here.fleet("answer", TASK, "pears")
        here.fleet("run", "--until-idle")

        second = here.ending(2)
        assert here.task()["status"] == "closed"
        assert second["session_id"] == first["session_id"]
        assert second["resumed"] is True
        talk = str(model.requests[2])
        assert QUESTION in talk
        assert "carried on in the same session" in talk
        assert "pears" in talk.split("carried on in the same session")[1]
        (proposal,) = asked(here)
        assert (proposal["title"], proposal["proposed"]) == ("Prune the tree", True)
        here.fleet("answer", proposal["id"], "refuse not now")
        assert asked(here) == []


@pytest.mark.skipif(not SLOW, reason="make slow")
@both
@pytest.mark.parametrize("level", ["workspace", "strict"])
def test_a_lean_agent_in_a_box_has_the_tool(house, coder, level):
    """The box has the server and the drop box; the context leaves out all servers but fleet's."""
    if not try_box({}).works:
        missing("bwrap")
    with ScriptedModel(ASK, WORK, CLOSE, Say()) as model:
        here = house(coder, model)
        here.configure(sandbox=level, context="lean")
        way_out = f"sandbox_hosts={model.url.partition('//')[2]}"
        here.fleet("config", "set", "--project", str(here.project), way_out)
        look_on(here.home)
        here.create(coder)
        supervisor = here.supervise("--until-idle")
        until(lambda: asked(here))
        here.fleet("answer", TASK, "pears")
        assert supervisor.wait(90) == 0
        assert "pears" in str(model.requests[1])
        assert here.task()["status"] == "closed"


@pytest.mark.skipif(not SLOW, reason="make slow")
@both
def test_an_agent_that_does_not_end_its_turn_is_ended_and_resumed_with_the_answer(house, coder):
    """It was told that it is parked and begins to work: its session goes on all the same."""
    stays = Shell(command="sleep 300")
    with ScriptedModel(ASK, stays, WORK, CLOSE, Say()) as model:
        here = house(coder, model)
        here.create(coder)
        argv = [sys.executable, str(FAKES / "hasty_supervisor.py"), "parked=3"]
        supervisor = subprocess.Popen(argv, env=here.env, stdout=subprocess.DEVNULL)
        try:
            until(lambda: here.task()["status"] == "blocked", 90)
        finally:
            supervisor.terminate()
            supervisor.wait()
        first = here.ending(1)
        assert first["outcome"] == {"type": "NeedsHuman", "question": f"QUESTION: {QUESTION}"}
        assert (first["counts"], first["attempts"]) == (False, 0)
        here.fleet("answer", TASK, "pears")
        here.fleet("run", "--until-idle")
        second = here.ending(2)
        assert here.task()["status"] == "closed"
        assert (second["session_id"], second["resumed"]) == (first["session_id"], True)
        assert "pears" in str(model.requests[2])
