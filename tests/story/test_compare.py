"""`fleet compare` through the real supervisor: the same task by several coders, one to keep."""

import json
import shutil
import subprocess
import sys

import pytest

from fleet.git.clone.clone_place import clones_in
from fleet.home import compare_json, task_json
from fleet.runs import receipt_json
from fleet.schemas import Settings
from tests.conftest import SLOW, need, only_slow
from tests.contract.beads_home import pristine_home
from tests.repos import ENV, Repo
from tests.story.scene import ACTOR, PATIENCE, Scene

__all__ = ["pristine_home"]

#: What an agent's shell does first: tell, and have a name.
AGENT = """#!/bin/sh
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a
echo '{{"type":"tool","id":"1"}}'
{work}
bd close $FLEET_TASK_ID --reason "{claim}" >&2
echo '{{"type":"end"}}'
"""
VERIFY = ("grep -q TWO a",)


@pytest.fixture
def scene(tmp_path):
    need("git")
    scene = Scene(tmp_path, max_concurrent=8, retry_limit=1)
    scene.env = {**scene.env, **ENV, "PATH": scene.env["PATH"]}
    scene.repo = Repo(scene.project)
    scene.first = scene.repo.commit(a="one\ntwo\nthree\n", _dot_gitignore="*.o\n")
    coder(scene, "neat", "sed -i s/two/TWO/ a; git commit -qam 'say it loud'")
    coder(scene, "messy", "sed -i s/two/TWO/ a; echo more > b; echo x > c.o")
    coder(scene, "lazy", "sed -i 2d a", claim="surely done")
    yield scene
    scene.close()


def coder(scene, name, work, claim="did it"):
    """A coder whose agent is a script of the shell."""
    folder = scene.home.path.with_name("scripts")  # the home is not in a box
    folder.mkdir(exist_ok=True)
    script = folder / f"{name}.sh"
    script.write_text(AGENT.format(work=work, claim=claim))
    script.chmod(0o755)
    argv = f'argv = ["{script}"]\n'
    scene.coder(name, argv + ACTOR.partition("\n")[2].partition("\n")[2])


def a_task(scene, **wishes):
    wishes = {"verify": VERIFY, **wishes}
    task_id = scene.add("never", title="Make it loud", **wishes)
    plain = Settings(cwd=str(scene.project), **wishes)
    task_json.write(scene.home, task_id, plain)
    return task_id


def compare(scene, *words, code=0):
    done = scene.fleet("compare", *words)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def known(scene, task_id):
    """The entries by their coder, as --json tells them."""
    done = scene.fleet("compare", task_id, "--json")
    assert done.returncode == 0, done.stderr
    return {entry["coder"]: entry for entry in json.loads(done.stdout)["entries"]}


def assert_clean(scene, branches=("main",)):
    """Nothing of a comparison is in the user's way."""
    git = scene.repo.git
    assert git("status", "--porcelain") == ""
    assert git("branch", "--format=%(refname:short)").split() == list(branches)
    assert clones_in(scene.home) == []


def test_the_same_task_from_one_commit_and_one_of_the_tries_lands(scene):
    """The table tells them apart, the pick is on the branch, the rest is gone, receipts stay."""
    task_id = a_task(scene)
    said = compare(scene, task_id, "--with", "neat:m", "--with", "lazy:m", "--run")
    assert f"{task_id} is tried 2 times, each from {scene.first[:12]}." in said
    assert scene.status(task_id) == "blocked"
    assert scene.runs(task_id) == []
    entries = known(scene, task_id)
    neat, lazy = entries["neat"], entries["lazy"]
    assert (neat["standing"], neat["attempts"]) == ("checked", 1)
    assert neat["size"] == {"files": 1, "added": 1, "removed": 1}
    assert (lazy["standing"], lazy["checked"]) == ("rejected", False)
    assert "grep -q TWO a" in lazy["why"]
    assert neat["cost_usd"] is None
    for entry in (neat, lazy):
        policy = receipt_json.read(scene.run(entry["task_id"])).policy
        assert (policy.commit, policy.verify) == (scene.first, VERIFY)
        assert task_json.read(scene.home, entry["task_id"]).fallback == "none"

    assert "was not accepted: rejected" in compare(scene, task_id, "--pick", "lazy", code=7)
    said = compare(scene, task_id, "--pick", "neat")
    assert "fast-forwarded" in said
    assert (scene.project / "a").read_text() == "one\nTWO\nthree\n"
    assert scene.repo.git("log", "-1", "--format=%s") == "say it loud"
    assert_clean(scene)
    task = scene.task(task_id)
    assert task.status == "closed"
    assert f"fleet task {neat['task_id']} receipt" in task.close_reason
    assert "run 1: checked" in scene.fleet("task", task_id, "receipt").stdout
    assert scene.status(lazy["task_id"]) == "closed"
    assert receipt_json.read(scene.run(lazy["task_id"])) is not None
    # What it came to is still known, and what it left is held for a while.
    assert known(scene, task_id)["lazy"]["standing"] == "rejected"
    held = scene.repo.git("show", f"refs/fleet/{lazy['task_id']}/branch:a")
    assert held == "one\nthree"


def test_what_a_try_left_uncommitted_lands_too(scene):
    """And files that git ignores keep no clone behind."""
    task_id = a_task(scene)
    compare(scene, task_id, "--with", "neat", "--with", "messy", "--run")
    compare(scene, task_id, "--pick", "messy")
    assert (scene.project / "b").read_text() == "more\n"
    assert not (scene.project / "c.o").exists()
    assert_clean(scene)


def test_a_task_that_was_kept_from_others_comes_back_with_the_way_on(scene):
    """Blocked, so that nobody takes it, and not as if it had been so before."""
    task_id = a_task(scene)
    assert scene.fleet("bd", "update", task_id, "--assignee", "me").returncode == 0
    compare(scene, task_id, "--with", "neat", "--with", "messy", "--no-wait")
    told = compare(scene, task_id, "--discard")
    assert f"{task_id} is blocked. To have it worked on: fleet retry {task_id}" in told
    assert "again" not in told


@only_slow
def test_a_discard_leaves_no_trace_but_receipts_and_the_task_goes_on(scene):
    """It can be compared again, or run by itself."""
    task_id = a_task(scene)
    compare(scene, task_id, "--with", "neat", "--with", "messy", "--run")
    before = known(scene, task_id)
    told = compare(scene, task_id, "--discard")
    assert f"Discarded. {task_id} is open again." in told
    assert f"so do refs/fleet/{task_id}.*/branch" in told
    assert_clean(scene)
    assert scene.repo.git("rev-parse", "HEAD") == scene.first
    assert scene.status(task_id) == "open"
    assert all(receipt_json.read(scene.run(each["task_id"])) for each in before.values())
    assert "was discarded" in compare(scene, task_id, "--pick", "neat", code=7)

    compare(scene, task_id, "--with", "lazy", "--with", "neat", "--run")
    assert set(known(scene, task_id)) == {"lazy", "neat"}
    assert (scene.folder(task_id) / "compare.1.json").exists()


@only_slow
def test_repeated_tries_are_told_one_by_one_and_added_up_without_a_rank(scene):
    """Each figure says of how many entries it is; no rate of so few."""
    task_id = a_task(scene)
    words = ("--with", "neat", "--with", "lazy", "--repeat", "2", "--run")
    said = compare(scene, task_id, *words)
    assert "Too few to rank" in said
    told = json.loads(scene.fleet("compare", task_id, "--json").stdout)
    assert len(told["entries"]) == 4
    by_coder = {row["coder"]: row for row in told["summary"]}
    assert (by_coder["neat"]["checked"], by_coder["neat"]["over"]) == (2, 2)
    assert by_coder["neat"]["checked_rate"] is None
    assert by_coder["lazy"]["seconds"]["of"] == 2
    made = compare_json.read(scene.home, task_id).entries
    # Each turn has every coder once, so that none is before the other in all of them.
    assert [{each.coder for each in made if each.turn == turn} for turn in (1, 2)] == [
        {"neat", "lazy"},
        {"neat", "lazy"},
    ]
    assert "has more than one entry" in compare(scene, task_id, "--pick", "neat", code=2)
    compare(scene, task_id, "--discard")
    assert_clean(scene)


def test_a_killed_supervisor_costs_no_try(scene):
    """Agents run on, the next supervisor takes them over, each has one attempt."""
    wait = "until test -e $FLEET_TASK_DIR/../../go; do sleep 0.02; done; sed -i s/two/TWO/ a"
    coder(scene, "slow", wait)
    coder(scene, "slower", f"{wait}; echo more > b")
    task_id = a_task(scene)
    compare(scene, task_id, "--with", "slow", "--with", "slower", "--no-wait")
    supervisor = scene.supervise()
    ids = [entry.task_id for entry in compare_json.read(scene.home, task_id).entries]
    scene.until(lambda: all(scene.run(each) and scene.run(each).started() for each in ids))
    scene.kill(supervisor)
    assert "not all entries are over" not in compare(scene, task_id, "--no-wait")
    # Nobody begins the task itself meanwhile, whatever its status says.
    assert "is being compared" in scene.fleet("retry", task_id).stderr
    (scene.home.path / "go").touch()
    scene.supervise()
    said = compare(scene, task_id)
    assert said.count("checked") >= 2
    assert {each["attempts"] for each in known(scene, task_id).values()} == {1}
    compare(scene, task_id, "--pick", "slower")
    assert_clean(scene)


def test_a_pick_stops_what_still_runs(scene):
    """Nobody waits for the slowest, and nothing of it goes on."""
    coder(scene, "endless", "sleep 60")
    task_id = a_task(scene)
    compare(scene, task_id, "--with", "neat", "--with", "endless", "--no-wait")
    scene.supervise()
    entries = known(scene, task_id)
    scene.until_status(entries["neat"]["task_id"], "closed")
    endless = entries["endless"]["task_id"]
    scene.until(lambda: scene.run(endless) and scene.run(endless).started())
    assert "is not done: running" in compare(scene, task_id, "--pick", "endless", code=7)
    compare(scene, task_id, "--pick", "neat")
    assert scene.run(endless).exit() is not None
    assert scene.status(endless) == "closed"
    assert known(scene, task_id)["endless"]["standing"] == "stopped"
    assert_clean(scene)


def test_a_discard_needs_no_supervisor(scene):
    """What waits is closed, what runs alone is stopped."""
    coder(scene, "endless", "sleep 60")
    task_id = a_task(scene)
    compare(scene, task_id, "--with", "neat", "--with", "endless", "--no-wait")
    supervisor = scene.supervise()
    endless = known(scene, task_id)["endless"]["task_id"]
    scene.until(lambda: scene.run(endless) and scene.run(endless).started())
    scene.kill(supervisor)
    compare(scene, task_id, "--discard")
    assert scene.run(endless).exit() is not None
    assert scene.status(endless) == "closed"
    assert_clean(scene)
    supervisor = scene.supervise("--until-idle")
    scene.until(lambda: scene.status(task_id) != "open")
    assert scene.status(endless) == "closed"


def test_nothing_of_the_users_is_touched_by_a_pick_that_cannot_be(scene):
    """Unfinished work, a file in the way, a branch that went on: refused, with the way out."""
    task_id = a_task(scene)
    compare(scene, task_id, "--with", "neat", "--with", "messy", "--run")
    (scene.project / "a").write_text("mine\n")
    assert "changes to a" in compare(scene, task_id, "--pick", "neat", code=7)
    assert (scene.project / "a").read_text() == "mine\n"
    scene.repo.git("checkout", "-q", "a")

    (scene.project / "b").write_text("mine\n")
    assert "where b is not in git" in compare(scene, task_id, "--pick", "messy", code=7)
    assert (scene.project / "b").read_text() == "mine\n"
    (scene.project / "b").unlink()

    scene.repo.commit(a="one\n2\nthree\n")
    said = compare(scene, task_id, "--pick", "neat", code=7)
    assert "has commits since that conflict" in said
    assert scene.repo.git("status", "--porcelain") == ""
    # The command that it names does lead on, and then it is only finished.
    ref = next(word for word in said.split() if word.startswith("refs/fleet/"))
    scene.repo.git("merge", "-q", "-X", "theirs", "-m", "by hand", ref)
    assert "was there already" in compare(scene, task_id, "--pick", "neat")
    assert scene.status(task_id) == "closed"
    assert_clean(scene)


@only_slow
def test_a_branch_that_went_on_gets_a_merge(scene):
    """Where both go together by themselves."""
    task_id = a_task(scene)
    compare(scene, task_id, "--with", "neat", "--with", "lazy", "--run")
    scene.repo.commit(d="mine\n")
    assert "merged" in compare(scene, task_id, "--pick", "neat")
    assert (scene.project / "a").read_text() == "one\nTWO\nthree\n"
    assert (scene.project / "d").read_text() == "mine\n"
    assert len(scene.repo.git("log", "-1", "--format=%P").split()) == 2
    assert_clean(scene)


@only_slow
def test_a_branch_that_an_agent_made_goes_with_its_try(scene):
    """It lands all the same, and no other branch of the user's is touched."""
    branch = "git switch -qc own-idea; sed -i s/two/TWO/ a; git commit -qam mine"
    coder(scene, "branchy", branch)
    scene.repo.git("branch", "users")
    task_id = a_task(scene)
    compare(scene, task_id, "--with", "branchy", "--with", "lazy", "--run")
    assert known(scene, task_id)["branchy"]["size"]["files"] == 1
    compare(scene, task_id, "--pick", "branchy")
    assert (scene.project / "a").read_text() == "one\nTWO\nthree\n"
    assert_clean(scene, ("main", "users"))


@only_slow
def test_branches_that_are_put_away_are_not_held_against_runs_in_the_same_repository(scene):
    """A run that saw them at its start did not delete them."""
    task_id = a_task(scene)
    compare(scene, task_id, "--with", "neat", "--with", "lazy", "--run")
    coder(
        scene, "slow", "until test -e $FLEET_TASK_DIR/../../go; do sleep 0.02; done; echo x > other"
    )
    other = scene.add("never", coder="slow", work_in="clone")
    supervisor = scene.supervise("--until-idle")
    scene.until(lambda: scene.run(other) and scene.run(other).started())
    compare(scene, task_id, "--discard")
    (scene.home.path / "go").touch()
    scene.until_status(other, "closed", "blocked")
    assert scene.status(other) == "closed", scene.task(other).notes
    supervisor.terminate()
    supervisor.wait(PATIENCE)


def test_a_comparison_that_was_cut_off_at_its_beginning_is_completed(scene):
    """Killed between two entries: none is made twice, none is missing."""
    task_id = a_task(scene)
    code = (
        "import os, fleet.control.compare.begin as c\n"
        "write = c.compare_json.write\n"
        "def dying(home, comparison):\n"
        "    if any(e.task_id for e in comparison.entries): os._exit(9)\n"
        "    return write(home, comparison)\n"
        "c.compare_json.write = dying\n"
        "from fleet.cli.root import fleet\n"
        f"fleet(['compare', '{task_id}', '--with', 'neat', '--with', 'lazy', '--no-wait'])\n"
    )
    dead = subprocess.run(
        [sys.executable, "-c", code], env=scene.env, cwd=scene.project, timeout=PATIENCE
    )
    assert dead.returncode == 9
    assert len(scene.open_tasks()) == 2  # the task, and an entry that nobody wrote down
    compare(scene, task_id, "--no-wait")
    entries = compare_json.read(scene.home, task_id).entries
    assert sorted(each.task_id for each in entries) == [f"{task_id}.1", f"{task_id}.2"]
    assert len(scene.open_tasks()) == 3


def test_what_cannot_be_compared_is_refused_with_a_way_out(scene):
    """Nothing of it changes the task."""
    task_id = a_task(scene)
    two = ("--with", "neat", "--with", "lazy")

    def refused(*words, code):
        return compare(scene, *words, code=code)

    assert "fewer than two entries" in refused(task_id, "--with", "neat", code=2)
    assert "was given twice" in refused(task_id, "--with", "neat", "--with", "neat", code=2)
    assert "no coder 'nobody'" in refused(task_id, *two, "--with", "nobody", code=2)
    assert "is no coder" in refused(task_id, "--with", "neat:", "--with", "lazy", code=2)
    assert "no issue found" in refused("fleet-nope", *two, code=6)
    assert "is not being compared" in refused(task_id, code=6)
    assert "do not go together" in refused(task_id, *two, "--discard", code=2)
    outside = scene.home.path.parent / "plain"
    outside.mkdir()
    elsewhere = scene.add("never", cwd=outside)
    assert "in no git repository" in refused(elsewhere, *two, code=2)
    assert scene.status(elsewhere) == scene.status(task_id) == "open"

    compare(scene, task_id, *two, "--no-wait")
    assert "is being compared already" in refused(task_id, *two, code=7)
    assert "is no entry" in refused(task_id, "--pick", "nobody", code=2)
    assert "no supervisor" in refused(task_id, code=1).lower()
    compare(scene, task_id, "--discard")
    scene.fleet("bd", "close", task_id)
    assert "is closed" in refused(task_id, *two, code=7)


@only_slow
def test_the_diffs_follow_one_another(scene):
    """Of all entries, or of those that are named."""
    task_id = a_task(scene)
    compare(scene, task_id, "--with", "neat", "--with", "lazy", "--run")
    both = compare(scene, task_id, "--diff")
    assert both.count("diff --git a/a b/a") == 2
    assert both.index("lazy ──") < both.index("neat ──") < both.index("+TWO")
    one = compare(scene, task_id, "lazy", "--diff")
    assert one.count("diff --git a/a b/a") == 1
    assert "+TWO" not in one


@pytest.fixture
def on_beads(tmp_path, pristine_home):
    """A home with the real bd."""
    need("git")
    shutil.copytree(pristine_home, tmp_path / "home")
    scene = Scene(tmp_path, queue="beads", retry_limit=1)
    scene.env = {**scene.env, **ENV, "PATH": scene.env["PATH"]}
    scene.repo = Repo(scene.project)
    scene.repo.commit(a="one\ntwo\nthree\n")
    coder(scene, "neat", "sed -i s/two/TWO/ a; git commit -qam 'say it loud'")
    coder(scene, "lazy", "sed -i 2d a")
    yield scene
    scene.close()


@pytest.mark.skipif(not SLOW, reason="FLEET_SLOW is not set: bd takes most of a minute")
def test_on_beads_it_is_the_same(on_beads):
    """The entries are children in bd, and the task is closed there with the evidence."""
    scene = on_beads
    made = scene.fleet("bd", "create", "--silent", "--verify", VERIFY[0], "Make it loud")
    assert made.returncode == 0, made.stderr
    task_id = made.stdout.strip()
    words = ("compare", task_id, "--with", "neat", "--with", "lazy", "--run")
    done = scene.fleet(*words, patience=4 * PATIENCE)
    assert done.returncode == 0, done.stdout + done.stderr
    entries = known(scene, task_id)
    assert {name: each["standing"] for name, each in entries.items()} == {
        "neat": "checked",
        "lazy": "rejected",
    }
    compare(scene, task_id, "--pick", "neat")
    assert_clean(scene)
    (task,) = json.loads(scene.fleet("bd", "show", task_id, "--json").stdout)
    assert task["status"] == "closed"
    assert f"fleet task {entries['neat']['task_id']} receipt" in task["close_reason"]


def test_an_entry_lands_with_pinned_files_as_they_were(scene):
    """What was verified is shown and lands; the entry had eased its exam."""
    scene.repo.commit(exam="grep -q TWO a\n")
    coder(scene, "easing", "sed -i s/two/TWO/ a; echo true > exam; git commit -qam eased")
    task = a_task(scene, verify=("sh exam",), pins=("exam",), work_in="clone")
    compare(scene, task, "--with", "neat", "--with", "easing", "--run")
    assert known(scene, task)["easing"]["standing"] == "checked"
    assert "+true" not in compare(scene, task, "--diff")
    compare(scene, task, "--pick", "easing")
    assert scene.repo.git("show", "main:a").splitlines()[1] == "TWO"
    assert scene.repo.git("show", "main:exam") == "grep -q TWO a"
