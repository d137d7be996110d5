"""The box of one run, by its command line."""

import pytest

from fleet.coders.claude import ClaudeCoder
from fleet.config import Config
from fleet.home import Home, make_home
from fleet.runs.run_directory import reserve_run
from fleet.schemas import Policy, Sandbox
from fleet.supervisor.start import run_box
from fleet.supervisor.start.run_box import RunCommand, box_run
from tests.clones import clone_of, git

BOXED = Policy(sandbox=Sandbox(level="workspace"))


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A reserved run of a task in a home, on a machine whose box works."""
    monkeypatch.setattr(run_box, "require_box", lambda: "/usr/bin/bwrap")
    home = Home(tmp_path / "home")
    make_home(home)
    run = reserve_run(home.task("fleet-1"))
    (run.task_dir / "artifacts").mkdir()
    run.spool.mkdir()
    return run


def boxed(run, tmp_path, program="sh", **env):
    (tmp_path / "project").mkdir(exist_ok=True)
    (tmp_path / "user").mkdir(exist_ok=True)
    env = {"HOME": str(tmp_path / "user"), "PATH": "/usr/bin:/bin", **env}
    command = RunCommand(argv=(program, "-p"), cwd=str(tmp_path / "project"), env=env)
    return box_run(
        command, home=Home(tmp_path / "home"), config=Config(), run=run, coder=ClaudeCoder(),
        policy=BOXED, programs=tmp_path / "home/bin",
    )  # fmt: skip


def mounted(argv, kind):
    return {argv[at + 1] for at, word in enumerate(argv) if word == kind}


def test_a_run_writes_its_own_places_and_no_record(run, tmp_path):
    """The workspace, the artifacts and the spool; not the run's directory."""
    argv = boxed(run, tmp_path).argv
    own = {tmp_path / "project", run.task_dir / "artifacts", run.spool}
    assert mounted(argv, "--bind") == {str(path) for path in own}


def test_a_task_without_a_directory_works_in_its_artifacts(run, tmp_path):
    """Elsewhere such a task runs in fleet's home, which no box opens."""
    env = {"HOME": str(tmp_path / "user"), "PATH": "/usr/bin:/bin"}
    (tmp_path / "user").mkdir()
    home = Home(tmp_path / "home")
    command = box_run(
        RunCommand(argv=("sh",), cwd=str(home.path), env=env), home=home, config=Config(), run=run,
        coder=ClaudeCoder(), policy=BOXED, programs=home.path / "bin",
    )  # fmt: skip
    assert command.cwd == str(run.task_dir / "artifacts")
    assert str(home.path) not in mounted(command.argv, "--bind")


def test_a_program_that_is_not_there_is_missing_as_outside_of_a_box(run, tmp_path):
    """The keeper's exec fails, which holds the coder; nothing is started without a box."""
    assert boxed(run, tmp_path, program="no-such-cli").argv == ("/dev/null/no-such-cli",)


def test_the_agents_commits_name_the_person_whatever_stands_in_its_clone(
    run, repo, tmp_path, monkeypatch
):
    """The project is asked, and never the clone: an agent writes its configuration."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    repo.commit(a="1\n")
    repo.git("config", "user.name", "Ada")
    repo.git("config", "user.email", "ada@example.org")
    place = clone_of(Home(tmp_path / "home"), repo)
    git(place, "config", "user.name", "the agent")
    (tmp_path / "user").mkdir()
    env = {"HOME": str(tmp_path / "user"), "PATH": "/usr/bin:/bin"}
    command = RunCommand(argv=("sh",), cwd=str(place), env=env)
    inside = box_run(
        command, home=Home(tmp_path / "home"), config=Config(), run=run, coder=ClaudeCoder(),
        policy=BOXED, programs=tmp_path / "home/bin",
    ).env  # fmt: skip
    assert inside["GIT_AUTHOR_NAME"] == inside["GIT_COMMITTER_NAME"] == "Ada"
    assert inside["GIT_AUTHOR_EMAIL"] == "ada@example.org"
