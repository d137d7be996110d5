"""What a task left in its repository: seen, landed and put away, without losing anything."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from fleet.config import Config
from fleet.errors import Refused
from fleet.files.file_lock import locked
from fleet.git import run_baseline
from fleet.git.git_command import Git
from fleet.git.merge_onto_branch import land
from fleet.git.refs import ELSEWHERE
from fleet.git.task_branch import task_branch_of
from fleet.home import worktree_json
from fleet.schemas import Policy
from fleet.supervisor.start.workspace import Unprepared, order_of, prepare
from tests.repos import Repo

TASK = "fleet-1.1"


@pytest.fixture
def repo(repo):
    repo.first = repo.commit(a="one\n", _dot_gitignore="*.o\n")
    return repo


class Tree:
    """The worktree of a task."""

    def __init__(self, home, repo, task_id=TASK, commit=""):
        policy = Policy(isolation="worktree", commit=commit)
        order = order_of(home, Config(), task_id=task_id, cwd=str(repo.root), policy=policy)
        got = prepare(order, threading.Event())
        assert not isinstance(got, Unprepared), got.error
        self.repo = Repo.__new__(Repo)
        self.repo.root = home.worktrees / task_id
        self.git, self.put, self.commit = self.repo.git, self.repo.put, self.repo.commit
        self.home, self.id = home, task_id

    @property
    def left(self):
        return task_branch_of(self.home, self.id)


def names(left, since):
    return sorted(change.path for change in left.changes(left.tip(), since))


def test_a_worktree_begins_at_the_commit_that_is_named(home, repo):
    """Wherever the branch went since; one that is not there is told of."""
    repo.commit(a="two\n")
    tree = Tree(home, repo, commit=repo.first)
    assert (tree.repo.root / "a").read_text() == "one\n"
    assert worktree_json.read(home, TASK).commit == repo.first
    policy = Policy(isolation="worktree", commit="f" * 40)
    order = order_of(home, Config(), task_id="fleet-2", cwd=str(repo.root), policy=policy)
    assert "lacks the commit" in str(prepare(order, threading.Event()).error)


def test_committed_or_not_all_of_it_is_seen(home, repo):
    """What git ignores aside."""
    tree = Tree(home, repo)
    tree.commit(b="b\n")
    tree.put("c", "c\n")
    tree.put("d.o", "d\n")
    assert names(tree.left, repo.first) == ["b", "c"]
    assert "+c" in tree.left.patch(tree.left.tip(), repo.first).decode()


def test_what_is_put_away_is_held(home, repo):
    """Worktree and branch go; the ref has all."""
    tree = Tree(home, repo)
    tree.commit(b="b\n")
    tree.put("c", "c\n")
    away = tree.left.put_away()
    assert (away.stays, away.ref) == ("", f"refs/fleet/{TASK}/branch")
    assert not tree.repo.root.exists()
    assert repo.git("branch", "--format=%(refname:short)") == "main"
    assert repo.git("show", f"{away.ref}:c") == "c"
    assert repo.git("show", f"{away.ref}^:b") == "b"
    # It is still seen, and nothing happens the second time.
    assert names(tree.left, repo.first) == ["b", "c"]
    assert tree.left.put_away() == away


def test_what_no_commit_can_hold_stays(home, repo):
    """Another repository inside; until a person insists."""
    tree = Tree(home, repo)
    Repo(tree.repo.root / "deep" / "inner").commit(x="x\n")
    assert "another repository" in tree.left.put_away().stays
    assert tree.repo.root.exists()
    assert tree.left.put_away(force=True).stays == ""
    assert not tree.repo.root.exists()


def test_a_branch_that_is_checked_out_elsewhere_stays(home, repo, tmp_path):
    """The user works on the branch now."""
    tree = Tree(home, repo)
    tree.commit(b="b\n")
    tree.git("switch", "-q", "--detach")
    repo.git("worktree", "add", "-q", str(tmp_path / "mine"), f"fleet/{TASK}")
    assert "is checked out in" in tree.left.put_away().stays
    assert repo.git("rev-parse", "--verify", f"fleet/{TASK}")


def test_nothing_is_put_away_under_an_agent(home, repo, monkeypatch):
    """Its lock is minded."""
    monkeypatch.setattr("fleet.git.task_branch._PATIENCE", 0.0)
    tree = Tree(home, repo)
    with locked(home.task(TASK) / "run.lock"):
        assert "still running" in tree.left.put_away().stays
    assert tree.repo.root.exists()


def test_a_branch_that_was_put_away_counts_as_standing(home, repo, tmp_path):
    """For a run that saw it at its start; one that was deleted does not."""
    tree, other = Tree(home, repo), Tree(home, repo, "fleet-1.2")
    tree.commit(b="b\n")
    before = run_baseline.record_base(str(repo.root), "fleet-9/1", home=home.path)
    tree.left.put_away()
    repo.git("worktree", "remove", "--force", str(other.repo.root))
    repo.git("branch", "-q", "-D", "fleet/fleet-1.2")
    now = run_baseline.base_now(before, home.path)
    assert f"refs/heads/fleet/{TASK}" in now.refs
    assert "refs/heads/fleet/fleet-1.2" not in now.refs


def test_nobody_meets_a_branch_before_it_is_checked_out(home, repo, monkeypatch):
    """Or its task would be taken for one that moved it."""
    adding, go = threading.Event(), threading.Event()
    patiently = Git.ask_patiently

    def slowly(self, *args):
        if args[:2] == ("worktree", "add"):
            adding.set()
            go.wait(20)
        return patiently(self, *args)

    monkeypatch.setattr(Git, "ask_patiently", slowly)
    with ThreadPoolExecutor() as threads:
        made = threads.submit(Tree, home, repo)
        assert adding.wait(20)
        seen = threads.submit(run_baseline.record_base, str(repo.root), "fleet-9/1", home=home.path)
        with pytest.raises(TimeoutError):
            seen.result(0.2)
        go.set()
        made.result(20)
        assert seen.result(20).refs[f"refs/heads/fleet/{TASK}"].startswith(ELSEWHERE)


def landed(repo, commit, **more):
    return land(str(repo.root), commit, ref="REF", message="m", again="AGAIN", **more)


def test_a_landing_is_refused_where_anything_is_in_the_way(home, repo):
    """Each time with the way out, and with nothing changed."""
    tree = Tree(home, repo)
    commit = tree.commit(a="theirs\n")
    repo.git("switch", "-q", "--detach")
    with pytest.raises(Refused, match="no branch checked out") as refused:
        landed(repo, commit)
    assert "AGAIN" in refused.value.hint
    repo.git("switch", "-q", "main")
    repo.put("a", "staged\n")
    repo.git("add", "a")
    with pytest.raises(Refused, match="not committed: a"):
        landed(repo, commit)
    assert repo.git("diff", "--cached", "--name-only") == "a"
    repo.commit(a="mine\n")
    repo.git("switch", "-qc", "side", repo.first)
    side = repo.commit(a="third\n")
    repo.git("switch", "-q", "main")
    with pytest.raises(Refused, match="has commits since that conflict"):
        landed(repo, side)
    repo.git("merge", "-q", side, ok=False)
    with pytest.raises(Refused, match="has not finished"):
        landed(repo, commit)


def test_a_landing_minds_no_setting_of_merges(home, repo):
    """A squash or a merge that waits would leave the branch where it was."""
    tree = Tree(home, repo)
    commit = tree.commit(b="b\n")
    repo.git("config", "branch.main.mergeOptions", "--squash")
    repo.git("config", "merge.ff", "false")
    assert landed(repo, commit).how == "fast-forwarded"
    assert repo.git("rev-parse", "main") == commit
    assert landed(repo, commit).how == "was there already"
