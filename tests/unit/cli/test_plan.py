"""`fleet plan` as a person sees it: pages, refusals, what is written."""

import json
import shutil

import pytest
from click.testing import CliRunner

from fleet.cli.plan.plan import command
from fleet.cli.plan.plan_page import plan_page
from fleet.config import default_text
from fleet.control.plan.load_plan import load_spec
from fleet.control.plan.plan_view import plan_view
from fleet.errors import Refused
from fleet.home.trusted_commands import untrusted
from fleet.queue.protocol import Filter
from fleet.schemas.waits import NeedsApproval
from fleet.spool.agent_rights import check_fleet
from tests.plans import DATA


@pytest.fixture
def project(fleet, tmp_path, monkeypatch):
    """A directory with all samples, in a shell whose home is this one."""
    fleet.home.config.write_text(default_text(queue="embedded"))
    project = shutil.copytree(DATA, tmp_path / "project")
    monkeypatch.setenv("FLEET_HOME", str(fleet.home.path))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(project)
    return project


def run(*words):
    return CliRunner().invoke(command, words, catch_exceptions=False)


def made(fleet):
    return fleet.queue.find(Filter(include_closed=True))


@pytest.mark.parametrize("name", ["reset.toml", "spec-kit", "kiro", "TODO.md"])
def test_the_page_of_a_plan(fleet, project, snapshot, name):
    """Waves, checks, files named twice, and the next command; nothing is written."""
    view = plan_view(fleet, load_spec(fleet, name))
    page = "\n".join(plan_page(view, f"fleet plan apply {name}"))
    assert page.replace(str(project), "/project") == snapshot
    assert made(fleet) == []


def test_a_plan_is_not_applied_unseen(fleet, project):
    """In a script a person says --yes; otherwise nothing is made and no command is trusted."""
    with pytest.raises(Refused, match="a person who has seen it"):
        run("apply", "reset.toml")
    assert made(fleet) == []
    assert not (fleet.home.path / "trusted.json").exists()


def test_a_plan_is_applied_and_its_commands_are_trusted(fleet, project):
    """No task waits for `fleet trust`: the person has seen each command."""
    result = run("apply", "reset.toml", "--yes")
    assert ": 4 made, 1 of them for acceptance." in result.output
    tasks = made(fleet)
    assert len(tasks) == 5
    assert any(task.metadata["fleet"].get("verify") for task in tasks)
    assert [task for task in tasks if untrusted(fleet.home, task)] == []
    assert {task.cwd for task in tasks} == {str(project)}
    again = run("apply", "reset.toml", "--yes")
    assert again.output.endswith(": 0 changes.\n")


def test_what_changed_is_told_as_json(fleet, project):
    """The states of tasks, and what is gone."""
    run("apply", "reset.toml", "--yes")
    text = (project / "reset.toml").read_text()
    (project / "reset.toml").write_text(text.replace("by the mailer that is there", "soon"))
    shown = json.loads(run("show", "reset.toml", "--json").output)
    assert {task["key"]: task["state"] for task in shown["tasks"]} == {
        "model": "same", "mail": "changed", "page": "same",
    }  # fmt: skip
    applied = json.loads(run("apply", "reset.toml", "--yes", "--json").output)
    assert applied["changes"]["changed"] == ["mail"]


def test_tasks_run_in_the_repository_that_the_spec_lies_in(fleet, project, repo):
    """Wherever the person stands; and the spec is named from there on."""
    (repo.root / "docs").mkdir(parents=True)
    shutil.copy(project / "TODO.md", repo.root / "docs/TODO.md")
    shown = json.loads(run("show", str(repo.root / "docs/TODO.md"), "--json").output)
    assert (shown["cwd"], shown["spec"]) == (str(repo.root), "docs/TODO.md")
    elsewhere = json.loads(run("show", "TODO.md", "--cwd", str(repo.root), "--json").output)
    assert (elsewhere["cwd"], elsewhere["spec"]) == (str(repo.root), str(project / "TODO.md"))


def test_the_projects_verify_holds_for_every_task_of_a_plan(fleet, project):
    """A command of the spec's stands beside it and not in its place."""
    text = fleet.home.config.read_text()
    table = f'[projects."{project}"]\nverify = ["make check"]\n'
    fleet.home.config.write_text(f"{text}\n{table}")
    run("apply", "reset.toml", "--yes")
    own = {task.title: task.metadata["fleet"].get("verify") for task in made(fleet)}
    assert own["Store reset tokens"] == ["make check", "pytest tests/test_model.py"]
    assert own["Send the mail"] is None, "it inherits"
    assert own["Acceptance: Password reset"] == ["make check", "make test"]


@pytest.mark.parametrize("verb", ["show", "apply", "write", "approve"])
def test_no_agent_applies_a_plan(verb):
    """An agent could have written the spec, and its commands, itself."""
    with pytest.raises(Refused, match=f"may not run `fleet plan {verb}`"):
        check_fleet(f"plan {verb}", {"yes"}, "fleet-a")


def test_the_tasks_of_a_plan_know_the_branch_that_they_were_made_on(fleet, project):
    """Their work lands there; the branch is no part of what a task is compared by."""
    (project / ".git").mkdir()
    head = project / ".git/HEAD"
    head.write_text("ref: refs/heads/topic\n")
    assert run("apply", "TODO.md", "--yes").exit_code == 0
    tasks = made(fleet)
    assert {task.metadata["fleet"].get("branch") for task in tasks} == {"topic"}
    head.write_text("ref: refs/heads/other\n")
    assert run("apply", "TODO.md", "--yes").exit_code == 0
    assert len(made(fleet)) == len(tasks)


def test_a_spec_that_git_does_not_have_yet_is_told(fleet, project, repo):
    """Agents work in clones, which begin at a commit."""
    repo.commit(a="1\n")
    shutil.copy(project / "TODO.md", repo.root / "TODO.md")
    warning = "Warning: TODO.md is not committed: agents in clones do not see it"
    spec = str(repo.root / "TODO.md")
    assert warning in " ".join(run("show", spec).output.split())
    assert json.loads(run("show", spec, "--json").output)["uncommitted"] == ["TODO.md"]
    repo.git("add", "TODO.md")
    assert warning in " ".join(run("apply", spec, "--yes").output.split())
    repo.git("commit", "-qm", "spec")
    assert "Warning" not in run("show", spec).output


def test_a_plan_shows_how_its_tasks_stand(fleet, project):
    """With the word of every other surface, and not with the queue's status."""
    run("apply", "reset.toml", "--yes")
    first = next(task for task in made(fleet) if task.issue_type == "task")
    waits = NeedsApproval(reasons=("no check ran",))
    fleet.queue.reopen_task(first, by="ann", waits=waits)
    assert f"[{first.id} needs approval]" in run("show", "reset.toml").output
