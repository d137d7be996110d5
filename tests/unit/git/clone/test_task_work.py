"""What a task left in its repository: seen, landed and put away, without losing anything."""

import pytest

from fleet.files.file_lock import locked
from fleet.git import run_baseline
from fleet.git.clone.task_work import put_away, task_work
from fleet.home import clone_record
from fleet.supervisor.cleanup import collect
from tests.clones import clone_of, prepared, why
from tests.repos import Repo

TASK = "fleet-1.1"


@pytest.fixture
def repo(repo):
    repo.first = repo.commit(a="one\n")
    return repo


class Tree:
    """The clone of a task."""

    def __init__(self, home, repo, task_id=TASK, commit=""):
        self.repo = Repo.__new__(Repo)
        self.repo.root = clone_of(home, repo, task_id, commit=commit)
        self.git, self.put, self.commit = self.repo.git, self.repo.put, self.repo.commit
        self.home, self.id = home, task_id

    def put_away(self, **how):
        return put_away(self.home, self.id, title="the title", **how)


def names(tree, since):
    return sorted(change.path for change in task_work(tree.home, tree.id).changes(since))


def test_a_clone_begins_at_the_commit_that_is_named(home, repo):
    """Wherever the branch went since; one that is not there is told of."""
    repo.commit(a="two\n")
    tree = Tree(home, repo, commit=repo.first)
    assert (tree.repo.root / "a").read_text() == "one\n"
    assert clone_record.read(home, TASK).commit == repo.first
    assert "lacks the commit" in why(prepared(home, repo.root, "fleet-2", commit="f" * 40))


def test_committed_or_not_all_of_it_is_seen(home, repo):
    """What git ignores aside."""
    tree = Tree(home, repo)
    tree.commit(b="b\n")
    tree.put("c", "c\n")
    tree.put("d.o", "d\n")
    assert names(tree, repo.first) == ["b", "c"]
    assert "+c" in task_work(home, TASK).patch(repo.first).decode()
    assert repo.git("for-each-ref", "refs/heads/fleet") == "", "looking changes nothing"


def test_what_is_put_away_is_held(home, repo):
    """Clone and branch go; the ref has all."""
    tree = Tree(home, repo)
    tree.commit(b="b\n")
    tree.put("c", "c\n")
    away = tree.put_away()
    assert (away.stays, away.ref) == ("", f"refs/fleet/{TASK}/branch")
    assert not tree.repo.root.exists()
    assert repo.git("branch", "--format=%(refname:short)") == "main"
    assert repo.git("show", f"{away.ref}:c") == "c"
    assert repo.git("show", f"{away.ref}^:b") == "b"
    # It is still seen, and nothing happens the second time.
    assert names(tree, repo.first) == ["b", "c"]
    assert tree.put_away() == away


def test_what_no_commit_can_hold_stays(home, repo):
    """Another repository inside; until a person insists."""
    tree = Tree(home, repo)
    Repo(tree.repo.root / "deep" / "inner").commit(x="x\n")
    assert "another repository" in tree.put_away().stays
    assert tree.repo.root.exists()
    assert tree.put_away(force=True).stays == ""
    assert not tree.repo.root.exists()


def test_a_branch_that_is_checked_out_elsewhere_stays(home, repo, tmp_path):
    """The user works on the branch now."""
    tree = Tree(home, repo)
    tree.commit(b="b\n")
    collect(home, TASK)
    repo.git("worktree", "add", "-q", str(tmp_path / "mine"), f"fleet/{TASK}")
    assert "is checked out in" in tree.put_away().stays
    assert repo.git("rev-parse", "--verify", f"fleet/{TASK}")


def test_a_branch_that_an_agent_made_stays_if_its_commits_are_nowhere_else(home, repo):
    """Else it goes with the task's own."""
    tree = Tree(home, repo)
    tree.git("switch", "-qc", "side/x")
    tree.commit(b="b\n")
    tree.git("switch", "-q", f"fleet/{TASK}")
    assert f"fleet/{TASK}+side/x holds commits" in tree.put_away().stays
    repo.git("update-ref", f"refs/fleet/{TASK}/branch", f"fleet/{TASK}+side/x")
    other = Tree(home, repo, "fleet-2")
    other.commit(c="c\n")
    other.git("switch", "-qc", "mine")
    assert other.put_away().stays == ""
    assert repo.git("for-each-ref", "refs/heads/fleet/fleet-2*") == ""


def test_nothing_is_put_away_under_an_agent(home, repo, monkeypatch):
    """Its lock is minded."""
    monkeypatch.setattr("fleet.git.clone.task_work._PATIENCE", 0.0)
    tree = Tree(home, repo)
    with locked(home.task(TASK) / "run.lock"):
        assert "still running" in tree.put_away().stays
    assert tree.repo.root.exists()


def test_a_branch_that_was_put_away_counts_as_standing(home, repo, tmp_path):
    """For a run that saw it at its start; one that was deleted does not."""
    tree, other = Tree(home, repo), Tree(home, repo, "fleet-1.2")
    tree.commit(b="b\n")
    other.commit(b="b\n")
    collect(home, TASK)
    collect(home, "fleet-1.2")
    before = run_baseline.record_base(str(repo.root), "fleet-9/1", home=home.path)
    tree.put_away()
    repo.git("branch", "-q", "-D", "fleet/fleet-1.2")
    now = run_baseline.base_now(before, home.path)
    assert f"refs/heads/fleet/{TASK}" in now.refs
    assert "refs/heads/fleet/fleet-1.2" not in now.refs
