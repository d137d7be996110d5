"""What verify commands leave in a clone: neither committed nor counted as the agent's change."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from fleet.git import run_baseline, snapshot_names
from fleet.git.checkout.verify_leavings import FOLDER, put_leavings_aside
from fleet.runs.run_directory import Run
from fleet.schemas import Base
from tests.clones import TASK, clone_of, git
from tests.repos import RunIn


@dataclass
class Ended:
    """A run that is over."""

    place: Path
    run: Run
    base: Base | None = None
    tree: str = ""

    def put_aside(self):
        return put_leavings_aside(self.run, self.base, self.tree)


@pytest.fixture
def run(home, repo):
    """A run in a clone, with work of its agent that is partly committed."""
    repo.commit(tracked="as it was\n", _dot_gitignore="*.o\n")
    place = clone_of(home, repo)
    run = Ended(place, Run(home.task(TASK) / "runs/1"))
    run.run.path.mkdir(parents=True)
    keep = home.task(TASK) / snapshot_names.INDEX
    run.base = run_baseline.record_base(str(place), f"{TASK}/1", home=home.path, keep=keep)
    (place / "work").write_text("work\n")
    git(place, "add", "-A")
    git(place, "commit", "-qm", "work")
    (place / "loose").write_text("loose\n")
    run.tree = run_baseline.changes_since(run.base, run.run).tree
    return run


def left(run):
    return {path.name for path in run.place.iterdir()} - {".git"}


def test_what_the_commands_made_is_put_aside_and_what_they_changed_is_put_back(run):
    """Files that git ignores stay: they are what such a project wants to find there."""
    for name, text in {"out/built": "b\n", "tracked": "x\n", "a.o": "o\n", "work": None}.items():
        path = run.place / name
        path.parent.mkdir(exist_ok=True)
        path.unlink() if text is None else path.write_text(text)
    assert run.put_aside() == 3
    assert left(run) - {"out"} == {"tracked", "work", "loose", "a.o", ".gitignore"}
    assert [(run.place / name).read_text() for name in ("tracked", "work", "loose")] == [
        "as it was\n", "work\n", "loose\n",
    ]  # fmt: skip
    assert list((run.place / "out").glob("*")) == []
    kept = {path.name: path.read_text() for path in (run.place / ".git" / FOLDER).rglob("*")
            if path.is_file()}  # fmt: skip
    assert kept == {"built": "b\n", "tracked": "x\n"}
    assert run.put_aside() == 0


def test_no_link_of_the_agents_leads_them_elsewhere(run, tmp_path):
    """A directory of the clone that is a link by now is not moved through."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "f").write_text("f\n")
    (run.place / "d").symlink_to(outside)
    run.put_aside()
    assert (outside / "f").read_text() == "f\n"
    assert not (run.place / "d").is_symlink()


def test_the_users_own_directory_is_left_alone(tmp_path, repo):
    """A run without a clone: what its commands built there is the user's."""
    repo.commit(a="1\n")
    run = RunIn(tmp_path, repo)
    tree = run.changes().tree or repo.git("rev-parse", "HEAD^{tree}")
    repo.put("built", "b\n")
    assert put_leavings_aside(Run(run.dir), run.base, tree) == 0
    assert Path(repo.root, "built").exists()


def test_a_tree_that_was_stored_counts_whatever_was_built_since(tmp_path, repo):
    """A supervisor died while the commands were at work; the next one inspects the run again."""
    repo.commit(a="1\n")
    run = RunIn(tmp_path, repo)
    repo.put("work", "w\n")
    first = run.changes()
    repo.put("built", "b\n")
    again = run_baseline.changes_since(run.base, Run(run.dir), stored=True)
    assert (again.tree, again.files) == (first.tree, first.files)
    other = RunIn(tmp_path, repo, number=2)
    repo.put("more", "m\n")  # a run that changed nothing, and then its commands
    assert run_baseline.changes_since(other.base, Run(other.dir), stored=True).files == ()
