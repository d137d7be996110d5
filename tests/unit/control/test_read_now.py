"""*Now*: every task in the group of what a person has to do, with why it does not run."""

from datetime import timedelta

import pytest
from msgspec import structs

from fleet.control.pause import pause
from fleet.control.view.read_now import NowReader
from fleet.home import task_json
from fleet.queue.protocol import Draft
from fleet.runs import receipt_json
from fleet.runs.outcome_history import write_ending
from fleet.runs.questions.questions_file import FILE as QUESTIONS
from fleet.schemas import Blocked, Closed, Finished, NeedsHuman, Receipt, Released, Settings
from fleet.schemas.waits import Asks, PutOff, SetAside
from tests.builders import HOUR, NOW, a_run, an_ending
from tests.settled import settle


def row(fleet, task, now=NOW):
    (found,) = [each for each in NowReader(fleet).read(now).rows if each.id == task.id]
    return found


def settled(fleet, settlement):
    (lease,) = fleet.queue.claim("me", ttl=timedelta(minutes=1))
    settle(fleet.queue, lease, settlement)
    return lease.task


def test_a_task_that_could_run_says_that_no_supervisor_does(fleet):
    """The first thing a person has to do is to start one."""
    found = row(fleet, fleet.queue.add(Draft(title="t")))
    assert (found.group, found.reason) == ("waiting", "no supervisor runs")
    assert found.way_on.line == "fleet run"


def test_a_task_that_waits_for_another_names_it(fleet):
    """And says how that one stands."""
    first = fleet.queue.add(Draft(title="first"))
    second = fleet.queue.add(Draft(title="second", depends_on=(("blocks", first.id),)))
    found = row(fleet, second)
    assert found.reason == "waits for first ← no supervisor runs"
    assert (found.way_on.task, found.way_on.line) == (first.id, "fleet run")
    settled(fleet, Closed(reason="done"))
    assert row(fleet, second).reason == "no supervisor runs"


def test_a_task_that_was_put_off_says_until_when(fleet):
    """With the supervisor's own reason, and the act that undoes it."""
    task = fleet.queue.add(Draft(title="t"))
    later = fleet.queue.db.now() + HOUR
    waits = PutOff(why="its last attempt failed: because", gate="attempt")
    settled(fleet, Released(not_before=later, waits=waits))
    found = row(fleet, task, fleet.queue.db.now())
    assert (found.reason, found.until) == ("its last attempt failed: because", later)
    assert (found.way_on.verb, found.way_on.line) == ("retry", f"fleet retry {task.id}")
    assert row(fleet, task, later).reason == "no supervisor runs"


def test_what_a_package_holds_back_is_told_with_its_way_on(fleet):
    """Surfaces do not load packages: the supervisor stored what the gate said."""
    task = fleet.queue.add(Draft(title="t"))
    later = fleet.queue.db.now() + HOUR
    waits = PutOff(why="the office is closed", gate="hours", line="open-office", person=True)
    settled(fleet, Released(not_before=later, waits=waits))
    found = row(fleet, task, fleet.queue.db.now())
    assert (found.reason, found.way_on.line) == ("the office is closed", "open-office")
    assert (found.group, found.until) == ("needs_you", later)


def test_a_task_that_is_released_during_the_read_is_one_row(fleet, monkeypatch):
    """Each status is a read of its own."""
    task, find, given_back = fleet.queue.add(Draft(title="t")), fleet.queue.find, []
    (lease,) = fleet.queue.claim("me", ttl=timedelta(minutes=1))

    def released_after_the_first(want):
        found = find(want)
        if not given_back:
            given_back.append(settle(fleet.queue, lease, Released()))
        return found

    monkeypatch.setattr(fleet.queue, "find", released_after_the_first)
    rows = NowReader(fleet).read(NOW).rows
    assert [(row.id, row.status) for row in rows] == [(task.id, "open")]


def test_a_task_that_an_earlier_fleet_put_off_still_says_until_when(fleet):
    """Without the reason, which was not stored."""
    task = fleet.queue.add(Draft(title="t"))
    later = fleet.queue.db.now() + HOUR
    settled(fleet, Released(not_before=later))
    found = row(fleet, task, fleet.queue.db.now())
    assert (found.reason, found.until) == ("it was put off for a moment", later)


def test_what_an_agent_asks_needs_you_and_comes_first(fleet):
    """Above a blocked task of a higher priority that asks nothing."""
    plain = fleet.queue.add(Draft(title="plain", priority=0))
    settled(fleet, Blocked(waits=SetAside(note="it failed")))
    task = fleet.queue.add(Draft(title="asks", priority=4))
    settled(fleet, Blocked(waits=Asks(text="which database?")))
    ending = an_ending(NeedsHuman(), Blocked(waits=Asks(text="which database?")), why="it asks")
    write_ending(a_run(fleet.home.task(task.id)), ending)
    folder = fleet.home.task(task.id) / QUESTIONS
    folder.parent.mkdir(exist_ok=True)
    folder.write_text("## Q: Which database?\n\nSQLite or PostgreSQL\n")
    found = NowReader(fleet).read(NOW)
    assert [each.id for each in found.rows] == [task.id, plain.id]
    asks, fails = found.rows
    assert asks.question == "Which database?\n\nSQLite or PostgreSQL"
    assert (asks.way_on.verb, fails.way_on.verb) == ("answer", "retry")
    assert found.counts.needs_you == 2


def test_an_agent_that_is_to_write_a_plan_may_ask_first(fleet):
    """There is no plan to approve yet: the person answers."""
    task = fleet.queue.add(Draft(title="plan"))
    task_json.write(fleet.home, task.id, Settings(cwd=str(fleet.home.path), expect="plan"))
    settled(fleet, Blocked(waits=Asks(text="which database?")))
    ending = an_ending(NeedsHuman(), Blocked(waits=Asks(text="which database?")), why="it asks")
    write_ending(a_run(fleet.home.task(task.id)), ending)
    found = row(fleet, task)
    assert found.question == "which database?"
    assert (found.way_on.verb, found.way_on.line) == ("answer", f'fleet answer {task.id} "…"')


def test_what_was_closed_before_the_moment_is_not_shown(fleet):
    """A person looks at what is new."""
    task = fleet.queue.add(Draft(title="t"))
    settled(fleet, Closed(reason="done"))
    closed = fleet.queue.get(task.id).closed_at
    assert [each.group for each in NowReader(fleet).read(NOW, closed).rows] == ["done"]
    late = NowReader(fleet).read(NOW, closed + timedelta(seconds=1))
    assert (late.rows, late.counts.done) == ((), 0)


def test_a_task_that_is_done_names_coder_and_model_of_the_run_that_did_it(fleet):
    """Never the coder that a task would have today beside the model of another."""
    task = fleet.queue.add(Draft(title="t"))
    run = a_run(fleet.home.task(task.id))
    receipt_json.write(run, Receipt(task_id=task.id, run=1, coder="codex", model="gpt-5"))
    write_ending(run, an_ending(Finished(), Closed(reason="done"), at=NOW))
    settled(fleet, Closed(reason="done"))
    shown = row(fleet, task)
    assert (shown.coder, shown.model) == ("codex", "gpt-5")


def test_an_invalid_task_needs_you(fleet):
    """Its task.json cannot be read: it is shown with why, and hides nothing else."""
    task = fleet.queue.add(Draft(title="t"))
    task_json.write(fleet.home, task.id, Settings(cwd="/"))
    (fleet.home.task(task.id) / "task.json").write_text("{")
    found = row(fleet, task)
    assert found.group == "needs_you"
    assert "task.json" in found.reason


def test_a_paused_fleet_says_so_of_itself(fleet):
    """Also without a supervisor."""
    pause(fleet.home)
    assert NowReader(fleet).read(NOW).supervisor.paused_since is not None


def test_a_queue_that_fails_is_part_of_the_answer(fleet):
    """The page works with a queue that does not answer, and says so."""
    fleet.queue.add(Draft(title="t"))
    fleet.close()
    (fleet.home.path / "queue.db").write_bytes(b"no database at all, and longer than a header" * 9)
    found = NowReader(fleet).read(NOW)
    assert found.supervisor.queue_problem
    assert found.rows == ()


@pytest.mark.parametrize("status", ["open", "closed"])
def test_every_row_can_be_encoded(fleet, status):
    """A row goes to the page as JSON."""
    import msgspec

    fleet.queue.add(Draft(title="t\n\x1b[31m\u202e"))
    if status == "closed":
        settled(fleet, Closed(reason="done"))
    encoded = msgspec.json.encode(NowReader(fleet).read(NOW, NOW - 10**4 * HOUR))
    assert msgspec.json.decode(encoded)["rows"][0]["title"] == "t\n\x1b[31m\u202e"


def test_a_row_is_a_value(fleet):
    """Two reads of an unchanged home are equal but for the moment."""
    fleet.queue.add(Draft(title="t"))
    first, second = NowReader(fleet).read(NOW), NowReader(fleet).read(NOW + HOUR)
    assert structs.replace(second, as_of=first.as_of, done_since=first.done_since) == first
