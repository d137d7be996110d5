"""What closed tasks leave goes, and nothing with it that is nowhere else."""

import shutil
import threading
from collections import deque
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from fleet.config import Config
from fleet.files.file_lock import locked
from fleet.git import snapshot_index
from fleet.git.clone import clone_place
from fleet.git.snapshot_names import INDEX
from fleet.runs.outcome_history import write_ending
from fleet.runs.run_directory import RunSpec, new_run
from fleet.schemas import Finished, Policy
from fleet.supervisor.cleanup import Cleanup, collect, tidy
from fleet.supervisor.start.workspace import order_of, prepare
from tests.builders import NOW, an_ending
from tests.clones import a_task, commit, git, prepared
from tests.repos import Repo


@pytest.fixture
def repo(repo):
    repo.commit(app__main_dot_py="print()\n", _dot_gitignore="*.o\n")
    return repo


def test_a_closed_tasks_clone_goes_and_its_branch_stays(home, repo):
    """What was not committed is, by fleet, with the task's name; nothing committed goes."""
    got = prepared(home, repo.root)
    mine = commit(got.cwd)
    (Path(got.cwd) / "forgotten.txt").write_text("x\n")
    (Path(got.cwd) / "app/main.py").unlink()
    said = tidy(home, ["fleet-1"], [a_task()], NOW)
    assert "committed to fleet/fleet-1" in said[0]
    assert "clone removed" in said[1]
    assert not Path(got.cwd).exists()
    assert repo.git("rev-parse", "fleet/fleet-1^") == mine
    assert repo.git("log", "-1", "--format=%s", "fleet/fleet-1") == "the title"
    names = repo.git("ls-tree", "-r", "--name-only", "fleet/fleet-1").split()
    assert names == [".gitignore", "app/main.py", "done.txt", "forgotten.txt"]
    assert tidy(home, ["fleet-1"], [a_task()], NOW) == []


def test_a_clean_clone_gets_no_commit_of_fleets(home, repo):
    """Only its directory goes."""
    got = prepared(home, repo.root)
    mine = commit(got.cwd)
    assert tidy(home, ["fleet-1"], [a_task()], NOW) == [
        "fleet-1: clone removed, its work is on fleet/fleet-1"
    ]
    assert repo.git("rev-parse", "fleet/fleet-1") == mine


def test_a_task_that_changed_nothing_gets_no_branch(home, repo):
    """A person would look there in vain for its work."""
    got = prepared(home, repo.root)
    assert collect(home, "fleet-1") == []
    said = tidy(home, ["fleet-1"], [a_task()], NOW)
    assert said == ["fleet-1: clone removed, it changed nothing"]
    assert not Path(got.cwd).exists()
    assert repo.git("branch", "--list", "fleet/*") == ""


def test_ignored_files_stay_for_some_days(home, repo):
    """A build, a download, perhaps a result."""
    got = prepared(home, repo.root)
    (Path(got.cwd) / "result.o").write_text("x")
    commit(got.cwd)
    (said,) = tidy(home, ["fleet-1"], [a_task()], NOW + timedelta(days=2))
    assert f"its work is on fleet/fleet-1; its clone stays at {got.cwd}" in said
    assert "files that git ignores, and is kept for 3 days" in said
    again = tidy(home, ["fleet-1"], [a_task()], NOW + timedelta(days=2))
    assert again == [], "each supervisor would say it again at its start"
    assert tidy(home, ["fleet-1"], [a_task()], NOW + timedelta(days=4))
    assert not Path(got.cwd).exists()


@pytest.mark.parametrize("status", ["open", "blocked", "in_progress"])
def test_a_task_that_is_not_closed_keeps_its_clone(home, repo, status):
    """Nothing is committed for it either."""
    got = prepared(home, repo.root)
    (Path(got.cwd) / "unfinished").write_text("x")
    assert tidy(home, ["fleet-1"], [a_task(status)], NOW + timedelta(days=100)) == []
    assert git(got.cwd, "status", "--porcelain") == "?? unfinished"


def test_a_clone_is_not_taken_from_under_a_run(home, repo):
    """Closed from outside while its agent still works."""
    got = prepared(home, repo.root)
    with locked(home.task("fleet-1") / "run.lock"):
        assert tidy(home, ["fleet-1"], [a_task()], NOW) == []
    assert Path(got.cwd).exists()


def test_a_task_that_is_opened_again_goes_on_from_its_branch(home, repo):
    """In a new clone, which is set up."""
    got = prepared(home, repo.root)
    mine = commit(got.cwd)
    tidy(home, ["fleet-1"], [a_task()], NOW)
    again = prepared(home, repo.root, setup=("touch made.o",))
    assert again.base.head == mine
    assert (Path(again.cwd) / "made.o").exists()


def test_a_removal_that_was_cut_off_is_finished(home, repo):
    """What a process moved into the trash had its work brought home before."""
    got = prepared(home, repo.root)
    commit(got.cwd)
    trash = home.worktrees / ".trash"
    trash.mkdir()
    Path(got.cwd).rename(trash / "fleet-1.abc")
    (trash / "fleet-1.abc/closed").mkdir(mode=0o500)
    clone_place.empty_trash(home)
    assert list(trash.iterdir()) == []


def test_no_link_is_followed_when_a_clone_is_removed(home, repo, tmp_path):
    """Neither one inside of it nor one in its place."""
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "file").write_text("x")
    got = prepared(home, repo.root)
    (Path(got.cwd) / "way").symlink_to(victim)
    assert "clone removed" in tidy(home, ["fleet-1"], [a_task()], NOW)[-1]
    home.clone("fleet-1").symlink_to(victim)
    assert "is no directory that fleet made" in tidy(home, ["fleet-1"], [a_task()], NOW)[0]
    assert (victim / "file").exists()


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


def test_the_refs_of_a_clone_go_some_days_after_the_task_and_its_branch_stays(home, repo):
    """As long as the clone is there they stay: it reads what they hold."""
    got = prepared(home, repo.root)
    commit(got.cwd)
    Repo(Path(got.cwd) / "inner").commit(a="1")
    now = datetime.now(UTC)
    tidy(home, ["fleet-1"], [a_task()], now + timedelta(days=80))
    assert repo.git("rev-parse", "--verify", "refs/fleet/fleet-1/base")
    shutil.rmtree(Path(got.cwd) / "inner")
    tidy(home, ["fleet-1"], [a_task()], now + timedelta(days=6))
    assert not Path(got.cwd).exists()
    assert repo.git("rev-parse", "--verify", "refs/fleet/fleet-1/tip")
    tidy(home, ["fleet-1"], [a_task()], now + timedelta(days=8))
    assert repo.git("for-each-ref", "refs/fleet/") == ""
    assert repo.git("show", "fleet/fleet-1:done.txt") == "done"


def test_a_task_with_many_runs_keeps_the_snapshots_of_the_last(home, repo):
    """So a task that fails every hour does not fill the repository."""
    for number in range(1, 13):
        (home.task("fleet-1") / "runs" / str(number)).mkdir(parents=True)
        order = order_of(home, Config(), task_id="fleet-1", cwd=str(repo.root), policy=Policy())
        prepare(order, threading.Event())
    refs = repo.git("for-each-ref", "--format=%(refname:lstrip=3)", "refs/fleet/").split()
    assert sorted(map(int, refs)) == list(range(4, 14))


def test_work_is_brought_home_by_one_thread_at_a_time(home, repo):
    """A task that is released twice in a moment was said to have its work in its clone only."""
    prepared(home, repo.root)
    jobs = deque()
    state = SimpleNamespace(
        home=home, pool=SimpleNamespace(submit=lambda do, then: jobs.append((do, then)))
    )
    cleanup = Cleanup(state)
    for _ in range(3):
        cleanup.after_run("fleet-1", closed=False)
    assert (len(jobs), cleanup.busy) == (1, 1)
    do, then = jobs.popleft()
    then(do())
    assert (len(jobs), cleanup.busy) == (1, 1), "what came meanwhile is looked at once more"
    do, then = jobs.popleft()
    then(do())
    assert (len(jobs), cleanup.busy) == (0, 0)


@pytest.mark.parametrize(
    ("status", "days", "ends", "stays"),
    [
        ("open", 0, True, False),
        ("open", 0, False, True),
        ("closed", 0, False, True),
        ("closed", 2, False, False),
    ],
)
def test_a_checkout_that_a_killed_supervisor_left_goes(home, status, days, ends, stays):
    """Unless its run may still be verified there by the next one."""
    run = new_run(home.task("fleet-1"), RunSpec(argv=("x",), cwd="/"))
    checkout = run.path / "checkout/0123456789abcdef"
    checkout.mkdir(parents=True)
    (checkout / "file").touch(mode=0o400)
    if ends:
        write_ending(run, an_ending(Finished()))
    said = tidy(home, ["fleet-1"], [a_task(status)], NOW + timedelta(days=days))
    assert checkout.exists() is stays
    told = [] if stays else ["fleet-1: the checkout of run 1 removed, which was left"]
    assert said == told
