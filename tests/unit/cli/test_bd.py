"""`fleet bd` on a queue of fleet's own: what it creates, and what counts as a call for help."""

import json
import sys

import pytest
from msgspec.structs import replace

from fleet.bd.command_line import VERBS
from fleet.cli.tracker.bd import bd
from fleet.config import default_text, load
from fleet.errors import BadInput
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
    assert bd(["create", "--file", str(plan), "--work-in", "clone"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.endswith(f": One  [cwd: {here}, work_in: clone]")
    for line in (first, second):
        task_id = line.removeprefix("Created ").partition(":")[0]
        assert fleet.queue.get(task_id).cwd == here
        assert task_json.read(fleet.home, task_id).work_in == "clone"


def test_a_task_records_the_branch_that_its_directory_had(fleet, tmp_path, capsys):
    """Its work lands there, whatever is checked out later; another directory has another branch."""
    folders = {"main": tmp_path / "work", "topic": tmp_path / "other"}
    for branch, folder in folders.items():
        (folder / ".git").mkdir(parents=True)
        (folder / ".git/HEAD").write_text(f"ref: refs/heads/{branch}\n")
    assert bd(["q", "x"]) == 0
    task_id = capsys.readouterr().out.strip()
    assert task_json.read(fleet.home, task_id).branch == "main"
    assert fleet.queue.get(task_id).metadata["fleet"]["branch"] == "main"
    assert bd(["update", task_id, "--cwd", str(folders["topic"])]) == 0
    assert task_json.read(fleet.home, task_id).branch == "topic"
    (folders["main"] / ".git/HEAD").write_text("a" * 40)
    assert bd(["q", "y"]) == 0
    detached = capsys.readouterr().out.split()[-1]
    assert task_json.read(fleet.home, detached).branch == ""


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


def made(capsys, *line):
    """The task that a line makes, as its JSON says."""
    assert bd(["create", "x", "--json", *line]) == 0
    return json.loads(capsys.readouterr().out)


def test_bds_own_context_is_a_text_below_the_description(fleet, capsys):
    """As bd writes it; fleet's settings have no part in it."""
    task = made(capsys, "-d", "Why", "--skills", "go", "--context", "The parser is old")
    assert task["description"] == ("Why\n\n## Required Skills\ngo\n\n## Context\nThe parser is old")
    assert "context" not in task["metadata"]["fleet"]
    assert made(capsys, "--context", "lean")["description"] == "## Context\nlean"


def test_what_the_cli_loads_is_fleets_own(fleet, capsys):
    """A setting of the task, which the tracker's own fields do not hold."""
    task = made(capsys, "--load", "lean")
    assert task["metadata"]["fleet"]["context"] == "lean"
    assert "description" not in task
    assert bd(["update", task["id"], "--load", "project"]) == 0
    assert "[context: project]" in capsys.readouterr().out
    assert task_json.read(fleet.home, task["id"]).context == "project"


def test_what_the_cli_loads_is_one_of_three(fleet, capsys):
    """A new name has nothing else to mean; an update knows no context of bd's."""
    with pytest.raises(BadInput, match="--load must be one of full, project, lean"):
        bd(["create", "x", "--load", "some"])
    task = made(capsys)
    assert bd(["update", task["id"], "--context", "some"]) == 1
    assert "unknown flag: --context" in capsys.readouterr().err


def test_help_lists_each_flag_once(fleet, capsys):
    """Though two programs have flags on the line."""
    bd(["create", "--help"])
    flags = [line.split()[0] for line in capsys.readouterr().out.splitlines() if " --" in line]
    assert [flag for flag in flags if flags.count(flag) > 1 and flag != "--sandbox"] == []


@pytest.mark.parametrize("line", [*VERBS, ""])
def test_help_fits_the_terminal(fleet, monkeypatch, capsys, line):
    """No line is broken in mid-word at 80 columns, and no word is lost."""
    bd([*line.split(), "--help"])
    whole = capsys.readouterr().out
    monkeypatch.setenv("COLUMNS", "80")
    bd([*line.split(), "--help"])
    said = capsys.readouterr().out
    assert [each for each in said.splitlines() if len(each) > 80] == []
    assert said.split() == whole.split()


def attended(monkeypatch, answer):
    """A terminal at which a person types."""
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(getattr(sys, name), "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys.stdin, "readline", lambda: answer, raising=False)


def test_a_task_without_a_check_says_so_when_it_is_made(fleet, tmp_path, monkeypatch, capsys):
    """On stderr, in one line, with the way to have one; not to a program, not to an agent."""
    assert bd(["create", "x"]) == 0
    said = capsys.readouterr()
    assert said.err == (
        "no verify command: finished work waits for your approval;"
        " --verify 'CMD' or: fleet config set --project . verify=…\n"
    )
    assert "verify" not in said.out
    (tmp_path / "work/Makefile").write_text("test:\n")
    bd(["create", "x"])
    assert "fleet config set --project . 'verify=make test'" in capsys.readouterr().err
    for line in (["create", "x", "--json"], ["create", "x", "--silent"], ["q", "x"]):
        bd(line)
        assert capsys.readouterr().err == ""
    bd(["create", "x", "--verify", "true"])
    assert capsys.readouterr().err == ""
    monkeypatch.setenv("FLEET_RUN_DIR", "/somewhere")
    bd(["create", "x"])
    assert capsys.readouterr().err == ""


def test_the_first_task_of_a_project_proposes_a_check_and_writes_it_on_a_yes(
    fleet, tmp_path, monkeypatch, capsys
):
    """Once a project, and only to a person at a terminal."""
    (tmp_path / "work/go.mod").write_text("module x\n")
    attended(monkeypatch, "\n")
    assert bd(["create", "x"]) == 0
    said = capsys.readouterr().err
    assert "Check each with `go test ./...` (go.mod; not tried) from now on? [y/N]" in said
    assert "finished work waits for your approval" in said
    attended(monkeypatch, "y\n")
    bd(["create", "x"])
    assert "[y/N]" not in capsys.readouterr().err
    (fleet.home.path / "proposed.json").unlink()
    bd(["create", "x"])
    assert "verify=go test ./...  [" in capsys.readouterr().err
    assert load(fleet.home.config).project(str(tmp_path / "work")).verify == ("go test ./...",)
    bd(["create", "x"])
    assert capsys.readouterr().err == ""
