"""`fleet tell` to real agents under a real supervisor, from the command to the model's request."""

from contextlib import contextmanager

from tests.conftest import coders
from tests.real import agents
from tests.real.house import CLOSE, TASK, WORK, Gate, a_house
from tests.real.test_hooks import said
from tests.scripted_model import Say, ScriptedModel, Shell

TEXT = "Use the plum table."


@contextmanager
def an_agent_at_work(cli, tmp_path):
    """A real agent in the middle of a command; the house, its supervisor, the gate, the model."""
    gate = Gate(tmp_path)
    with (
        ScriptedModel(Shell(command=gate.command), WORK, CLOSE, Say()) as model,
        a_house(agents.cli_directory(cli), model.url) as house,
    ):
        house.configure(permissions="bypass")
        house.create(cli)
        supervisor = house.supervise("--until-idle")
        gate.reached()
        yield house, supervisor, gate, model


@coders("claude")
def test_a_running_agent_is_told(coder, tmp_path):
    """With its next step, and it is on record."""
    with an_agent_at_work(coder, tmp_path) as (house, supervisor, gate, model):
        assert "reads it with its next step" in house.fleet("tell", TASK, TEXT)
        gate.open()
        assert supervisor.wait(60) == 0
        assert TEXT not in said(model.requests[0])
        assert TEXT in said(model.requests[1])
        assert house.task()["status"] == "closed"
        (given,) = house.events("told_delivered")
        assert given["to_run"] == 1
        assert len(house.events("fleet_told")) == 1


@coders("codex")
def test_an_agent_is_stopped_for_a_message_and_its_session_goes_on(coder, tmp_path):
    """The same session, with the words in its prompt, and no attempt counted."""
    with an_agent_at_work(coder, tmp_path) as (house, supervisor, _, model):
        assert "goes on with it" in house.fleet("tell", "--now", TASK, TEXT)
        assert supervisor.wait(60) == 0
        assert house.task()["status"] == "closed"
        assert house.ending(1)["counts"] is False
        first, second = house.runs
        assert second.spec().resumes == house.ending(1)["session_id"] != ""
        assert TEXT in said(model.requests[1])
        assert second.number == first.number + 1
