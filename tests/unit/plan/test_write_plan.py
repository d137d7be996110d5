"""A plan in the queue: made once, changed where it is not begun, left alone where it is."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from fleet.plan.plan_drafts import ACCEPTANCE, EPIC, PlanPlace, drafts_of
from fleet.plan.write_plan import write_plan
from fleet.queue.protocol import Draft, Filter
from fleet.queue.sql.edit_task import Change, edit
from fleet.schemas import Closed
from tests.plans import a_plan, sample
from tests.settled import settle

PLACE = PlanPlace(spec="plan.toml", cwd="/srv/app")
MINUTE = timedelta(minutes=1)


@pytest.fixture
def write(fleet):
    """Apply a plan."""

    def write(plan, *, prune=False, place=PLACE):
        done = frozenset(task.key for task in plan.tasks if task.done)
        return write_plan(
            fleet.tracker, drafts_of(plan, place), place,
            done=done, actor="ada", owner="ada@example.org", prune=prune,
        )  # fmt: skip

    return write


def ready(fleet):
    """The titles of what an agent would get."""
    found = fleet.queue.find(Filter(ready=True))
    return [task.title for task in found if task.issue_type != "epic"]


def done(fleet, count=1):
    """Have agents do the next tasks."""
    for lease in fleet.queue.claim("us", count=count, ttl=MINUTE):
        settle(fleet.queue, lease, Closed(reason="done"))


def test_a_plan_becomes_an_epic_with_its_tasks_in_their_order(fleet, write):
    """What waits is not ready; the acceptance task is the last."""
    written = write(a_plan({"a": "", "b": "a", "c": "a"}, verify=("make test",)))
    assert ready(fleet) == ["Do a"]
    done(fleet)
    assert ready(fleet) == ["Do b", "Do c"]
    done(fleet, 2)
    assert ready(fleet) == ["Acceptance: All of it"]
    task = fleet.queue.get(written.ids["b"])
    assert (task.spec_id, task.cwd) == ("plan.toml#b", "/srv/app")
    assert task.created_by == "ada"
    assert task.id.startswith(f"{written.ids[EPIC]}.")
    last = fleet.queue.get(written.ids[ACCEPTANCE])
    assert last.metadata["fleet"]["verify"] == ["make test"]
    assert last.metadata["plan"]["closes"] == [written.ids[EPIC]]


@pytest.mark.parametrize("name", ["reset.toml", "kiro", "task-master", "TODO.md"])
def test_a_plan_applied_twice_changes_nothing(fleet, write, name):
    """A person who is unsure whether it was applied applies it again."""
    write(sample(name))
    before = fleet.queue.find(Filter(include_closed=True))
    again = write(sample(name))
    assert again.changes.writes == 0
    assert fleet.queue.find(Filter(include_closed=True)) == before


def test_what_is_not_begun_is_changed_and_what_is_begun_is_left_alone(fleet, write):
    """An agent at work is not told something else in the middle."""
    plan = a_plan({"a": "", "b": "a", "c": "b"})
    ids = write(plan).ids
    fleet.queue.claim("us", ttl=MINUTE)
    after = {"a": (), "b": (), "c": ("a",)}
    tasks = tuple(replace(t, title=f"{t.title} now", after=after[t.key]) for t in plan.tasks)
    written = write(replace(plan, tasks=tasks))
    assert written.changes.left == ("a",)
    assert set(written.changes.changed) == {"b", "c", ACCEPTANCE}
    assert fleet.queue.get(ids["a"]).title == "Do a"
    assert fleet.queue.get(ids["b"]).title == "Do b now"
    assert ready(fleet) == ["Do b now"], "b waits for nothing any more, and c for a"


def test_what_vanished_is_closed_only_when_asked(fleet, write):
    """And only what was never begun."""
    plan = a_plan({"a": "", "b": "", "c": "b"})
    ids = write(plan).ids
    (lease,) = fleet.queue.claim("us", ttl=MINUTE)
    less = a_plan({"d": ""})
    written = write(less)
    assert written.changes.gone == ("b", "c")
    assert written.changes.gone_begun == ("a",)
    assert fleet.queue.get(ids["b"]).status == "open"
    pruned = write(less, prune=True)
    assert pruned.pruned == ("b", "c")
    assert fleet.queue.get(ids["b"]).status == fleet.queue.get(ids["c"]).status == "closed"
    assert fleet.queue.get(lease.task.id).status == "in_progress"


def test_new_tasks_open_a_finished_epic_again(fleet, write):
    """A second round ends in a second acceptance."""
    ids = write(a_plan({"a": ""})).ids
    done(fleet)
    done(fleet)
    epic = fleet.queue.get(ids[EPIC])
    fleet.queue.close_task(epic, by="us", reason="done")
    written = write(a_plan({"a": "", "b": ""}))
    assert written.changes.reopened == (EPIC, ACCEPTANCE)
    assert ready(fleet) == ["Do b"]
    assert fleet.queue.get(ids[EPIC]).status == "open"
    done(fleet)
    assert ready(fleet) == ["Acceptance: All of it"]


def test_an_epic_that_is_opened_again_keeps_what_a_person_set_on_it(fleet, write):
    """A plan that grew says nothing about how urgent the person finds it."""
    ids = write(a_plan({"a": ""})).ids
    done(fleet, 1)
    done(fleet, 1)
    change = Change(status="closed", fields={"priority": 0}, set_labels=("mine",), force=True)
    edit(fleet.tracker, ids[EPIC], change, actor="ada")
    write(a_plan({"a": "", "b": ""}))
    epic = fleet.queue.get(ids[EPIC])
    assert (epic.status, epic.priority, epic.labels) == ("open", 0, ("mine",))


def test_a_task_that_a_person_connected_stays_connected(fleet, write):
    """Edges to tasks outside of the plan are not the plan's."""
    plan = a_plan({"a": ""})
    ids = write(plan).ids
    fleet.queue.add(Draft(title="First this", blocks=(ids["a"],)))
    write(replace(plan, tasks=(replace(plan.tasks[0], body="Other words."),)))
    assert ready(fleet) == ["First this"]


def test_the_same_spec_in_another_directory_is_another_plan(fleet, write):
    """Two checkouts of one project share a queue."""
    write(a_plan({"a": ""}))
    other = write(a_plan({"a": ""}), place=replace(PLACE, cwd="/srv/other"))
    assert set(other.changes.new) == {EPIC, "a", ACCEPTANCE}


def test_an_error_in_the_middle_leaves_nothing(fleet, write, monkeypatch):
    """All or nothing."""
    from fleet.queue.sql import dependencies

    def fail(*_):
        raise RuntimeError("in the middle")

    monkeypatch.setattr(dependencies, "insert", fail)
    with pytest.raises(RuntimeError):
        write(a_plan({"a": "", "b": "a"}))
    assert fleet.queue.find(Filter(include_closed=True)) == []


def test_a_group_is_an_epic_below_the_epic(fleet, write):
    """Its children have its words, and it is closed with the plan."""
    ids = write(sample("kiro")).ids
    group, child = fleet.queue.get(ids["2"]), fleet.queue.get(ids["2.1"])
    assert group.issue_type == "epic"
    assert child.id.startswith(f"{group.id}.")
    assert "Part of: Send mails" in child.description
    last = fleet.queue.get(ids[ACCEPTANCE])
    assert set(last.metadata["plan"]["closes"]) == {ids["2"], ids["3"], ids[EPIC]}
