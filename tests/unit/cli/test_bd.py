"""`fleet bd` on a queue of fleet's own: what it creates, and what counts as a call for help."""

import json

import pytest
from msgspec.structs import replace

from fleet.cli.tracker.bd import bd
from fleet.config import default_text
from fleet.home import task_json


@pytest.fixture
def fleet(fleet, tmp_path, monkeypatch):
    """An open home with the embedded queue, in a directory to work in."""
    fleet.home.config.write_text(default_text(queue="embedded"))
    monkeypatch.setenv("FLEET_HOME", str(fleet.home.path))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return fleet


@pytest.mark.parametrize("flag", ["-d", "--description", "--notes"])
def test_help_behind_a_flag_that_takes_a_value_is_the_value(fleet, capsys, flag):
    """The next word is the value, as pflag reads it."""
    assert bd(["create", "x", flag, "--help", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert "--help" in (made.get("description"), made.get("notes"))


@pytest.mark.parametrize("line", ["create --help", "create x -d y -h", "help create"])
def test_a_call_for_help_makes_nothing(fleet, capsys, line):
    """Fleet's own flags stand below those of the command."""
    assert bd(line.split()) == 0
    assert "--budget" in capsys.readouterr().out
    assert fleet.queue.counts() == {}


def test_each_task_of_a_plan_has_its_directory(fleet, tmp_path, capsys):
    """A plan in a file makes tasks that know where they run, each with a task.json."""
    plan = tmp_path / "plan.md"
    plan.write_text("## One\n## Two\n")
    here = str(tmp_path / "work")
    assert bd(["create", "--file", str(plan), "--isolation", "worktree"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.endswith(f": One  [cwd: {here}, isolation: worktree]")
    for line in (first, second):
        task_id = line.removeprefix("Created ").partition(":")[0]
        assert fleet.queue.get(task_id).cwd == here
        assert task_json.read(fleet.home, task_id).isolation == "worktree"


def test_a_refused_plan_leaves_no_task_json(fleet, tmp_path, capsys):
    """Nothing is half made."""
    plan = tmp_path / "plan.md"
    plan.write_text("## One\n## Two\n### Priority\nhigh\n")
    assert bd(["create", "--file", str(plan)]) == 1
    assert "invalid priority" in capsys.readouterr().err
    assert fleet.queue.counts() == {}
    assert not list((fleet.home.path / "tasks").iterdir())


def test_an_export_carries_edited_settings(fleet, capsys):
    """What a person changed in task.json travels with the task."""
    assert bd(["q", "x"]) == 0
    task_id = capsys.readouterr().out.strip()
    own = task_json.read(fleet.home, task_id)
    task_json.write(fleet.home, task_id, replace(own, coder="codex", model="m"))
    assert bd(["export"]) == 0
    row = json.loads(capsys.readouterr().out)
    assert row["metadata"]["fleet"]["coder"] == "codex"
