"""A worktree of a task's own: made, kept, set up, and removed without losing anything."""

import os
import shutil
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from msgspec import structs

from fleet import config as configuration
from fleet.config import Config
from fleet.files.file_lock import locked
from fleet.git import snapshot_index
from fleet.git.run_baseline import INDEX
from fleet.home import worktree_json
from fleet.schemas import Policy, Task
from fleet.supervisor.cleanup import tidy
from fleet.supervisor.start.workspace import Unprepared, Workspace, order_of, prepare
from tests.builders import NOW
from tests.repos import ENV, Repo


@pytest.fixture
def repo(repo):
    repo.commit(app__main_dot_py="print()\n", _dot_gitignore="*.o\n")
    return repo


def prepared(home, cwd, task_id="fleet-1", *, abandon=None, config=None, **policy):
    rules = Policy(isolation="worktree", verify_time=30.0, **policy)
    order = order_of(home, config or Config(), task_id=task_id, cwd=str(cwd), policy=rules)
    return prepare(order, abandon or threading.Event())


def why(got):
    assert isinstance(got, Unprepared)
    return str(got.error)


def git(place, *args):
    done = subprocess.run(
        ["git", *args], cwd=place, env=ENV, capture_output=True, text=True, timeout=30
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def commit(place, name="done.txt"):
    (Path(place) / name).write_text("done\n")
    git(place, "add", "-A")
    git(place, "commit", "-qm", name)
    return git(place, "rev-parse", "HEAD")


def a_task(status="closed", closed_at=NOW, task_id="fleet-1"):
    return Task(
        id=task_id, title="the title", status=status, created_at=NOW, updated_at=NOW,
        closed_at=closed_at if status == "closed" else None,
    )  # fmt: skip


# Making one.


def test_a_run_works_on_its_own_branch_from_the_commit_at_hand(home, repo):
    """In the home, not in the project; the user's unfinished work is not in it."""
    repo.put("app/main.py", "unfinished\n")
    got = prepared(home, repo.root)
    assert got.cwd == str(home.worktrees / "fleet-1")
    assert git(got.cwd, "branch", "--show-current") == "fleet/fleet-1"
    assert git(got.cwd, "rev-parse", "HEAD") == repo.git("rev-parse", "main")
    assert (Path(got.cwd) / "app/main.py").read_text() == "print()\n"
    assert repo.git("status", "--porcelain") == " M app/main.py"
    assert got.base.root == got.cwd
    assert got.base.branch == "refs/heads/fleet/fleet-1"


def test_the_directory_is_the_one_that_corresponds(home, repo):
    """Also if git holds nothing of it."""
    assert prepared(home, repo.root / "app").cwd == str(home.worktrees / "fleet-1/app")
    (repo.root / "empty").mkdir()
    got = prepared(home, repo.root / "empty", "fleet-2")
    assert Path(got.cwd).is_dir()
    assert got.cwd == str(home.worktrees / "fleet-2/empty")


def test_it_is_kept_over_runs(home, repo):
    """With what was committed and what was not, while the user's branch moves on."""
    first = prepared(home, repo.root)
    mine = commit(first.cwd)
    (Path(first.cwd) / "unfinished").write_text("x")
    repo.commit(other="x")
    second = prepared(home, repo.root)
    assert second.cwd == first.cwd
    assert second.base.head == mine
    assert (Path(second.cwd) / "unfinished").exists()


def test_many_tasks_of_one_repository_are_prepared_at_once(home, repo):
    """None meets another."""
    names = [f"fleet-{number}" for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda name: prepared(home, repo.root, name), names))
    assert [type(got) for got in found] == [Workspace] * 8
    assert len({got.cwd for got in found}) == 8
    assert len(repo.git("for-each-ref", "refs/heads/fleet/").splitlines()) == 8


def test_what_cannot_be_isolated_is_said(home, repo, tmp_path):
    """No repository, no commit, a bare one, a branch of the user's."""
    assert "is in no git repository" in why(prepared(home, tmp_path))
    fresh = Repo(tmp_path / "fresh")
    assert "has no commit yet" in why(prepared(home, fresh.root))
    repo.git("clone", "-q", "--bare", str(repo.root), str(tmp_path / "bare.git"))
    assert "is a bare repository" in why(prepared(home, tmp_path / "bare.git"))
    repo.git("branch", "fleet/fleet-1")
    assert "has a branch fleet/fleet-1 already" in why(prepared(home, repo.root))
    assert repo.git("rev-parse", "fleet/fleet-1")


def test_a_task_that_moved_to_another_repository_is_not_guessed_at(home, repo, tmp_path):
    """Its worktree was made from the first."""
    prepared(home, repo.root)
    other = Repo(tmp_path / "other")
    other.commit(a="1")
    assert "was made from" in why(prepared(home, other.root))


# What killed processes leave.


@pytest.mark.parametrize("how_far", ["nothing", "branch", "directory", "all"])
def test_a_supervisor_killed_while_making_one_costs_nothing(home, repo, how_far):
    """Whatever it had made is cleared away, and made again."""
    place = home.worktrees / "fleet-1"
    prepared(home, repo.root)
    made = worktree_json.read(home, "fleet-1")
    worktree_json.write(home, "fleet-1", structs.replace(made, made=False))
    if how_far != "all":
        repo.git("worktree", "remove", "--force", str(place))
    if how_far in ("nothing", "directory"):
        repo.git("branch", "-D", "fleet/fleet-1")
    if how_far == "directory":
        place.mkdir()
        (place / "half").write_text("x")
    got = prepared(home, repo.root)
    assert git(got.cwd, "status", "--porcelain", "--branch") == "## fleet/fleet-1"
    assert not (place / "half").exists()


def test_a_lock_of_a_killed_git_is_removed_from_the_tasks_own_worktree(home, repo):
    """No run of it lives; the user's own lock is left alone."""
    first = prepared(home, repo.root)
    gitdir = Path(git(first.cwd, "rev-parse", "--absolute-git-dir"))
    (gitdir / "index.lock").touch()
    (repo.root / ".git/index.lock").touch()
    got = prepared(home, repo.root)
    assert commit(got.cwd)
    assert (repo.root / ".git/index.lock").exists()


def test_a_worktree_that_was_deleted_comes_back_with_its_commits(home, repo):
    """And is set up again."""
    first = prepared(home, repo.root, setup=("touch made.o",))
    mine = commit(first.cwd)
    shutil.rmtree(first.cwd)
    got = prepared(home, repo.root, setup=("touch made.o",))
    assert git(got.cwd, "rev-parse", "HEAD") == mine
    assert (Path(got.cwd) / "made.o").exists()
    shutil.rmtree(got.cwd)
    repo.git("worktree", "prune")
    repo.git("branch", "-D", "fleet/fleet-1")
    got = prepared(home, repo.root)
    assert git(got.cwd, "rev-parse", "HEAD") == repo.git("rev-parse", "main")


def test_files_in_the_place_of_a_worktree_are_not_written_over(home, repo):
    """A person put the files there."""
    first = prepared(home, repo.root)
    (Path(first.cwd) / ".git").unlink()
    assert "holds files" in why(prepared(home, repo.root))


# Set-up.


def test_a_worktree_is_set_up_once_with_what_git_does_not_hold(home, repo):
    """From the project's own directory."""
    repo.put("app/.env", "SECRET=1\n")
    count = f"echo x >> {home.path}/count"
    copy = 'cp "$FLEET_PROJECT_DIR/.env" .'
    project = {"setup": [copy, count]}
    config = configured(home, {str(repo.root / "app"): project})
    setup = (copy, count)
    got = prepared(home, repo.root / "app", config=config, setup=setup)
    assert (Path(got.cwd) / ".env").read_text() == "SECRET=1\n"
    prepared(home, repo.root / "app", config=config, setup=setup)
    assert (home.path / "count").read_text() == "x\n"


def configured(home, projects):
    lines = "".join(
        f'[projects."{path}"]\nsetup = {body["setup"]!r}\n' for path, body in projects.items()
    )
    home.config.write_text(lines)
    return configuration.load(home.config)


def test_a_set_up_that_fails_says_why_and_is_tried_again_from_the_start(home, repo):
    """With the end of what it printed; all of it is kept."""
    setup = ("echo first >> log.o", "echo no network >&2; test -e ok.o")
    assert "no network" in why(prepared(home, repo.root, setup=setup))
    assert "ended with 1" in why(prepared(home, repo.root, setup=setup))
    place = home.worktrees / "fleet-1"
    (place / "ok.o").touch()
    assert isinstance(prepared(home, repo.root, setup=setup), Workspace)
    assert (place / "log.o").read_text() == "first\n" * 3
    kept = home.task("fleet-1") / "worktree/setup.failed.1/2/stderr"
    assert kept.read_text() == "no network\n"


def test_a_set_up_has_a_time_limit(home, repo):
    """It would hold a slot for ever."""
    rules = Policy(isolation="worktree", verify_time=0.5, setup=("sleep 60",))
    order = order_of(home, Config(), task_id="fleet-1", cwd=str(repo.root), policy=rules)
    assert "took longer than 0.5 s" in why(prepare(order, threading.Event()))


def test_a_stop_ends_the_set_up_and_the_next_run_begins_it_anew(home, repo, tmp_path):
    """Nothing of it runs on."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    setup = (f"echo $$ > {fifo}; test -e ok.o || exec sleep 60",)
    abandon = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(prepared, home, repo.root, abandon=abandon, setup=setup)
        pid = int(fifo.read_text())
        abandon.set()
        assert answer.result(10) is None
        assert not Path(f"/proc/{pid}").exists()
        (home.worktrees / "fleet-1/ok.o").touch()
        again = pool.submit(prepared, home, repo.root, setup=setup)
        fifo.read_text()
        assert isinstance(again.result(10), Workspace)


# The end.


def test_a_closed_tasks_worktree_goes_and_its_branch_stays(home, repo):
    """What was not committed is, by fleet, with the task's name."""
    got = prepared(home, repo.root)
    mine = commit(got.cwd)
    (Path(got.cwd) / "forgotten.txt").write_text("x\n")
    (Path(got.cwd) / "app/main.py").unlink()
    said = tidy(home, ["fleet-1"], [a_task()], NOW)
    assert "committed to fleet/fleet-1" in said[0]
    assert "worktree removed" in said[1]
    assert not Path(got.cwd).exists()
    assert repo.git("rev-parse", "fleet/fleet-1^") == mine
    assert "fleet-1 was closed" in repo.git("log", "-1", "--format=%s", "fleet/fleet-1")
    names = repo.git("ls-tree", "-r", "--name-only", "fleet/fleet-1").split()
    assert names == [".gitignore", "done.txt", "forgotten.txt"]
    assert "fleet-1" not in repo.git("worktree", "list")
    assert tidy(home, ["fleet-1"], [a_task()], NOW) == []


def test_a_clean_worktree_gets_no_commit_of_fleets(home, repo):
    """Only its directory goes."""
    got = prepared(home, repo.root)
    mine = commit(got.cwd)
    assert tidy(home, ["fleet-1"], [a_task()], NOW) == [
        "fleet-1: worktree removed, its work is on fleet/fleet-1"
    ]
    assert repo.git("rev-parse", "fleet/fleet-1") == mine


def test_ignored_files_stay_for_some_days(home, repo):
    """A build, a download, perhaps a result."""
    got = prepared(home, repo.root)
    (Path(got.cwd) / "result.o").write_text("x")
    assert tidy(home, ["fleet-1"], [a_task()], NOW + timedelta(days=2)) == []
    assert tidy(home, ["fleet-1"], [a_task()], NOW + timedelta(days=4))
    assert not Path(got.cwd).exists()


def detach(place):
    git(place, "checkout", "-q", "--detach")
    commit(place)


def conflict(place):
    commit(place, "one")
    git(place, "checkout", "-qb", "side", "HEAD~1")
    commit(place, "two")
    Path(git(place, "rev-parse", "--absolute-git-dir"), "MERGE_HEAD").write_text(
        git(place, "rev-parse", "HEAD") + "\n"
    )


def nested(place):
    Repo(Path(place) / "inner").commit(a="1")


@pytest.mark.parametrize("leave", [detach, conflict, nested])
def test_what_is_nowhere_else_is_never_removed(home, repo, leave):
    """A commit on no branch, a merge half done, a repository inside."""
    got = prepared(home, repo.root)
    leave(got.cwd)
    tidy(home, ["fleet-1"], [a_task()], NOW + timedelta(days=100))
    assert (Path(got.cwd) / ".git").exists()


@pytest.mark.parametrize("status", ["open", "blocked", "in_progress"])
def test_a_task_that_is_not_closed_keeps_its_worktree(home, repo, status):
    """Nothing is committed for it either."""
    got = prepared(home, repo.root)
    (Path(got.cwd) / "unfinished").write_text("x")
    assert tidy(home, ["fleet-1"], [a_task(status)], NOW + timedelta(days=100)) == []
    assert git(got.cwd, "status", "--porcelain") == "?? unfinished"


def test_a_worktree_is_not_taken_from_under_a_run(home, repo):
    """Closed from outside while its agent still works."""
    got = prepared(home, repo.root)
    with locked(home.task("fleet-1") / "run.lock"):
        assert tidy(home, ["fleet-1"], [a_task()], NOW) == []
    assert Path(got.cwd).exists()


@pytest.mark.parametrize("killed", [False, True])
def test_a_task_that_is_opened_again_goes_on_from_its_branch(home, repo, killed):
    """Also if a supervisor died just as it was removing the worktree."""
    got = prepared(home, repo.root)
    mine = commit(got.cwd)
    if killed:
        meant = structs.replace(worktree_json.read(home, "fleet-1"), removing=True)
        worktree_json.write(home, "fleet-1", meant)
        (Path(got.cwd) / ".git").unlink()
    else:
        tidy(home, ["fleet-1"], [a_task()], NOW)
    again = prepared(home, repo.root, setup=("touch made.o",))
    assert again.base.head == mine
    assert (Path(again.cwd) / "made.o").exists()


def test_a_removal_that_was_cut_off_is_finished(home, repo):
    """All that it held is on its branch: that was written down before."""
    got = prepared(home, repo.root)
    commit(got.cwd)
    meant = structs.replace(worktree_json.read(home, "fleet-1"), removing=True)
    worktree_json.write(home, "fleet-1", meant)
    (Path(got.cwd) / ".git").unlink()
    assert "worktree removed" in tidy(home, ["fleet-1"], [a_task()], NOW)[0]
    assert not Path(got.cwd).exists()
    assert "fleet-1" not in repo.git("worktree", "list")


def test_snapshots_go_some_days_after_the_task(home, repo):
    """And those of tasks that are no more; others stay."""
    for task_id in ("fleet-1", "fleet-2", "fleet-3"):
        order = order_of(home, Config(), task_id=task_id, cwd=str(repo.root), policy=Policy())
        prepare(order, threading.Event())
    tasks = [a_task(), a_task("open", task_id="fleet-2")]
    ids = ["fleet-1", "fleet-2", "fleet-3"]
    tidy(home, ids, tasks, NOW + timedelta(days=6))
    assert len(repo.git("for-each-ref", "refs/fleet/").splitlines()) == 3
    later = datetime.now(UTC) + timedelta(days=8)
    tidy(home, ids, tasks, later)
    assert repo.git("for-each-ref", "--format=%(refname)", "refs/fleet/") == "refs/fleet/fleet-2/1"
    assert [each.task_id for each in snapshot_index.all_entries(home)] == ["fleet-2"]
    assert not (home.task("fleet-1") / INDEX).exists()


def test_a_task_with_many_runs_keeps_the_snapshots_of_the_last(home, repo):
    """So a task that fails every hour does not fill the repository."""
    for number in range(1, 13):
        (home.task("fleet-1") / "runs" / str(number)).mkdir(parents=True)
        order = order_of(home, Config(), task_id="fleet-1", cwd=str(repo.root), policy=Policy())
        prepare(order, threading.Event())
    refs = repo.git("for-each-ref", "--format=%(refname:lstrip=3)", "refs/fleet/").split()
    assert sorted(map(int, refs)) == list(range(4, 14))
