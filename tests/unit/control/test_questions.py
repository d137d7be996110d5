"""Questions and answers: the file, the notes, and what is refused."""

from datetime import timedelta

import pytest
from click.testing import CliRunner

from fleet.cli.run.questions import command
from fleet.config import default_text
from fleet.control.tasks.questions import answer, question_of, questions
from fleet.errors import BadInput, Refused
from fleet.queue.protocol import Draft
from fleet.queue.sql.edit_task import Change, edit
from fleet.runs import agent_claim
from fleet.runs.outcome_history import write_ending
from fleet.runs.questions import asked_json
from fleet.runs.questions.questions_file import FILE, add_block, last_answer, open_question
from fleet.runs.run_id import RunId
from fleet.schemas import Blocked, Failed, Finished, NeedsHuman
from fleet.schemas.waits import Asks, Proposed, SetAside
from tests.builders import NOW, a_run, an_ending
from tests.settled import settled

ANSWERED = NOW.replace(minute=34)
ENV = {"USER": "ada"}


@pytest.fixture
def fleet(fleet):
    """The home of a person by the name of ada."""
    fleet.env = ENV
    return fleet


FINISHED = Finished()


def blocked(fleet, note, *, asked=True, outcome=FINISHED, in_file=""):
    """A task that one run blocked."""
    fleet.queue.add(Draft(title="Choose"))
    (lease,) = fleet.queue.claim("us", ttl=timedelta(minutes=5))
    task_dir = fleet.home.task(lease.task.id)
    run = a_run(task_dir, id=str(RunId.of(lease)))
    if asked:
        agent_claim.record(run.path, agent_claim.AgentClaim(blocked=note))
    text = note.removeprefix("QUESTION: ")
    settlement = Blocked(waits=Asks(text=text) if asked else SetAside(note=note))
    write_ending(run, an_ending(outcome, settlement, counts=False, why=note))
    if in_file:
        write(fleet, lease.task, in_file)
    return settled(fleet.queue, lease, settlement)


def parked(fleet, words, *, options=()):
    """A task whose one run was parked with a question."""
    fleet.queue.add(Draft(title="Choose"))
    (lease,) = fleet.queue.claim("us", ttl=timedelta(minutes=5))
    task_dir = fleet.home.task(lease.task.id)
    run = a_run(task_dir, id=str(RunId.of(lease)))
    asked, _ = asked_json.ask(task_dir, words, run=1, at=NOW, options=options)
    add_block(task_dir, asked.block)
    asked_json.park(task_dir, asked.id, at=NOW)
    settlement = Blocked(waits=Asks(text=f"{words}"))
    write_ending(run, an_ending(NeedsHuman(), settlement, counts=False, why=words))
    return settled(fleet.queue, lease, settlement)


def write(fleet, task, text):
    path = fleet.home.task(task.id) / FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_the_last_question_is_read_whole():
    """The heading's own text belongs to its block, and an earlier question is answered."""
    answered = "# Q&A\n\n## Q: Which?\n\nA or B?\n\n## A: 2026-11-15 12:34\n\nA\n"
    assert open_question(f"{answered}\n##Q\nWhy?\n") == "Why?"
    assert open_question("## Q: Which?\n\nA or B?\n") == "Which?\n\nA or B?"


def test_an_answered_question_is_not_open():
    """And neither is what only looks like one."""
    assert open_question("## Q: a\n## A: b\n") == ""
    assert open_question("## Questions to ask\n### Q: no\ntext ## Q: no\n") == ""
    assert open_question("") == ""


def test_the_answer_to_the_last_question_is_known():
    """For the prompt of the next run; not an old one, above a question that is still open."""
    answered = "## Q: Which?\n\n## A: 2026-11-15 12:34\n\nB, and\nsay why\n"
    assert last_answer(answered) == "B, and\nsay why"
    assert last_answer(f"{answered}\n## Q: And then?\n") == ""
    assert last_answer("") == ""


def test_an_agents_note_is_its_question(fleet):
    """An agent that wrote no file still asks."""
    task = blocked(fleet, "QUESTION: Which db?")
    found = question_of(fleet, task)
    assert (found.note, found.question) == ("Which db?", "")


def test_a_task_blocked_for_failing_asks_nothing(fleet):
    """The task is counted, so that the user sees that there is more to look at."""
    blocked(fleet, "exit_code: 1 (attempt 3 of 3)", asked=False, outcome=Failed(reason="exit_code"))
    assert questions(fleet) == ([], 1)


@pytest.mark.parametrize(
    ("number", "says"), [(1, "\nWhat else needs you: 1 stopped. "), (2, ": 2 stopped. ")]
)
def test_tasks_that_ask_nothing_are_counted_by_their_state(fleet, number, says):
    """With the command that names them."""
    fleet.home.config.write_text(default_text(queue="embedded"))
    for _ in range(number):
        blocked(fleet, "broken", asked=False, outcome=Failed(reason="crash"))
    shown = CliRunner(env={"FLEET_HOME": str(fleet.home.path)}).invoke(command, [])
    assert f"{says}See: fleet status" in shown.output


def test_a_parked_question_has_no_agent_that_waits(fleet):
    """Its run ends: a person who answers now answers the next one."""
    fleet.queue.add(Draft(title="Choose"))
    (lease,) = fleet.queue.claim("us", ttl=timedelta(minutes=5))
    task_dir = fleet.home.task(lease.task.id)
    a_run(task_dir, id=str(RunId.of(lease)))
    asked, _ = asked_json.ask(task_dir, "Which?", run=1, at=NOW)
    assert [each.waiting for each in questions(fleet)[0]] == [True]
    asked_json.park(task_dir, asked.id, at=NOW)
    found, others = questions(fleet)
    assert ([each.waiting for each in found], others) == ([False], 0)


def test_an_old_question_is_not_asked_again_by_a_later_failure(fleet):
    """The note of the first block stands before the later one."""
    task = blocked(fleet, "QUESTION: Which db?", in_file="## Q: Which db?\n")
    answer(fleet, task, "SQLite", at=ANSWERED)
    (lease,) = fleet.queue.claim("us", ttl=timedelta(minutes=5))
    task = settled(
        fleet.queue, lease, Blocked(waits=SetAside(note="invalid: its directory is not there"))
    )
    assert "QUESTION: Which db?\nANSWERED: SQLite\n" in task.notes
    assert question_of(fleet, task) is None


def test_a_question_past_fleet_is_told_by_its_mark(fleet):
    """A client of bd blocked the task: only `QUESTION:` tells a question from a remark."""
    task = fleet.queue.add(Draft(title="Choose"))
    change = Change(status="blocked", append_notes="see the mail\nQUESTION: which?")
    task = edit(fleet.tracker, task.id, change, actor="ada")
    assert question_of(fleet, task).note == "which?"


@pytest.mark.parametrize("note", ["see also fleet-77", "PROPOSED: by nobody"])
def test_a_question_is_open_whatever_is_noted_below_it(fleet, note):
    """Until it is answered: a remark of a person must not take it off every list."""
    task = fleet.queue.add(Draft(title="Choose"))
    change = Change(status="blocked", append_notes="QUESTION: old or new schema?")
    edit(fleet.tracker, task.id, change, actor="ada")
    task = edit(fleet.tracker, task.id, Change(append_notes=note), actor="bob")
    assert [each.note for each in questions(fleet)[0]] == ["old or new schema?"]
    assert answer(fleet, task, "new", at=ANSWERED).status == "open"


def test_a_proposal_waits_whatever_is_noted_below_it(fleet):
    """It has no run of its own, so that the row alone knows of it."""
    task = fleet.queue.add(Draft(title="Split it"))
    task = fleet.queue.reopen_task(task, by="us", waits=Proposed(by="the agent of fleet-1"))
    task = edit(fleet.tracker, task.id, Change(append_notes="why not"), actor="ada")
    assert question_of(fleet, task).note == "proposed by the agent of fleet-1"
    assert answer(fleet, task, "accept", at=ANSWERED).status == "open"


def test_a_question_is_withdrawn_with_the_status(fleet):
    """Who opens the task by hand has answered in their own way."""
    task = blocked(fleet, "QUESTION: Which db?")
    edit(fleet.tracker, task.id, Change(status="open"), actor="ada")
    task = edit(fleet.tracker, task.id, Change(status="blocked"), actor="ada")
    assert (question_of(fleet, task), task.waits) == (None, SetAside())


def test_an_answer_stands_below_its_question_and_opens_the_task(fleet):
    """In the form that the agent's instructions name."""
    task = blocked(fleet, "QUESTION: Which db?", in_file="## Q: Which db?\n\nA or B?")
    done = answer(fleet, task, "  B, and\nsay why \n", at=ANSWERED)
    assert (done.status, done.assignee) == ("open", "")
    text = (fleet.home.task(task.id) / FILE).read_text()
    assert text == ("## Q: Which db?\n\nA or B?\n\n## A: 2026-11-15 12:34\n\nB, and\nsay why\n")


def test_the_answer_to_a_note_makes_the_file(fleet):
    """The next session reads it there, whatever the last one wrote."""
    task = blocked(fleet, "QUESTION: Which db?")
    answer(fleet, task, "B", at=ANSWERED)
    text = (fleet.home.task(task.id) / FILE).read_text()
    assert text == "## A: 2026-11-15 12:34\n\nB\n"


def test_nothing_is_answered_that_was_not_asked(fleet):
    """An answer to the wrong id must not open a task that is blocked for a reason."""
    task = blocked(fleet, "auth: log in again", asked=False, outcome=Failed(reason="auth"))
    with pytest.raises(Refused, match="asks nothing"):
        answer(fleet, task, "B", at=ANSWERED)
    assert not (fleet.home.task(task.id) / FILE).exists()
    assert fleet.get(task.id).status == "blocked"
    assert answer(fleet, task, "B", at=ANSWERED, force=True).status == "open"


def test_an_empty_answer_is_refused(fleet):
    """Most likely a variable was empty."""
    task = blocked(fleet, "QUESTION: Which db?")
    with pytest.raises(BadInput, match="empty"):
        answer(fleet, task, " \n", at=ANSWERED)


def test_a_task_that_was_taken_meanwhile_is_not_opened(fleet):
    """Between the look and the write another actor claimed the task: that claim stands."""
    task = blocked(fleet, "QUESTION: Which db?")
    answer(fleet, task, "A", at=ANSWERED)
    fleet.queue.claim("them", ttl=timedelta(minutes=5))
    with pytest.raises(Refused):
        answer(fleet, task, "B", at=ANSWERED, force=True)
    assert fleet.get(task.id).lease_owner == "them"


def test_a_link_in_the_files_place_is_not_followed(fleet, tmp_path):
    """An agent can put anything there; nothing outside the task is read or written."""
    task = blocked(fleet, "QUESTION: Which db?")
    outside = tmp_path / "secret"
    outside.write_text("## Q: secret\n")
    path = fleet.home.task(task.id) / FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(outside)
    assert question_of(fleet, task).question == ""
    with pytest.raises(Exception, match="cannot be read"):
        answer(fleet, task, "B", at=ANSWERED)
    assert outside.read_text() == "## Q: secret\n"


def test_a_question_has_its_words_before_the_file_has_its_block(fleet):
    """Else a person would be told the same question twice, in two wordings."""
    fleet.queue.add(Draft(title="Choose"))
    (lease,) = fleet.queue.claim("us", ttl=timedelta(minutes=5))
    task_dir = fleet.home.task(lease.task.id)
    a_run(task_dir, id=str(RunId.of(lease)))
    asked, _ = asked_json.ask(task_dir, "Which?", run=1, at=NOW, options=("A", "B"), default="A")
    before = question_of(fleet, lease.task)
    add_block(task_dir, asked.block)
    assert question_of(fleet, lease.task) == before
    assert before.question == open_question((task_dir / FILE).read_text())
    assert before.question == "Which?\n\n1. A\n2. B\n\nOtherwise: A"


def test_an_answer_whose_task_could_not_go_back_is_still_asked_for_in_the_same_words(fleet):
    """The queue failed just then: the person gives the same answer again, and the task goes on."""
    task = parked(fleet, "Plums or pears?", options=("plums", "pears"))
    asked = question_of(fleet, task)
    task_dir = fleet.home.task(task.id)
    asked_json.record_answer(task_dir, asked_json.last(task_dir).id, "2", by="ada", at=ANSWERED)
    assert question_of(fleet, task) == asked
    assert answer(fleet, task, "pears", at=ANSWERED).status == "open"
    text = (task_dir / FILE).read_text()
    assert (text.count("## A:"), last_answer(text)) == (1, "pears")
    assert question_of(fleet, fleet.get(task.id)) is None
