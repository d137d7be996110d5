"""`fleet ready`: of a task that fleet will not begin, why."""

import pytest

from fleet.bd.pflag import Parsed
from fleet.cli.tracker.ready import ready
from fleet.config import default_text
from fleet.home import owner_file
from fleet.queue.protocol import Draft


@pytest.fixture
def fleet(fleet, monkeypatch):
    """A home that commands find by themselves."""
    fleet.home.config.write_text(default_text(queue="embedded"))
    monkeypatch.setenv("FLEET_HOME", str(fleet.home.path))
    return fleet


def said(capsys):
    assert ready(Parsed({}, ())) == 0
    return capsys.readouterr().out.splitlines()


def test_a_task_that_runs_says_nothing_more(fleet, tmp_path, capsys):
    """Its own supervisor's name on it is no person's."""
    here = {"fleet": {"cwd": str(tmp_path)}}
    mine = fleet.queue.add(
        Draft(title="t", metadata=here, assignee=owner_file.read_or_make(fleet.home))
    )
    assert said(capsys) == [f"{mine.id}  t  [{tmp_path}]"]


def test_a_task_that_a_person_keeps_says_so(fleet, tmp_path, capsys):
    """No supervisor claims it, so it would stand there for ever."""
    here = {"fleet": {"cwd": str(tmp_path)}}
    task = fleet.queue.add(Draft(title="t", metadata=here, assignee="ann"))
    *head, line = said(capsys)
    assert head == ["No ready tasks.", "Waiting:"]
    assert line.endswith(f"  waits: it is assigned to ann: fleet bd unclaim {task.id}")


def test_a_task_whose_directory_is_gone_says_so(fleet, tmp_path, capsys):
    """With the way to give it another."""
    gone = tmp_path / "gone"
    task = fleet.queue.add(Draft(title="t", metadata={"fleet": {"cwd": str(gone)}}))
    *head, line = said(capsys)
    assert head == ["No ready tasks.", "Waiting:"]
    way = f"fleet bd update {task.id} --cwd DIR"
    assert line == f"{task.id}  t  [{gone}]  waits: its directory {gone} is not there: {way}"


def test_an_epic_is_not_run(fleet, tmp_path, capsys):
    """Its tasks are."""
    here = {"fleet": {"cwd": str(tmp_path)}}
    fleet.queue.add(Draft(title="t", metadata=here, issue_type="epic"))
    *head, line = said(capsys)
    assert head == ["No ready tasks.", "Waiting:"]
    assert line.endswith("  waits: an epic is not run: its tasks are")
