"""Taking back what a run did to files."""

import pytest
from click.testing import CliRunner
from msgspec import structs

from fleet import config
from fleet.cli.inspect.task import command
from fleet.control import Control
from fleet.control.tasks.restore import carry_out, plan
from fleet.errors import BadInput, FleetError
from fleet.git import run_baseline
from fleet.home import Home, make_home
from fleet.runs import receipt_json
from fleet.runs.run_directory import RunSpec, new_run
from fleet.schemas import Receipt
from tests.conftest import need
from tests.repos import Repo


class Ran:
    """A task with one run in a repository."""

    def __init__(self, root):
        self.repo = Repo(root / "repo")
        self.repo.commit(a="one\n", dir__b="two\n", c="three\n")
        self.repo.put("mine", "unfinished\n")
        self.repo.git("branch", "other")
        self.home = Home(root / "home")
        make_home(self.home)
        self.home.config.write_text(config.default_text(queue="embedded"))
        self.fleet = Control(self.home, config.load(self.home.config))
        task_dir = self.home.task("fleet-1")
        task_dir.mkdir()
        found = run_baseline.record_base(
            str(self.repo.root),
            "fleet-1/1",
            home=self.home.path,
            keep=task_dir / run_baseline.INDEX,
        )
        self.run = new_run(task_dir, RunSpec(argv=("true",), cwd=str(self.repo.root), base=found))

    def end(self):
        """The run is over and was looked at."""
        changes = run_baseline.changes_since(self.run.spec().base, self.run)
        receipt = Receipt(task_id="fleet-1", run=1, coder="none", changes=changes)
        receipt_json.write(self.run, receipt)
        return self

    def restore(self, *paths, **how):
        found = plan(self.fleet, "fleet-1", paths=paths, **how)
        carry_out(self.fleet, found)
        return {step.path: step.act for step in found.steps}

    def read(self, name):
        path = self.repo.root / name
        return path.read_text() if path.exists() else None

    def cli(self, *words, task="fleet-1"):
        return CliRunner(env={"FLEET_HOME": str(self.home.path)}).invoke(command, [task, *words])


@pytest.fixture
def ran(tmp_path):
    need("git")
    made = Ran(tmp_path)
    repo = made.repo
    repo.put("a", "changed\n")
    (repo.root / "dir/b").unlink()
    (repo.root / "dir").rmdir()
    (repo.root / "mine").unlink()
    repo.put("added", "new\n")
    return made


def test_what_a_run_changed_or_deleted_comes_back(ran):
    """Unfinished work of the user's too; what it added is left."""
    assert ran.end().restore() == {
        "a": "restore", "added": "leave", "dir/b": "restore", "mine": "restore",
    }  # fmt: skip
    assert [ran.read(name) for name in ("a", "dir/b", "mine", "added")] == [
        "one\n", "two\n", "unfinished\n", "new\n",
    ]  # fmt: skip
    assert ran.repo.git("status", "--porcelain") == "?? added\n?? mine"


def test_what_was_committed_comes_back_as_a_change(ran):
    """The commits stay: only files are touched."""
    ran.repo.git("add", "-A")
    ran.repo.git("commit", "-qm", "the run's")
    head = ran.repo.git("rev-parse", "HEAD")
    ran.end().restore()
    assert ran.read("a") == "one\n"
    assert ran.repo.git("rev-parse", "HEAD") == head


def test_only_what_is_named_comes_back_and_what_was_added_goes_by_name(ran):
    """A directory stands for all in it."""
    assert ran.end().restore("dir", "added") == {"added": "remove", "dir/b": "restore"}
    assert (ran.read("dir/b"), ran.read("added"), ran.read("a")) == ("two\n", None, "changed\n")
    with pytest.raises(BadInput, match="is not in"):
        ran.restore("/etc/passwd")


def test_later_work_is_not_written_over_unless_that_is_insisted_on(ran):
    """The user mended the file by hand."""
    ran.end()
    ran.repo.put("a", "mended\n")
    ran.repo.put("dir/b", "mended\n")
    assert ran.restore()["a"] == "keep"
    assert (ran.read("a"), ran.read("dir/b"), ran.read("mine")) == (
        "mended\n", "mended\n", "unfinished\n",
    )  # fmt: skip
    ran.restore("a", force=True)
    assert (ran.read("a"), ran.read("dir/b")) == ("one\n", "mended\n")


def test_what_already_is_as_it_was_needs_nothing(ran):
    """So a second restore goes as well as the first: what the first did is no later work."""
    ran.end()
    assert ran.cli("restore", str(ran.repo.root)).exit_code == 0
    again = ran.cli("restore", str(ran.repo.root))
    assert (again.exit_code, again.output) == (
        0, "".join(f"already as it was: {name}\n" for name in ("a", "added", "dir/b", "mine")),
    )  # fmt: skip


def test_a_name_that_stands_for_nothing_is_refused(ran):
    """It says from where names count; a file that the run did not touch is no mistake."""
    ran.end()
    with pytest.raises(BadInput, match="changed no such file") as refused:
        ran.restore("dir/dir/b")
    assert refused.value.hint == "Paths count from the current directory."
    assert ran.restore("c") == {}


@pytest.mark.parametrize("flag", ["--json", "--follow"])
def test_restore_takes_no_flag_that_it_would_not_heed(ran, flag):
    """Nothing is restored either."""
    assert f"{flag} works with" in str(ran.end().cli("restore", flag).exception)
    assert ran.read("a") == "changed\n"


@pytest.mark.parametrize("words", [("diff",), ("diff", "--stat"), ("diff", "--json"), ("receipt",)])
def test_a_task_that_never_ran_says_so(ran, words):
    """Not that something of its run is missing."""
    (ran.home.tasks / "fleet-2").mkdir()
    said = ran.cli(*words, task="fleet-2")
    assert "fleet-2 has no run yet" in str(said.exception)


def test_files_that_the_run_did_not_touch_are_nobodys_business(ran):
    """Not even by force."""
    ran.end()
    ran.repo.put("c", "the user's\n")
    assert "c" not in ran.restore(force=True)
    assert ran.read("c") == "the user's\n"


def test_a_run_that_was_never_looked_at_is_taken_back_only_by_force(ran):
    """It is unknown which of the changes are the run's."""
    assert set(ran.restore().values()) == {"keep"}
    assert ran.read("a") == "changed\n"
    ran.restore(force=True)
    assert ran.read("a") == "one\n"


def test_a_run_that_changed_nothing_has_nothing_to_take_back(tmp_path):
    """Whatever the user did since."""
    need("git")
    ran = Ran(tmp_path).end()
    ran.repo.put("a", "the user's\n")
    assert ran.restore() == {}
    assert ran.read("a") == "the user's\n"


def test_a_run_without_a_snapshot_says_why(ran):
    """In no repository, or git had trouble."""
    spec = ran.run.spec()
    other = structs.replace(spec.base, snapshot="", trouble="git took too long")
    new_run(ran.home.task("fleet-1"), structs.replace(spec, base=other))
    with pytest.raises(FleetError, match="git took too long"):
        ran.restore()


def test_a_tree_that_is_gone_names_the_snapshot(ran):
    """It is still in the repository."""
    ran.end()
    ran.repo.root.rename(ran.repo.root.with_name("elsewhere"))
    with pytest.raises(FleetError, match="no working tree any more") as caught:
        ran.restore()
    assert ran.run.spec().base.snapshot in caught.value.hint


def test_the_command_says_what_it_does_and_what_it_would(ran):
    """And how to put back a branch that is not where it was."""
    ran.end()
    head = ran.repo.git("rev-parse", "other")
    ran.repo.git("branch", "-D", "other")
    shown = ran.cli("restore", "--dry-run")
    assert "would be restored: a\n" in shown.output
    assert "1 files that the run added are left; name them to remove: added" in shown.output
    assert f"git update-ref refs/heads/other {head}" in shown.output
    assert ran.read("a") == "changed\n"
    assert "restored: a\n" in ran.cli("restore").output
    ran.repo.put("a", "later\n")
    kept = ran.cli("restore")
    assert "kept, it changed since the run ended: a" in kept.output
    assert "files were kept" in str(kept.exception)


def test_the_difference_is_printed_whole_or_by_its_figures(ran):
    """And JSON for programs."""
    ran.end()
    assert "+changed" in ran.cli("diff").output
    assert ran.cli("diff", "--stat").output.splitlines() == [
        "changed a  +1 -1", "added   added  +1 -0", "deleted dir/b  +0 -1", "deleted mine  +0 -1",
    ]  # fmt: skip
    assert '"path": "dir/b"' in ran.cli("diff", "--json").output
    assert "only restore takes paths" in str(ran.cli("diff", "a").exception)
    assert "works with diff only" in str(ran.cli("log", "--stat").exception)
