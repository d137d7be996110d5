"""Run ids: parsed, written, and found again in a home."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from fleet.errors import InvalidTask
from fleet.home import Home
from fleet.runs.run_directory import RunSpec, new_run
from fleet.runs.run_id import RunId, find_run, mark_of
from tests.builders import a_run


@given(
    some.from_regex(r"[a-z0-9]+", fullmatch=True),
    some.from_regex(r"[a-z0-9.-]+", fullmatch=True),
    some.integers(min_value=0),
)
def test_what_is_written_is_parsed(owner, task, fence):
    """A task id may contain dots; owner and fence do not."""
    assert RunId.parse(str(RunId(owner, task, fence))) == RunId(owner, task, fence)


def test_the_parts_of_an_id_are_owner_task_and_fence():
    """As text they stand in this order."""
    assert RunId.parse("fleetab12.app-7.2.13") == RunId("fleetab12", "app-7.2", 13)
    assert str(RunId("fleetab12", "app-7.2", 13)) == "fleetab12.app-7.2.13"


@pytest.mark.parametrize("text", ["", "a", "a.b", "a..1", ".b.1", "a.b.", "a.b.x", "a.b.-1"])
def test_other_text_is_no_run_id(text):
    """An agent can set its environment to anything."""
    assert RunId.parse(text) is None


def test_a_run_is_found_by_its_id(tmp_path):
    """Damaged runs are passed over; no directory and no such run give None."""
    home = Home(tmp_path)
    wanted = RunId("me", "fleet-a", 2)
    assert find_run(home, wanted) is None
    run = a_run(home.task("fleet-a"), id=str(wanted))
    damaged = a_run(home.task("fleet-a"), id="me.fleet-a.3")
    (damaged.path / "run.json").write_text("{")
    assert find_run(home, wanted) == run
    assert find_run(home, RunId("me", "fleet-a", 3)) is None
    assert find_run(home, RunId("me", "../fleet-a", 2)) is None


@pytest.mark.parametrize("forged", ["", "me.fleet-2.1", "verify.me.fleet-1.1.1"])
def test_a_record_that_names_another_tasks_run_is_not_believed(tmp_path, forged):
    """Processes are killed by their mark: none of a stranger is, whatever a record says."""
    run = a_run(tmp_path / "fleet-1", id=forged)
    with pytest.raises(InvalidTask, match=r"run\.json"):
        mark_of(run)


def test_the_mark_of_a_run_and_of_its_commands_is_that_of_its_task(tmp_path):
    """A task's id may hold dots."""
    run = a_run(tmp_path / "fleet-1.2.3", id="me.fleet-1.2.3.4")
    assert mark_of(run) == "me.fleet-1.2.3.4"
    spec = RunSpec(id="verify.me.fleet-1.2.3.4.1", argv=("true",), cwd="/")
    assert mark_of(new_run(run.path, spec, folder="verify")) == spec.id
