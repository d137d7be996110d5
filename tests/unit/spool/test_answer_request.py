"""Requests of an agent, carried out on the embedded queue: what it may do, and under which name."""

import json

import pytest
from msgspec import structs

from fleet.config import Config
from fleet.home import task_json
from fleet.queue.protocol import Draft, Filter
from fleet.queue.sql.tracker.related import comments_of, edges_from
from fleet.runs import agent_claim, follow_ups
from fleet.runs.agent_claim import AgentClaim
from fleet.runs.questions import asked_json
from fleet.spool.answer_request import record_last_words
from tests.builders import NOW
from tests.unit.spool.conftest import SETTINGS, request

AGENT = "agent of fleet-own, run 1"
EVERYTHING = Filter(include_closed=True)


def test_a_claim_is_recorded_and_the_queue_is_not_touched(bd, asker, queue):
    """It bears the mark of the run. The supervisor decides."""
    answer = bd("close", "own", "--reason", "wrote it")
    assert (answer.code, answer.err) == (0, "")
    assert agent_claim.read(asker.run.path, by=asker.mark).done == "wrote it"
    assert queue.get("fleet-own").status == "open"


def test_a_task_is_not_closed_while_its_question_is_open(bd, asker):
    """Neither while the agent waits nor after it was parked; the parked claim stands."""
    task_dir, run = asker.run.task_dir, asker.run.number
    asked, _ = asked_json.ask(task_dir, "Cents or Decimal?", run=run, at=NOW)
    for _ in ("waiting", "parked"):
        refused = bd("close", "own", "--reason", "wrote it")
        assert refused.code == 7
        assert "asks a person 'Cents or Decimal?'" in refused.err
        assert bd("update", "own", "--status", "in_progress").code == 7
        asked_json.park(task_dir, asked.id, at=NOW)
    assert agent_claim.read(asker.run.path, by=asker.mark) == AgentClaim()
    assert bd("update", "own", "--status", "blocked", "--notes", "QUESTION: x").code == 0


def test_a_question_that_was_answered_in_time_stands_in_no_way(bd, asker):
    """The agent has heard the answer."""
    asked, _ = asked_json.ask(asker.run.task_dir, "Which?", run=asker.run.number, at=NOW)
    asked_json.answer(asker.run.task_dir, asked.id, "Decimal", by="ada", at=NOW)
    assert bd("close", "own", "--reason", "wrote it").code == 0


def test_a_task_that_its_agent_blocked_is_closed_after_the_question_is_taken_back(bd, asker):
    """A question in Q&A.md is not overtaken by a claim."""
    assert bd("update", "own", "--status", "blocked", "--notes", "QUESTION: which?").code == 0
    refused = bd("close", "own", "--reason", "decided")
    assert refused.code == 7
    assert "bd update fleet-own --status in_progress" in refused.err
    assert agent_claim.read(asker.run.path, by=asker.mark).blocked == "QUESTION: which?"
    assert bd("update", "own", "--status", "in_progress").code == 0
    assert bd("close", "own", "--reason", "decided").code == 0


def test_what_it_reads_is_a_value(bd, capsys):
    """The supervisor's own streams stay as they are."""
    assert json.loads(bd("show", "fleet-own", "--json").out)[0]["id"] == "fleet-own"
    assert "fleet-own" in bd("list").out
    assert bd("show", "nonsense").code == 1
    assert "no issue found" in bd("show", "nonsense").err
    assert bd("--help").out.startswith("fleet's own task tracker")
    assert bd("dolt", "push").code == 0
    assert capsys.readouterr() == ("", "")


def test_comments_and_notes_bear_its_name(bd, queue):
    """A comment on any task, a note on its own."""
    queue.add(Draft(title="another", id="fleet-other"))
    assert bd("comment", "fleet-other", "look", "here").code == 0
    (comment,) = comments_of(queue, ["fleet-other"])["fleet-other"]
    assert (comment.author, comment.text) == (AGENT, "look here")
    assert bd("update", "own", "--append-notes", "half way").code == 0
    assert "half way" in queue.get("fleet-own").notes
    wanted = bd("comment", "fleet-own", "--stdin")
    assert wanted.wanted == "-"
    assert bd("comment", "fleet-own", "--stdin", files={"-": b"from a pipe"}).code == 0
    assert comments_of(queue, ["fleet-own"])["fleet-own"][-1].text == "from a pipe"


def test_a_refusal_says_what_to_do_instead(bd):
    """With an exit code that stays the same."""
    answer = bd("config", "set", "permissions=bypass", program="fleet")
    assert answer.code == 7
    assert "an agent may not run `fleet config`" in answer.err
    assert "--status blocked" in answer.err


def test_a_follow_up_has_all_that_its_parent_has(bd, asker, queue):
    """Verify commands, scope, coder, directory; its author is the agent, and its origin known."""
    answer = bd("create", "fix the docs", "--description", "they lie", "--json")
    made = queue.get(json.loads(answer.out)["id"])
    inherited = structs.replace(SETTINGS, depth=1, root=asker.task_id)
    assert (made.description, made.created_by) == ("they lie", AGENT)
    assert task_json.settings_of(asker.home, made) == inherited
    assert task_json.recorded_settings(made).verify == ("make test",)
    (edge,) = edges_from(queue, [made.id])[made.id]
    assert (edge.depends_on_id, edge.type) == ("fleet-own", "discovered-from")
    assert follow_ups.of_run(asker.run) == (made.id,)


def test_a_follow_up_may_wait_for_the_task_or_the_task_for_it(bd, queue):
    """By `--deps`, or by `dep add` afterwards."""
    first = bd("create", "a", "--deps", "fleet-own", "--silent").out.strip()
    assert [edge.type for edge in edges_from(queue, [first])[first]] == ["blocks"]
    second = bd("create", "b", "--silent").out.strip()
    assert bd("dep", "add", second, "own").code == 0
    assert [edge.type for edge in edges_from(queue, [second])[second]] == ["blocks"]
    assert bd("dep", "add", first, second).code == 0


def test_plans_come_from_the_agents_own_files(bd, asker, queue):
    """Fleet opens none of them: it asks for their content."""
    assert bd("create", "--file", "/etc/shadow").wanted == "/etc/shadow"
    made = bd("create", "--file", "plan.md", files={"plan.md": b"## one\n## two\n"})
    assert made.code == 0, made.err
    assert len(follow_ups.of_run(asker.run)) == 2
    assert all("fleet" in queue.get(i).metadata for i in follow_ups.of_run(asker.run))


@pytest.mark.parametrize(
    "node",
    [
        {"metadata": {"fleet": {"setup": "CMD"}}},
        {"metadata": {"fleet": {"expect": "any"}}},
        {"status": "closed"},
        {"assignee": "ada"},
        {"parent_id": "fleet-other"},
    ],
)
def test_a_plan_cannot_say_what_a_line_cannot(bd, asker, queue, node):
    """All of it is refused, and nothing is made."""
    queue.add(Draft(title="another", id="fleet-other"))
    plan = json.dumps({"nodes": [{"key": "a", "title": "a"}, {"key": "b", "title": "b", **node}]})
    answer = bd("create", "--graph", "p", files={"p": plan.encode()})
    assert answer.code == 7, answer
    assert {task.id for task in queue.find(EVERYTHING)} == {"fleet-own", "fleet-other"}
    assert follow_ups.of_run(asker.run) == ()


def test_a_run_makes_only_so_many_follow_ups(bd, asker, queue):
    """Also in one line; and a dry run makes none."""
    assert bd("create", "a", followup_limit=1).code == 0
    refused = bd("create", "b", followup_limit=1)
    assert refused.code == 7
    assert "followup_limit" in refused.err
    plan = {"p": b"## one\n## two\n"}
    assert bd("create", "--file", "p", files=plan, followup_limit=2).code == 7
    assert bd("create", "c", "--dry-run", followup_limit=2).code == 0
    assert len(queue.find(EVERYTHING)) == 2


def test_follow_ups_follow_each_other_only_so_far(bd, asker):
    """A task that an agent made is a step further from a person."""
    task_json.write(asker.home, "fleet-own", structs.replace(SETTINGS, depth=3))
    refused = bd("create", "a")
    assert refused.code == 7
    assert "followup_depth" in refused.err


def test_a_claim_left_in_the_box_counts_without_a_supervisor(asker, box):
    """In the order in which they were left; what only the agent wanted to see is not done."""
    for number, words in enumerate(
        [("close", "own", "-r", "a"), ("list",), ("close", "own", "-r", "b")]
    ):
        (box.path / f"{number}.request").write_bytes(request(*words))
    (box.path / "9.request").mkdir()
    record_last_words(asker.home, Config(), asker.task, asker.run, asker.mark)
    assert agent_claim.read(asker.run.path, by=asker.mark) == AgentClaim(done="b", by=asker.mark)
    assert "1" in box.requests()
