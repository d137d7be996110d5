"""The commands that take back what a run did in the project's directory."""

import subprocess

import pytest
from click.testing import CliRunner
from msgspec import structs

from fleet import config
from fleet.cli.inspect.task import command
from fleet.control import Control
from fleet.control.tasks.undo import undo_commands
from fleet.git import run_baseline
from fleet.home import Home, make_home
from fleet.runs import receipt_json
from fleet.runs.run_directory import RunSpec, new_run
from fleet.schemas import Changes, Finding, Receipt, Verdict
from tests.conftest import need
from tests.repos import ENV, Repo


class Ran:
    """A task with one run in a repository."""

    def __init__(self, root):
        self.repo = Repo(root / "repo of mine")
        self.repo.commit(a="one\n", dir__b="two\n", c="three\n")
        self.repo.put("mine", "unfinished\n")
        self.repo.git("branch", "other")
        self.home = Home(root / "home")
        make_home(self.home)
        self.home.config.write_text(config.default_text(queue="embedded"))
        self.fleet = Control(self.home, config.load(self.home.config))
        task_dir = self.home.task("fleet-1")
        task_dir.mkdir()
        self.base = run_baseline.record_base(
            str(self.repo.root),
            "fleet-1/1",
            home=self.home.path,
            keep=task_dir / run_baseline.INDEX,
        )
        spec = RunSpec(argv=("true",), cwd=str(self.repo.root), base=self.base)
        self.run = new_run(task_dir, spec)

    def end(self, *rules):
        """The run is over and was looked at; returns the commands."""
        changes = run_baseline.changes_since(self.run.spec().base, self.run)
        trespasses = tuple(Finding(rule=rule, what="it did") for rule in rules)
        verdict = Verdict(trespasses=trespasses) if rules else None
        receipt = Receipt(task_id="fleet-1", run=1, coder="none", changes=changes, verdict=verdict)
        receipt_json.write(self.run, receipt)
        return undo_commands(self.fleet, receipt)

    def read(self, name):
        path = self.repo.root / name
        return path.read_text() if path.exists() else None

    def cli(self, *words, task="fleet-1"):
        return CliRunner(env={"FLEET_HOME": str(self.home.path)}).invoke(command, [task, *words])


def shell(line):
    return subprocess.run(
        ["sh", "-c", line], env=ENV, capture_output=True, text=True, timeout=30, check=False
    )


@pytest.fixture
def ran(tmp_path):
    need("git")
    return Ran(tmp_path)


@pytest.fixture
def changed(ran):
    """The run changed, deleted and added files, of which one was in no commit."""
    ran.repo.put("a", "changed\n")
    (ran.repo.root / "dir/b").unlink()
    (ran.repo.root / "dir").rmdir()
    (ran.repo.root / "mine").unlink()
    ran.repo.put("added", "new\n")
    return ran


def test_the_first_command_takes_back_all_that_a_run_did(changed):
    """Unfinished work of the user's comes back too, and what the run added goes."""
    all_of_it, _ = changed.end()
    done = shell(all_of_it)
    assert done.returncode == 0, done.stderr
    assert [changed.read(name) for name in ("a", "dir/b", "mine", "added")] == [
        "one\n", "two\n", "unfinished\n", None,
    ]  # fmt: skip
    assert changed.repo.git("status", "--porcelain") == "?? mine"


def test_later_work_keeps_the_first_command_from_changing_anything(changed):
    """A person mended a file meanwhile: git refuses, and no file is written."""
    all_of_it, _ = changed.end()
    changed.repo.put("a", "mended\n")
    assert shell(all_of_it).returncode != 0
    assert (changed.read("a"), changed.read("mine")) == ("mended\n", None)


def test_the_second_command_brings_a_single_file_back(changed):
    """Neither the index nor another file is touched."""
    _, of_a_file = changed.end()
    assert of_a_file.endswith(" -- FILE…")
    done = shell(of_a_file.replace("FILE…", "mine dir"))
    assert done.returncode == 0, done.stderr
    assert (changed.read("mine"), changed.read("dir/b")) == ("unfinished\n", "two\n")
    assert (changed.read("a"), changed.read("added")) == ("changed\n", "new\n")
    assert changed.repo.git("status", "--porcelain") == " M a\n?? added\n?? mine"


def test_a_binary_file_that_no_commit_has_comes_back_from_the_snapshot(tmp_path):
    """The difference does not hold its bytes."""
    need("git")
    project = Repo(tmp_path / "repo of mine")
    project.commit(a="one\n")
    (project.root / "table").write_bytes(b"\0\1\2")
    ran = Ran(tmp_path)
    (ran.repo.root / "table").write_bytes(b"\0gone")
    _, of_a_file = ran.end()
    assert of_a_file.endswith(" -- table")
    done = shell(of_a_file)
    assert done.returncode == 0, done.stderr
    assert (ran.repo.root / "table").read_bytes() == b"\0\1\2"


def test_refs_that_the_run_moved_are_put_back(changed):
    """By the commit that each was at."""
    head = changed.repo.git("rev-parse", "other")
    changed.repo.git("branch", "-D", "other")
    *_, back = changed.end("moved_refs")
    assert shell(back).returncode == 0
    assert changed.repo.git("rev-parse", "other") == head


def test_the_receipt_names_the_commands(changed):
    """Each whole on a line of its own, to be copied; none in the JSON."""
    commands = changed.end()
    shown = changed.cli("receipt").output.splitlines()
    assert shown[-2:] == [f"undo:       {commands[0]}", f"            {commands[1]}"]
    assert "apply -R" not in changed.cli("receipt", "--json").output


def test_a_run_that_changed_nothing_has_nothing_to_take_back(ran):
    """Whatever the user did since."""
    commands = ran.end()
    ran.repo.put("a", "the user's\n")
    assert commands == ()


def test_a_clone_needs_no_command(ran):
    """Its work is on a branch of its own."""
    clone = Repo(ran.home.clone("fleet-1"))
    clone.commit(a="one\n")
    ran.base = structs.replace(ran.base, root=str(clone.root))
    ran.run = new_run(
        ran.home.task("fleet-2"), RunSpec(argv=("true",), cwd=str(clone.root), base=ran.base)
    )
    receipt = Receipt(
        task_id="fleet-2", run=1, coder="none", changes=Changes(base=ran.base.snapshot)
    )
    assert undo_commands(ran.fleet, receipt) == ()


@pytest.mark.parametrize("words", [("diff",), ("diff", "--stat"), ("diff", "--json"), ("receipt",)])
def test_a_task_that_never_ran_says_so(ran, words):
    """Not that something of its run is missing."""
    (ran.home.tasks / "fleet-2").mkdir()
    said = ran.cli(*words, task="fleet-2")
    assert "fleet-2 has no run yet" in str(said.exception)


def test_the_difference_is_printed_whole_or_by_its_figures(changed):
    """And JSON for programs."""
    changed.end()
    assert "+changed" in changed.cli("diff").output
    assert changed.cli("diff", "--stat").output.splitlines() == [
        "changed a  +1 -1", "added   added  +1 -0", "deleted dir/b  +0 -1", "deleted mine  +0 -1",
    ]  # fmt: skip
    assert '"path": "dir/b"' in changed.cli("diff", "--json").output
    assert "works with diff only" in str(changed.cli("log", "--stat").exception)


def test_fleet_itself_restores_no_file(ran):
    """There is no such word, for a person or for an agent."""
    assert ran.cli("restore").exit_code == 2
    assert ran.cli("diff", "a").exit_code == 2
