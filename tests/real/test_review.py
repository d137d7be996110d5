"""A review goes to the session of the real agent that did the work."""

from tests.conftest import coders
from tests.real import agents
from tests.real.house import CLOSE, TASK, WORK, a_house
from tests.real.test_hooks import said
from tests.scripted_model import Say, ScriptedModel

TEXT = "Use the plum table."


@coders("codex")
def test_what_a_person_says_of_finished_work_goes_on_in_its_session(coder):
    """The task was closed; its agent remembers the work, and hears what is to be changed."""
    with (
        ScriptedModel(WORK, CLOSE, Say(), WORK, CLOSE, Say()) as model,
        a_house(agents.cli_directory(coder), model.url) as house,
    ):
        house.configure(permissions="bypass")
        house.create(coder)
        assert house.supervise("--until-idle").wait(60) == 0
        assert house.task()["status"] == "closed"
        before = len(model.requests)
        assert "is open again" in house.fleet("review", TASK, "--reject", TEXT)
        assert house.supervise("--until-idle").wait(60) == 0
        assert house.task()["status"] == "closed"
        first, second = house.runs
        assert second.spec().resumes == house.ending(1)["session_id"] != ""
        assert TEXT in said(model.requests[before])
        assert second.number == first.number + 1
