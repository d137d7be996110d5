"""One branch and what waits for it: what lands, what goes back, what a person is asked."""

import os
import signal
import subprocess
import threading
import time
from datetime import timedelta
from pathlib import Path

import pytest

from fleet.errors import FleetError, WriteBrokeOff
from fleet.git import repository
from fleet.home import landing_json
from fleet.home.landing_json import LandedWork
from fleet.landing.fold.verify_fold import drop_spares
from fleet.landing.land_target import lander_lock
from fleet.landing.settle_landing import LandingSettler
from fleet.landing.train_store import Member, Train, TrainPlace
from fleet.landing.waiting_work import survey, target_key
from fleet.processes import keeper_client
from fleet.queue.protocol import Draft
from fleet.queue.sql.sql_queue import SqlQueue
from fleet.runs.run_directory import RunSpec, new_run
from fleet.schemas.task_state import row_state
from fleet.schemas.waits import OnLine, ToLand
from tests.conftest import need
from tests.landings import LandHome
from tests.repos import ENV, Repo


@pytest.fixture
def place(tmp_path):
    place = LandHome(tmp_path)
    place.repo.commit(README="read me\n", **{"part-0": "zero\n"})
    yield place
    place.queue.close()


def is_green(place, commit, tmp_path):
    """Check a value of the branch again, from nothing."""
    fresh = tmp_path / f"fresh-{commit[:12]}"
    subprocess.run(
        ["git", "clone", "-q", str(place.repo.root), str(fresh)], check=True, env=ENV, timeout=30
    )
    subprocess.run(["git", "checkout", "-q", commit], cwd=fresh, check=True, env=ENV, timeout=30)
    done = subprocess.run(["sh", "-c", place.verify], cwd=fresh, check=False, timeout=30)
    return done.returncode == 0


def test_what_a_run_verified_lands_without_being_verified_again(place):
    """Nothing landed since its clone was made: the fold has the tree that passed."""
    task = place.accepted("Add one", part_1="one\n")
    (report,) = place.land()
    assert report.closed == (task,)
    assert place.runs() == 0
    assert place.shown("part-1") == "one"
    landed = place.landing(task).landed
    assert place.repo.git("rev-parse", "main") == landed.commit == landed.line_after
    assert landed.parents == (landed.line_before, place.landing(task).commit)
    assert landed.proof == "ancestry"
    said = place.repo.git("log", "-1", "--format=%s%n%b%an").splitlines()
    assert said == [f"Add one ({task})", f"Fleet-Task: {task}", "user"]
    assert place.repo.git("log", "-1", "--format=%s", "main^2") == "Add one", "the agent's own work"
    assert (place.status(task), place.queue.get(task).close_reason) == (
        "closed",
        f"Add one is done [landed on main as {landed.commit[:12]}]",
    )
    assert (place.repo.root / "part-1").read_text() == "one\n", "the clean checkout has followed"
    assert place.repo.git("status", "--porcelain") == ""


def test_a_close_whose_answer_was_lost_is_told_by_the_next_lander(place, monkeypatch):
    """The clone of a closed task goes, and its epic is closed: the loop has to hear of it."""
    task = place.accepted("Add one", part_1="one\n")
    close = SqlQueue.close_task

    def breaks_off(*args, **more):
        close(*args, **more)
        raise WriteBrokeOff("the connection broke during a write")

    with monkeypatch.context() as patch:
        patch.setattr(SqlQueue, "close_task", breaks_off)
        reports = place.land(trains=1)
    assert (place.status(task), place.state(task)) == ("closed", "landed")
    assert [report.closed for report in reports] == [()]
    (report,) = place.land()
    assert report.closed == (task,)
    assert place.land() == []


def test_a_batch_is_verified_once_and_its_last_value_is_the_only_one(place, tmp_path):
    """Four candidates: one verification, and one move of the branch."""
    tasks = [place.accepted(f"Add {n}", **{f"part_{n}": f"{n}\n"}) for n in range(1, 5)]
    place.land()
    assert [place.status(task) for task in tasks] == ["closed"] * 4
    assert place.runs() == 1
    assert len(place.values()) == 2
    assert all(is_green(place, value, tmp_path) for value in place.values())


def test_a_conflict_goes_back_with_its_files_and_what_landed_since(place):
    """The others of the batch land; the task is open again, and its tries are counted."""
    first = place.accepted("Say one", part_0="one\n")
    second = place.accepted("Say two", part_0="two\n")
    third = place.accepted("Say three", part_3="three\n")
    place.land()
    assert [place.status(each) for each in (first, second, third)] == ["closed", "open", "closed"]
    landing = place.landing(second)
    assert (landing.state, landing.why_back, landing.tries) == ("back", "conflict", 1)
    assert landing.conflict == ("part-0",)
    assert "sent back to its agent (try 1): it conflicts with main in part-0" in (
        place.queue.get(second).notes
    )
    assert place.shown("part-0") == "one"


def test_what_fails_only_together_goes_back_with_what_was_printed(place, tmp_path):
    """Two files with one word: each passed by itself, and the second is told why it does not."""
    tasks = [place.accepted(f"Add {n}", **{f"part_{n}": f"{n % 3}\n"}) for n in (1, 2, 4)]
    place.land()
    assert [place.status(each) for each in tasks] == ["closed", "closed", "open"]
    landing = place.landing(tasks[2])
    assert (landing.why_back, landing.against) == (
        "verify",
        (
            LandedWork(task_id=tasks[0], title="Add 1"),
            LandedWork(task_id=tasks[1], title="Add 2"),
        ),
    )
    assert "(ended with 1)" in landing.output
    assert all(is_green(place, value, tmp_path) for value in place.values())


def test_after_land_tries_a_person_is_asked(place):
    """Both sides are named: the files, and what landed."""
    first = place.accepted("Say one", part_0="one\n")
    second = place.accepted("Say two", part_0="two\n", tries=0)
    *_, report = place.land()
    assert report.asks == (second,)
    assert (place.state(second), place.status(second)) == ("asks", "blocked")
    landing = place.landing(second)
    assert f"conflicts with main in part-0 (since then {first} landed)" in landing.why
    assert landing.conflict == ("part-0",)


@pytest.mark.parametrize(
    ("wishes", "why"),
    [({"mode": "ask"}, "land = ask"), ({"protect": ("part-*",)}, "protected: part-1")],
)
def test_a_person_is_asked_before_it_lands(place, wishes, why):
    """Where the settings say so; an approval is kept in the receipt."""
    task = place.accepted("Add one", part_1="one\n", **wishes)
    (report,) = place.land()
    assert report.asks == (task,)
    assert why in place.landing(task).why
    assert len(place.values()) == 1
    place.land()
    assert place.state(task) == "asks"
    place.approve(task)
    place.land()
    assert (place.status(task), place.landing(task).approved_by) == ("closed", "ann")


def test_work_that_no_command_checks_lands_unchecked(place):
    """As it is closed without landing; the reason says that nothing proves it."""
    task = place.accepted("Add one", part_1="one\n", verify=(), checked=False)
    place.land()
    assert "unchecked" in place.queue.get(task).close_reason
    assert place.landing(task).landed.checks == ()


@pytest.mark.parametrize("renamed", [False, True])
def test_a_branch_that_is_gone_asks_and_nothing_is_lost(place, renamed):
    """Deleted or renamed. The work is on the task's own branch; it lands once the branch is there
    again.
    """
    task = place.accepted("Add one", part_1="one\n")
    if renamed:
        place.repo.git("branch", "-m", "main", "other")
    else:
        place.repo.git("checkout", "-q", "-b", "other")
        place.repo.git("branch", "-D", "main")
    place.land()
    assert place.state(task) == "asks"
    assert "has no branch main with a commit any more" in place.landing(task).why
    assert f"fleet land {task}" in place.landing(task).why
    assert place.shown("part-1", f"fleet/{task}") == "one"
    place.repo.git("branch", "main", "other")
    place.approve(task)
    place.land()
    assert (place.status(task), place.shown("part-1")) == ("closed", "one")


def test_a_branch_that_was_set_back_gets_what_waits_on_its_new_value(place):
    """A person rewrote the branch: the candidate is merged with what it has now."""
    place.repo.commit("gone", **{"part-8": "eight\n"})
    task = place.accepted("Add one", part_1="one\n")
    place.repo.git("reset", "-q", "--hard", "HEAD~")
    place.repo.commit("other", **{"part-9": "nine\n"})
    place.land()
    assert place.status(task) == "closed"
    assert place.shown("part-9") == "nine"


def test_only_the_accepted_tree_lands(place):
    """What the clone came to hold since was not verified, whoever wrote it."""
    task = place.accepted("Add one", part_1="one\n")
    clone = place.home.clone(task)
    (clone / "part-1").write_text("bad\n")
    (clone / "part-2").write_text("more\n")
    place.land()
    assert place.status(task) == "closed"
    assert place.shown("part-1") == "one"
    assert place.repo.git("ls-tree", "--name-only", "main", "part-2") == ""


def test_a_branch_of_a_task_that_was_rewritten_since_has_no_say(place):
    """The commit that was verified lands: what stands on `fleet/<id>` by now was not verified."""
    task = place.accepted("Add one", part_1="one\n", mode="ask")
    place.land()
    verified = place.landing(task).commit
    place.repo.git("checkout", "-q", f"fleet/{task}")
    place.repo.commit("another hand", **{"part-1": "bad\n", "part-2": "more\n"})
    place.repo.git("commit", "-q", "--amend", "-m", "rewritten")
    place.repo.git("checkout", "-q", "main")
    place.approve(task)
    place.land()
    assert (place.status(task), place.shown("part-1")) == ("closed", "one")
    assert place.repo.git("rev-parse", "main^2") == verified
    assert place.repo.git("log", "-1", "--format=%s", f"fleet/{task}") == "rewritten"


def test_a_candidate_whose_commit_is_gone_lands_nothing(place):
    """A person threw it away with its branch: the branch stays where it is, and that is told."""
    task = place.accepted("Add one", part_1="one\n", mode="ask")
    place.land()
    commit = place.landing(task).commit
    refs = place.repo.git("for-each-ref", "--format=%(refname)", f"--points-at={commit}").split()
    for ref in refs:
        place.repo.git("update-ref", "-d", ref)
    for object_ in (commit, place.landing(task).tree):
        for store in (place.repo.root / ".git", *place.home.path.glob("repositories/*.git")):
            (store / "objects" / object_[:2] / object_[2:]).unlink(missing_ok=True)
    for pack in place.repo.root.glob(".git/objects/pack/*"):
        pack.unlink()
    before = place.repo.git("rev-parse", "main")
    place.approve(task)
    (report,) = place.land(trains=1)
    assert place.repo.git("rev-parse", "main") == before
    assert place.status(task) == "blocked"
    assert commit in (report.problem + place.landing(task).why)


def test_three_checkouts_of_one_branch_follow_together_or_not_at_all(place, tmp_path):
    """One of them has changes that overlap: all three are left, and move once it has none."""
    for name in ("second", "third"):
        place.repo.git("worktree", "add", "-q", "--force", str(tmp_path / name), "main")
    trees = [place.repo.root, tmp_path / "second", tmp_path / "third"]
    (trees[2] / "README").write_text("a person is at work\n")
    task = place.accepted("Say one", part_0="one\n", files={"README": "read it\n"})
    place.land()
    assert (place.status(task), place.state(task)) == ("blocked", "ahead")
    assert [(tree / "part-0").read_text() for tree in trees] == ["zero\n"] * 3
    assert (trees[2] / "README").read_text() == "a person is at work\n"
    subprocess.run(["git", "checkout", "-q", "README"], cwd=trees[2], check=True, env=ENV)
    place.land()
    assert [(tree / "part-0").read_text() for tree in trees] == ["one\n"] * 3
    assert place.status(task) == "closed"
    for tree in trees:
        status = ["git", "status", "--porcelain"]
        done = subprocess.run(status, cwd=tree, check=True, env=ENV, capture_output=True, text=True)
        assert done.stdout == ""


def test_a_record_that_fleet_did_not_write_lands_nothing(place):
    """An agent that approves its own work is told of to a person."""
    task = place.accepted("Add one", part_1="one\n", mode="ask")
    place.land()
    path = place.home.task(task) / landing_json.FILE
    path.write_text(path.read_text().replace('"asks"', '"waiting"'))
    assert place.land() == []
    assert (place.status(task), len(place.values())) == ("blocked", 1)


def test_a_later_run_makes_a_landing_stale(place):
    """A task that was tried again, and is blocked for that, does not land its older work."""
    task = place.accepted("Add one", part_1="one\n")
    spec = RunSpec(id="me.x.2", argv=("x",), cwd=str(place.home.clone(task)))
    new_run(place.home.task(task), spec)
    place.land()
    assert (place.status(task), len(place.values())) == ("blocked", 1)


def test_what_a_person_closed_meanwhile_is_left_alone(place):
    """Nothing lands for a task that is closed, and its mark goes."""
    task = place.accepted("Add one", part_1="one\n")
    place.queue.close_task(place.queue.get(task), by="ann", reason="not wanted")
    place.land()
    assert len(place.values()) == 1
    assert landing_json.unlanded(place.home) == []


def test_a_squash_leaves_no_merge(place):
    """One parent each, and the same work."""
    tasks = [place.accepted(f"Add {n}", **{f"part_{n}": f"{n}\n"}, how="squash") for n in (1, 2)]
    place.land()
    assert [place.status(task) for task in tasks] == ["closed", "closed"]
    assert place.repo.git("rev-list", "--min-parents=2", "main") == ""
    assert place.repo.git("log", "-2", "--format=%s").splitlines() == ["Add 2", "Add 1"]
    assert [place.shown("part-1"), place.shown("part-2")] == ["1", "2"]
    # The first one's commit lies on the line as it is, and becomes no other one.
    assert [place.landing(task).landed.proof for task in tasks] == ["ancestry", "patch"]


def test_a_dirty_checkout_is_left_byte_for_byte(place):
    """The line goes ahead; the task is to land, and names checkout and file. It lands by itself."""
    mine = place.repo.put("part-0", "unfinished\n")
    index = Path(place.repo.root, ".git/index").read_bytes()
    task = place.accepted("Say one", part_0="one\n")
    report, *_ = place.land()
    words = (
        f"main is checked out at {place.repo.root} with changes to part-0: commit or stash them;"
        " fleet lands by itself then"
    )
    assert (place.status(task), place.state(task)) == ("blocked", "ahead")
    assert place.landing(task).why == report.end.behind == words
    assert report.said == ((task, f"to land: {words}"),)
    assert row_state(place.queue.get(task)).state == "to land"
    assert mine.read_text() == "unfinished\n"
    assert Path(place.repo.root, ".git/index").read_bytes() == index
    assert len(place.values()) == 1
    assert place.shown("part-0", "refs/fleet/land/main") == "one"
    second = place.accepted("Add two", part_2="two\n")
    place.land()
    assert place.state(second) == "ahead"
    assert place.land()[0].said == (), "told once"
    place.repo.git("checkout", "-q", "--", "part-0")
    place.land()
    assert [place.status(each) for each in (task, second)] == ["closed", "closed"]
    assert landing_json.unlanded(place.home) == []
    assert [place.shown(f"part-{n}") for n in (0, 2)] == ["one", "two"]
    assert mine.read_text() == "one\n"


def test_dependents_of_work_that_is_ahead_of_its_branch_begin(place):
    """They build on the line, which has it; what failed to land holds its dependents up."""
    place.repo.put("part-0", "unfinished\n")
    task = place.accepted("Say one", part_0="one\n")
    later = place.queue.add(Draft(title="Later", depends_on=(("blocks", task),)))
    assert place.queue.claim("me", ttl=timedelta(hours=1)) == []
    place.land()
    (lease,) = place.queue.claim("me", ttl=timedelta(hours=1))
    assert lease.task.id == later.id
    assert place.queue.get(task).waits == OnLine(into="main")


def test_a_line_that_a_person_deleted_is_folded_again(place):
    """The work is on nothing any more: it waits for the next train, and lands."""
    place.repo.put("part-0", "unfinished\n")
    task = place.accepted("Say one", part_0="one\n")
    place.land()
    place.repo.git("update-ref", "-d", "refs/fleet/land/main")
    place.repo.git("checkout", "-q", "--", "part-0")
    place.land(trains=1)
    assert place.state(task) == "waiting"
    place.land()
    assert place.status(task) == "closed"
    assert place.shown("part-0") == "one"


def test_a_queue_that_was_not_told_of_the_line_is_told_by_the_next_lander(place, monkeypatch):
    """The lander was killed after it wrote the record."""
    place.repo.put("part-0", "unfinished\n")
    task = place.accepted("Say one", part_0="one\n")
    with monkeypatch.context() as patched:
        patched.setattr(LandingSettler, "tell_line", lambda self, task: None)
        place.land()
    assert place.queue.get(task).waits == ToLand(into="main")
    place.land()
    assert place.queue.get(task).waits == OnLine(into="main")


def test_a_task_that_a_person_closed_while_it_was_ahead_is_to_land_and_lands(place):
    """The branch gets its work all the same, and the record says so before and after."""
    place.repo.put("part-0", "unfinished\n")
    task = place.accepted("Say one", part_0="one\n")
    place.land()
    place.queue.close_task(place.queue.get(task), by="ann", reason="enough")
    place.land()
    assert place.state(task) == "ahead"
    assert landing_json.unlanded(place.home) == [task], "it is still named"
    place.repo.git("checkout", "-q", "--", "part-0")
    said = [each for report in place.land() for each in report.said]
    landed = place.landing(task)
    assert landed.state == "landed"
    assert said == [(task, f"{landed.words()}; it was closed before")]
    assert place.queue.get(task).close_reason == "enough"
    assert place.shown("part-0") == "one"
    assert landing_json.unlanded(place.home) == []


def test_a_closed_task_whose_line_a_person_deleted_is_not_folded_again(place):
    """A person closed it, and nothing has its work: nothing lands, and nothing is opened."""
    place.repo.put("part-0", "unfinished\n")
    task = place.accepted("Say one", part_0="one\n")
    place.land()
    place.queue.close_task(place.queue.get(task), by="ann", reason="enough")
    place.repo.git("update-ref", "-d", "refs/fleet/land/main")
    place.repo.git("checkout", "-q", "--", "part-0")
    place.land()
    assert place.queue.get(task).close_reason == "enough"
    assert place.shown("part-0") == "zero"
    assert landing_json.unlanded(place.home) == []


def test_a_branch_that_a_person_moved_beside_its_line_is_merged_first(place):
    """Their commit and what had landed ahead: the next train has both, verified."""
    mine = place.repo.put("part-0", "unfinished\n")
    note = place.repo.put("note", "mine\n")
    first = place.accepted("Add one", part_1="one\n", files={"note": "theirs\n"})
    place.land()
    assert place.state(first) == "ahead"
    note.unlink()
    place.repo.git("commit", "-q", "-am", "finished")
    task = place.accepted("Add two", part_2="two\n")
    place.land()
    assert place.status(task) == "closed"
    assert [place.shown(f"part-{n}") for n in (0, 1, 2)] == ["unfinished", "one", "two"]
    assert mine.read_text() == "unfinished\n"


def test_commands_that_cannot_be_run_send_nothing_back(place, monkeypatch):
    """Through no fault of the work: a person is asked, and it lands once that is mended."""
    place.accepted("Add one", part_1="one\n")
    task = place.accepted("Add two", part_2="two\n")
    real = keeper_client.start_keeper

    def broken(*_, **__):
        raise FleetError("no keeper can be started")

    monkeypatch.setattr(keeper_client, "start_keeper", broken)
    place.land()
    assert place.state(task) == "asks"
    assert "no keeper can be started" in place.landing(task).why
    monkeypatch.setattr(keeper_client, "start_keeper", real)
    for each in landing_json.unlanded(place.home):
        place.approve(each)
    place.land()
    assert place.status(task) == "closed"


def test_two_homes_land_on_one_repository(place, tmp_path):
    """Each does its part at once: nothing is lost, and every value of the branch passes."""
    other = LandHome(tmp_path, place.repo, name="other")
    tasks = {}
    for number in range(1, 7):
        where = place if number % 2 else other
        tasks[where.accepted(f"Add {number}", **{f"part_{number}": f"{number}\n"})] = where
    threads = [threading.Thread(target=_land_all, args=(each,)) for each in (place, other)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [where.status(task) for task, where in tasks.items()] == ["closed"] * 6
    assert place.repo.git("ls-tree", "--name-only", "main", *(f"part-{n}" for n in range(1, 7)))
    assert all(is_green(place, value, tmp_path) for value in place.values())
    other.queue.close()


def _land_all(place):
    """Land until all is landed: another lander may hold the lock."""
    end = time.monotonic() + 60
    while landing_json.unlanded(place.home) and time.monotonic() < end:
        place.land()


def _hooks(repo, body):
    names = ("reference-transaction", "post-checkout", "pre-merge-commit", "post-index-change")
    for name in (*names, "update", "pre-commit", "post-merge", "pre-push"):
        hook = repo.root / ".git/hooks" / name
        hook.write_text(f"#!/bin/sh\n{body}\n")
        hook.chmod(0o755)


@pytest.mark.parametrize("body", ["exit 1", "sleep 600"])
def test_hooks_of_the_project_take_no_part(place, body):
    """They may fail or hang: nothing of fleet's starts them."""
    task = place.accepted("Add one", part_1="one\n")
    _hooks(place.repo, body)
    place.land()
    assert (place.status(task), place.state(task)) == ("closed", "landed")


def test_odd_trees_land_as_they_are(place):
    """Submodules, pointers of git-lfs, links, executable files, and a rename of case alone."""
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "a" * 64 + "\nsize 1\n"
    place.repo.put("Name", "x\n")
    place.repo.put(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\nx merge=evil\n")
    place.repo.put("big.bin", pointer)
    place.repo.commit("odd")
    place.repo.git("update-index", "--add", "--cacheinfo", f"160000,{'b' * 40},module")
    place.repo.git("commit", "-q", "-m", "a submodule")
    (place.repo.root / "module").mkdir(exist_ok=True)
    one = place.accepted("Rename", files={"Name": None, "name": "x\n", "part-1": "1\n"})
    two = place.accepted("Point", files={"big.bin": pointer.replace("a", "c"), "part-2": "2\n"})
    place.land()
    assert [place.status(each) for each in (one, two)] == ["closed", "closed"]
    tree = place.repo.git("ls-tree", "-r", "--name-only", "refs/heads/main").splitlines()
    line = place.repo.git("for-each-ref", "--format=%(refname)", "refs/fleet/land")
    if line:  # a filter on a changed path: the checkout is left, and told
        tree = place.repo.git("ls-tree", "-r", "--name-only", line).splitlines()
    assert "name" in tree
    assert "Name" not in tree
    assert "module" in tree


def test_a_shallow_repository_lands(tmp_path):
    """Its history is cut off below the commits that count."""
    source = Repo(tmp_path / "source")
    for number in range(3):
        source.commit(f"commit {number}", **{"part-0": f"{number}\n"})
    root = tmp_path / "project"
    url = f"file://{source.root}"
    clone = ["git", "clone", "-q", "--depth", "1", url, str(root)]
    subprocess.run(clone, check=True, env=ENV, timeout=30)
    place = LandHome(tmp_path, Repo(root))
    tasks = [place.accepted(f"Add {n}", **{f"part_{n}": f"{n}x\n"}) for n in (1, 2)]
    place.land()
    assert [place.status(task) for task in tasks] == ["closed", "closed"]
    place.queue.close()


def test_work_without_a_branch_asks_for_one(place):
    """No branch was checked out when the task was made, nor when its clone was."""
    place.repo.git("checkout", "-q", "--detach")
    task = place.accepted("Add one", part_1="one\n", base="")
    place.land()
    assert place.state(task) == "asks"
    assert "no branch was checked out" in place.landing(task).why
    assert place.shown("part-1", f"fleet/{task}") == "one"


def test_a_change_of_nothing_has_nothing_to_land(place):
    """Such a task is closed at once: there is no landing to wait for."""
    with pytest.raises(AssertionError):
        place.accepted("Do nothing")
    assert landing_json.unlanded(place.home) == []


def test_a_journal_alone_lands_nothing(place):
    """train.json says what was meant; what was done is proved by the line."""
    task = place.accepted("Add one", part_1="one\n", mode="ask")
    place.land()
    head = place.repo.git("rev-parse", "main")
    commit = place.landing(task).commit
    member = Member(task_id=task, candidate=commit, commit=head, parents=(), tree="")
    store = TrainPlace(place.home, str(place.repo.root / ".git"), "main")
    store.mean(Train(branch="main", old=head, new=head, tree="", members=(member,)))
    other = place.accepted("Add two", part_2="two\n")
    place.land()
    assert (place.state(task), place.status(other)) == ("asks", "closed")
    assert store.meant() is None


def test_a_fold_is_verified_in_the_box(place):
    """Where runs have one: the commands read their checkout and git, and nothing of the home."""
    need("bwrap")
    hidden = f"! test -e {place.home.config} && ! test -e {place.home.tasks}"
    look = f"test -e part-0 && git log -1 --format=%s | grep -q Add && {hidden}"
    wishes = {"verify": (look,), "setup": ("touch made-fit",), "sandbox": "workspace"}
    tasks = [place.accepted(f"Add {n}", **{f"part_{n}": f"{n}\n"}, **wishes) for n in (1, 2)]
    place.land()
    assert [place.status(each) for each in tasks] == ["closed", "closed"]
    assert place.landing(tasks[1]).landed.checks == (f".: {look}",)
    own = (f"ls {place.home.tasks}",)
    refused = place.accepted("Add 3", part_3="3\n", verify=own, own=own, sandbox="workspace",
                             checked=False)  # fmt: skip
    place.land()
    assert place.state(refused) == "back"


def test_each_command_runs_in_the_directory_of_its_task(place):
    """Tasks of two directories of one repository: what lands passes the commands of both."""
    place.repo.commit("two", one__x="x\n", two__y="y\n")
    one = place.accepted("In one", inside="one", files={"a": "a\n"}, verify=("test -e x",))
    two = place.accepted("In two", inside="two", files={"b": "b\n"}, verify=("test -e y",))
    place.land()
    assert [place.status(each) for each in (one, two)] == ["closed", "closed"]
    assert place.landing(two).landed.checks == ("one: test -e x", "two: test -e y")
    assert [place.shown("one/a"), place.shown("two/b")] == ["a", "b"]
    wrong = place.accepted("In one", inside="one", files={"x": None}, verify=("test ! -e x",))
    own = ("test -e ../one/x",)
    last = place.accepted("In two", inside="two", files={"c": "c\n"}, verify=own, own=own)
    place.land()
    assert (place.status(wrong), place.state(last)) == ("closed", "back")


def test_a_task_that_may_not_be_closed_is_tried_again(place):
    """Its work has landed; what keeps it open is told, and the mark stays until it is closed."""
    task = place.accepted("Add one", part_1="one\n")
    child = place.queue.add(Draft(title="a part", parent=task))
    (report,) = place.land()
    assert "cannot be closed" in report.problem
    assert (place.state(task), place.status(task)) == ("landed", "blocked")
    place.queue.close_task(place.queue.get(child.id), by="ann", reason="done")
    place.land()
    assert place.status(task) == "closed"
    assert len(place.values()) == 2


def test_two_working_trees_of_a_repository_have_one_job_a_branch(place, tmp_path):
    """The lander never stands in its own way, and each task's commands find their directory."""
    place.repo.commit("a directory", sub__x="x\n")
    other = tmp_path / "other"
    place.repo.git("worktree", "add", "-q", "-b", "elsewhere", str(other))
    one = place.accepted("Add 1", part_1="1\n")
    two = place.accepted("Add 2", inside=str(other / "sub"), files={"y": "y\n"},
                         verify=("test -e x",))  # fmt: skip
    (key,) = survey(place.home).work
    same = {key: "at work"}
    assert same[target_key(str(other), "main")] == "at work"
    assert target_key(str(other), "elsewhere") not in same
    place.land()
    assert [place.status(each) for each in (one, two)] == ["closed", "closed"]
    assert place.landing(two).landed.checks == (f".: {place.verify}", "sub: test -e x")


def test_the_lock_of_a_branch_goes_with_its_lander(place):
    """A process that another thread forks meanwhile has the file open, and does not keep it."""
    repo = repository.find(str(place.repo.root))
    with lander_lock(repo, "main") as held, lander_lock(repo, "main") as again:
        assert held
        assert again is None
        forked = os.fork()
        if not forked:
            signal.pause()
    try:
        with lander_lock(repo, "main") as held:
            assert held
    finally:
        os.kill(forked, signal.SIGKILL)
        os.waitpid(forked, 0)


def test_each_fold_is_verified_on_exactly_its_tree_though_the_checkout_is_kept(place):
    """The command finds nothing of what it left the last time, and every file as git has it."""
    mess = "echo x >> README; echo o > left.o; mkdir -p d/e; rm part-0; chmod 600 part-*"
    verify = (f'test -z "$(git status --porcelain)" && ls > {place.ran}.seen && {{ {mess}; }}',)
    for number in range(3):
        task = place.accepted(
            f"Add {number}", verify=verify, files={f"part-x{number}": f"{number}"}
        )
        place.repo.commit("a person's", **{f"other{number}": "theirs\n"})
        place.land()
        assert place.state(task) == "landed", place.landing(task)
        seen = Path(f"{place.ran}.seen").read_text().split()
        assert seen == sorted(place.repo.git("ls-tree", "--name-only", "main").split())
    (spare,) = place.home.path.glob("trains/*/spare")
    drop_spares(spare.parent.parent, spare.stat().st_mtime)
    assert spare.exists()
    drop_spares(spare.parent.parent, spare.stat().st_mtime + 1)
    assert not spare.exists()
