"""One task with all that belongs to it, whatever an agent left in its directory."""

import os

import pytest

from fleet.control.view.task.whole_task import read_whole_task
from fleet.errors import NotFound
from fleet.git.snapshot_names import DIFF
from fleet.home import messages
from fleet.queue.protocol import Draft
from fleet.queue.sql.tracker.comments import comment
from fleet.runs import receipt_json
from fleet.runs.outcome_history import write_ending
from fleet.schemas import Blocked, Failed, Finding, Verdict
from fleet.schemas.waits import SetAside
from tests.builders import NOW, a_run, an_ending
from tests.unit.control.test_usage import receipt


@pytest.fixture
def task(fleet):
    return fleet.queue.add(Draft(title="Make it loud", description="As loud as it gets."))


def artifact(fleet, task, name, text):
    folder = fleet.home.task(task.id) / "artifacts"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)


def test_a_new_task_has_nothing_but_itself(fleet, task):
    """And says what it waits for, with what it would run."""
    found = read_whole_task(fleet, task.id, NOW)
    assert (found.row.id, found.task.description) == (task.id, "As loud as it gets.")
    assert (found.receipt, found.runs, found.questions, found.comments) == (None, (), (), ())
    assert (found.landing, found.comparison, found.clone) == (None, "", "")
    assert {each.name for each in found.settings} >= {"coder", "work_in", "sandbox"}


def test_its_runs_are_told_with_how_each_ended(fleet, task):
    """The receipt is the latest one, with the rules that it broke, scope first."""
    first, second = a_run(fleet.home.task(task.id)), a_run(fleet.home.task(task.id))
    write_ending(first, an_ending(Failed(reason="denied"), why="it was denied", counts=True))
    write_ending(
        second, an_ending(Failed(reason="denied"), Blocked(waits=SetAside(note="x")), counts=True)
    )
    (second.path / DIFF).write_text("diff --git a/a b/a\n")
    broken = Verdict(
        findings=(Finding(rule="verify_failed", what="make"),),
        trespasses=(Finding(rule="outside", what="/etc"),),
    )
    receipt_json.write(second, receipt(task_id=task.id, verdict=broken, run=2, cost=0.5))
    found = read_whole_task(fleet, task.id, NOW)
    assert [(run.number, run.outcome, run.counts) for run in found.runs] == [
        (1, "Failed (denied)", True), (2, "Failed (denied)", True),
    ]  # fmt: skip
    assert [(run.has_receipt, run.has_diff) for run in found.runs] == [(False, False), (True, True)]
    assert found.runs[0].why == "it was denied"
    assert found.runs[1].spent.usd == 0.5
    assert found.receipt.run == 2
    assert [each.rule for each in found.findings] == ["outside", "verify_failed"]


def test_what_people_and_the_agent_said_of_it_is_there(fleet, task):
    """Messages, questions with answers, comments, plan and knowledge."""
    messages.add(fleet.home.task(task.id), "Use tabs.", by="ada", at=NOW)
    comment(fleet.queue, task.id, author="ben", text="Good idea.")
    artifact(fleet, task, "Q&A.md", "## Q: Tabs?\n\nOr spaces.\n\n## A: ada\n\nTabs.\n")
    artifact(fleet, task, "PLAN_AND_STATUS.md", "# Plan\n")
    found = read_whole_task(fleet, task.id, NOW)
    assert [each.message.text for each in found.messages] == ["Use tabs."]
    assert [(each.author, each.text) for each in found.comments] == [("ben", "Good idea.")]
    assert [each.kind for each in found.questions] == ["question", "answer"]
    assert (found.texts.plan.strip(), found.texts.knowledge) == ("# Plan", "")


def test_its_neighbours_are_rows_of_their_own(fleet, task):
    """What it waits for, and what waits for it; not what merely belongs to it."""
    after = fleet.queue.add(Draft(title="after", depends_on=(("blocks", task.id),)))
    fleet.queue.add(Draft(title="child", parent=task.id))
    found = read_whole_task(fleet, task.id, NOW)
    assert ([row.id for row in found.waits_for], [row.id for row in found.unblocks]) == (
        [], [after.id],
    )  # fmt: skip
    assert [row.id for row in read_whole_task(fleet, after.id, NOW).waits_for] == [task.id]


def test_a_paper_that_is_too_long_is_cut_and_says_so(fleet, task):
    """Its end counts: there the latest stands."""
    artifact(fleet, task, "KNOWLEDGE.md", "x" * 300_000 + "the end")
    found = read_whole_task(fleet, task.id, NOW).texts
    assert found.knowledge.endswith("the end")
    assert (len(found.knowledge) < 300_000, found.cut) == (True, ("knowledge",))


def test_damage_and_tricks_in_its_directory_hide_nothing_else(fleet, task):
    """A pipe in the place of a paper, a record that is none, settings that cannot be."""
    run = a_run(fleet.home.task(task.id))
    (run.path / "outcome.json").write_text("{")
    artifact(fleet, task, "KNOWLEDGE.md", "kept")
    os.mkfifo(fleet.home.task(task.id) / "artifacts/PLAN_AND_STATUS.md")
    found = read_whole_task(fleet, task.id, NOW)
    assert [run.number for run in found.runs] == [1]
    assert (found.texts.plan, found.texts.knowledge) == ("", "kept")
    (fleet.home.task(task.id) / "task.json").write_text("{")
    found = read_whole_task(fleet, task.id, NOW)
    assert "task.json is damaged" in found.invalid
    assert (found.row.group, found.settings) == ("needs_you", ())


def test_a_task_that_is_not_there_is_not_found(fleet):
    """Nor is a path."""
    with pytest.raises(NotFound):
        read_whole_task(fleet, "fleet-nope", NOW)
