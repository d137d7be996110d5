"""Real agent CLIs under `kill -9`, in the middle of a tool: of their supervisor, and of them."""

import pytest

from tests.conftest import coders
from tests.real.house import CLOSE, Gate, hear, kill_run
from tests.scripted_model import Say, ScriptedModel, Shell

NOTE = Shell(command='echo "half is done" > "$FLEET_ARTIFACT_DIR/PLAN_AND_STATUS.md"')
READ = Shell(command='cp "$FLEET_ARTIFACT_DIR/PLAN_AND_STATUS.md" found.md')


@pytest.fixture
def gate(tmp_path):
    return Gate(tmp_path)


@pytest.fixture
def second_gate(tmp_path):
    return Gate(tmp_path, "second")


@coders("claude")
def test_a_killed_supervisor_is_followed_by_one_that_adopts(house, gate, second_gate, coder):
    """The agent works on without one; the next finds it in mid-tool and sees it to the end."""
    script = (Shell(command=gate.command), Shell(command=second_gate.command), CLOSE, Say())
    with ScriptedModel(*script) as model:
        here = house(coder, model)
        here.configure(permissions="bypass")
        here.create(coder)
        first = here.supervise()
        gate.reached()
        first.kill()
        first.wait()
        gate.open()
        second_gate.reached()

        second = here.supervise("--until-idle")
        hear(second, "adopted run 1")
        second_gate.open()
        hear(second, "closed: unchecked")
        assert second.wait(30) == 0

        assert here.task()["status"] == "closed"
        assert [run.number for run in here.runs] == [1]
        ending = here.ending()
        assert ending["outcome"]["type"] == "Finished"
        assert ending["tool_calls"] == 3
        assert len(here.events("tool_use")) == 3
        assert len(here.events("fleet_started")) == len(here.events("fleet_ended")) == 1
        assert len(model.requests) == 4
        assert here.alive() == []


@coders("codex")
def test_an_agent_killed_with_its_keeper_is_lost_and_its_work_goes_on(house, gate, coder):
    """As by a crash of the machine. It counts; the next run has the notes, and is told of it."""
    with ScriptedModel(NOTE, Shell(command=gate.command), READ, CLOSE, Say()) as model:
        here = house(coder, model)
        here.configure(permissions="bypass", retry_limit=2)
        here.create(coder)
        first = here.supervise()
        gate.reached()
        (run,) = here.runs
        first.kill()
        first.wait()
        kill_run(run)
        here.fleet("run", "--until-idle")

        lost = here.ending(1)
        assert lost["outcome"] == {"type": "Lost", "why": "its keeper was killed"}
        assert (lost["counts"], lost["attempts"]) == (True, 1)
        assert run.exit() is None
        assert "lost: its keeper was killed" in str(model.requests[2])
        assert (here.project / "found.md").read_text() == "half is done\n"
        assert here.ending(2)["outcome"]["type"] == "Finished"
        assert here.task()["status"] == "closed"
        assert here.task()["close_reason"].startswith("wrote it [run 2")
        assert here.alive() == []
