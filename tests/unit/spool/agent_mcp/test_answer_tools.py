"""What fleet makes of an agent's tool calls, as the supervisor carries them out."""

import json
from datetime import timedelta

import pytest
from msgspec import structs

from fleet.config.notify import NotifySettings
from fleet.errors import Refused
from fleet.home import task_json
from fleet.queue.protocol import Filter
from fleet.runs import agent_claim
from fleet.runs.questions import asked_json, questions_file
from fleet.spool.agent_mcp.answer_tools import QUESTION
from fleet.spool.answer_request import rule, serve
from fleet.spool.follow_up_rules import PROPOSED_A_RUN, check_proposals
from tests.builders import look_on
from tests.unit.spool.conftest import request


@pytest.fixture
def call(asker, queue):
    """Calls a tool as its server does, past the box; what it came to."""

    def call(tool, **arguments):
        files = {"-": json.dumps(arguments).encode()}
        return serve(rule(request(tool, program="mcp", files=files), asker), asker, lambda: queue)

    return call


def test_a_question_is_on_the_disk_before_its_call_is_answered(call, asker):
    """With its options, where agents write theirs; asked again it is not written again."""
    look_on(asker.home.path)
    done = call("ask_human", question="Which?", options=["a", "b"], default="a")
    told = json.loads(done.answer.out)
    assert (told["answer"], told["wait"]) == (None, 100.0)
    assert done.event == "fleet_asked"
    text = questions_file.read(asker.run.task_dir)
    assert text == "## Q: Which?\n\n1. a\n2. b\n\nOtherwise: a\n"
    assert call("ask_human", question="Which?").event == ""
    assert questions_file.read(asker.run.task_dir) == text


@pytest.mark.parametrize("way", ["none", "channel", "terminal", "page"])
def test_a_question_waits_only_where_it_finds_a_person(asker, queue, way):
    """Elsewhere its slot is free at once; the answer resumes the session all the same."""
    notify = NotifySettings(command=("true",) if way == "channel" else ())
    config = structs.replace(asker.config, notify=notify)
    here = structs.replace(asker, config=config, on_terminal=way == "terminal")
    if way == "page":
        look_on(asker.home.path)
    files = {"-": json.dumps({"question": "Which?"}).encode()}
    done = serve(rule(request("ask_human", program="mcp", files=files), here), here, lambda: queue)
    assert json.loads(done.answer.out)["wait"] == (0 if way == "none" else 100)


def test_a_parked_question_is_a_claim_of_the_run(call, asker):
    """The run ends as NeedsHuman; the same request again changes nothing."""
    told = json.loads(call("ask_human", question="Which?\nI mean it.").answer.out)
    for _ in range(2):
        done = call("park_question", id=told["id"])
        assert done.answer.out.startswith("Parked: end your turn now")
    said = agent_claim.read(asker.run.path, by=asker.mark)
    assert said.blocked == "QUESTION: Which?"


def test_a_question_that_was_answered_is_not_parked(call, asker):
    """The answer came first: the agent has it, and goes on."""
    told = json.loads(call("ask_human", question="Which?").answer.out)
    at = asked_json.last(asker.run.task_dir).at
    asked_json.answer(asker.run.task_dir, told["id"], "that", by="ada", at=at)
    done = call("park_question", id=told["id"])
    assert (done.answer.out, done.said) == ("that", None)
    assert agent_claim.read(asker.run.path).blocked is None


def test_progress_is_an_event_and_no_more(call, asker):
    """In one line, cut to what a person reads."""
    done = call("report_progress", text="half\nway" + "x" * 1000, done=1, of=2)
    assert done.event == "fleet_progress"
    assert done.facts["text"].startswith("half wayxxx")
    assert len(done.facts["text"]) < 320
    assert agent_claim.read(asker.run.path) == agent_claim.AgentClaim()


def test_a_proposed_task_waits_for_a_person(call, asker, queue):
    """It has all that its parent has, cannot be claimed, and says which agent proposed it."""
    done = call("propose_task", title="Prune\nit", description="It is old.", after_this=True)
    assert done.answer.code == 0, done.answer.err
    made = queue.get(done.facts["task"])
    assert (made.title, made.status) == ("Prune it", "blocked")
    assert made.notes.startswith("PROPOSED: by the agent of fleet-own, run 1")
    settings = task_json.settings_of(asker.home, made)
    assert (settings.verify, settings.depth, settings.root) == (("make test",), 1, "fleet-own")
    assert queue.claim("me", ttl=timedelta(minutes=1))[0].task.id == "fleet-own"


def test_a_title_is_proposed_once(call, queue):
    """An agent that was cut off, and one that forgot, get the task that there is."""
    first = call("propose_task", title="Prune it", description="It is old.")
    again = call("propose_task", title=" prune  IT ", description="Another reason.")
    assert (again.answer.code, again.event) == (0, "")
    assert first.facts["task"] in again.answer.out
    assert "proposed already" in again.answer.out
    assert len(queue.find(Filter(include_closed=True))) == 2


def test_a_run_proposes_five_tasks_and_no_more(call):
    """The sixth is refused with the way that the agent has instead."""
    for number in range(PROPOSED_A_RUN):
        assert call("propose_task", title=f"{number}", description="x").answer.code == 0
    refused = call("propose_task", title="more", description="x").answer
    assert refused.code == 7
    assert "close this task" in refused.err


@pytest.mark.parametrize("figures", [(5, 0, 0), (0, 20, 0), (0, 0, 2)])
def test_proposals_are_bounded_in_a_run_in_a_tree_and_in_depth(figures):
    """Depth alone does not stop a flood, and neither does a number a run."""
    with pytest.raises(Refused):
        check_proposals(*figures)
    check_proposals(4, 19, 1)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("ask_human", {}),
        ("ask_human", {"question": " "}),
        ("ask_human", {"question": "x" * (QUESTION + 1)}),
        ("ask_human", {"question": "x", "options": ["a"] * 9}),
        ("ask_human", {"question": "x", "options": "a"}),
        ("ask_human", {"question": 17}),
        ("report_progress", {"text": ""}),
        ("propose_task", {"title": "x"}),
        ("propose_task", {"title": "", "description": "x"}),
        ("park_question", {"id": "no-such-question"}),
    ],
)
def test_bad_arguments_are_told_and_change_nothing(call, asker, queue, tool, arguments):
    """The agent can mend its call."""
    answer = call(tool, **arguments).answer
    assert answer.code != 0
    assert answer.err.startswith("Error: ")
    assert asked_json.read(asker.run.task_dir) == ()
    assert len(queue.find(Filter(include_closed=True))) == 1


def test_what_is_null_was_left_out(call):
    """So models call tools whose fields they do not need."""
    done = call("ask_human", question="Which?", options=None, default=None)
    assert done.answer.code == 0


def test_no_other_tool_is_there(asker):
    """Nor a tool with more words than its name."""
    for words in (("rm",), ("ask_human", "x"), ()):
        assert rule(request(*words, program="mcp"), asker).refused
