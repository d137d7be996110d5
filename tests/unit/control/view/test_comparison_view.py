"""A comparison side by side: what each entry showed, and how the compared task is listed."""

import pytest

from fleet.control.compare.begin import begin
from fleet.control.view.read_now import NowReader
from fleet.control.view.task.comparison_view import read_comparison
from fleet.control.view.task.whole_task import read_whole_task
from fleet.errors import NotFound
from fleet.home import compare_json, task_json
from fleet.queue.protocol import Draft
from fleet.runs import receipt_json
from fleet.runs.outcome_history import write_ending
from fleet.schemas import Blocked, Check, Closed, Finding, Finished, Settings, Verdict
from fleet.schemas.waits import SetAside
from tests.builders import HOUR, NOW, a_run, an_ending
from tests.settled import settle
from tests.unit.control.test_usage import receipt


@pytest.fixture
def compared(fleet, repo):
    """A task and two tries at it: one checked and closed, one not believed and blocked."""
    repo.commit(a="one\n")
    task = fleet.queue.add(Draft(title="Make it loud", assignee="ada"))
    task_json.write(fleet.home, task.id, Settings(cwd=str(repo.root), verify=("make test",)))
    fleet.env = {"USER": "ada"}
    begin(fleet, task, [("claude", None), ("codex", "small")])
    return task


@pytest.fixture
def leases(fleet, compared):
    """The leases of both entries."""
    return {each.task.id: each for each in fleet.queue.claim("us", count=9, ttl=HOUR)}


def end_entry(fleet, leases, task, coder, settlement, verdict):
    """End the run of one entry; its task."""
    entries = compare_json.read(fleet.home, task.id).entries
    entry = next(each for each in entries if each.coder == coder)
    lease = leases[entry.task_id]
    run = a_run(fleet.home.task(entry.task_id))
    write_ending(run, an_ending(Finished(), settlement, why="it was not believed"))
    checks = (Check(command="make test", code=0 if verdict.checked else 1),)
    receipt_json.write(run, receipt(task_id=entry.task_id, verdict=verdict, checks=checks))
    settle(fleet.queue, lease, settlement)
    return entry.task_id


def row(fleet, task):
    return next(each for each in NowReader(fleet).read(NOW).rows if each.id == task.id)


def test_entries_stand_beside_each_other_with_what_they_showed(fleet, compared, leases):
    """Verdict, checks and broken rules are of each entry's own receipt."""
    good = end_entry(fleet, leases, compared, "claude", Closed(reason="ok"), Verdict(checked=True))
    broken = Verdict(findings=(Finding(rule="verify_failed", what="make test"),))
    bad = end_entry(
        fleet, leases, compared, "codex", Blocked(waits=SetAside(note="rejected")), broken
    )
    found = read_comparison(fleet, compared.id, NOW)
    assert (found.id, found.title, found.state) == (compared.id, "Make it loud", "running")
    first, second = found.entries
    assert (first.id, first.label, first.result.standing) == (good, "claude", "checked")
    assert (second.id, second.label, second.result.standing) == (bad, "codex:small", "rejected")
    assert (first.done, second.done, second.over) == (True, False, True)
    assert [check.code for entry in found.entries for check in entry.checks] == [0, 1]
    assert [each.rule for each in second.findings] == ["verify_failed"]
    assert first.claim == "did it"


def test_an_entry_leads_to_its_comparison_and_the_task_too(fleet, compared):
    """Whichever page a person is on; a task that was never compared has none."""
    (one, _) = compare_json.read(fleet.home, compared.id).entries
    assert read_comparison(fleet, one.task_id, NOW).id == compared.id
    assert read_whole_task(fleet, one.task_id, NOW).comparison == compared.id
    assert read_whole_task(fleet, compared.id, NOW).comparison == compared.id
    plain = fleet.queue.add(Draft(title="plain", metadata={"fleet_compare": {"of": "../x"}}))
    assert read_whole_task(fleet, plain.id, NOW).comparison == ""
    with pytest.raises(NotFound, match="is not being compared"):
        read_comparison(fleet, plain.id, NOW)


def test_a_compared_task_waits_for_its_tries_and_then_for_a_person(fleet, compared, leases):
    """It is blocked in the queue all the while, and a retry would be wrong."""
    found = row(fleet, compared)
    assert (found.group, found.reason) == ("waiting", "0 of 2 entries are over")
    end_entry(fleet, leases, compared, "claude", Closed(reason="ok"), Verdict(checked=True))
    assert row(fleet, compared).reason == "1 of 2 entries are over"
    end_entry(fleet, leases, compared, "codex", Blocked(waits=SetAside(note="rejected")), Verdict())
    found = row(fleet, compared)
    assert (found.group, found.way_on.verb) == ("needs_you", "pick")
    assert found.way_on.line == f"fleet compare {compared.id}"


def test_a_damaged_record_hides_no_task(fleet, compared):
    """The task's own page is shown, and the comparison says what is wrong."""
    (fleet.home.task(compared.id) / compare_json.FILE).write_text("{")
    assert read_whole_task(fleet, compared.id, NOW).comparison == ""
