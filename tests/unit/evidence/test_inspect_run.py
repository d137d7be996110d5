"""What real commands in a real repository are taken for."""

import shutil
import subprocess
import threading
from datetime import UTC, datetime

import msgspec
import pytest

from fleet.evidence import other_task_dirs
from fleet.evidence.inspect_run import inspect_run
from fleet.evidence.verify_place import InspectedRun
from fleet.files import seals
from fleet.git import snapshot_index
from fleet.home import Home, make_home
from fleet.processes import process_identity
from fleet.runs.run_directory import ProcessId, Run, RunSpec, Started, new_run
from fleet.schemas import Policy
from tests.repos import ENV, RunIn


@pytest.fixture
def repo(repo, tmp_path):
    for number in range(50):
        repo.put(f"data/{number}.txt", f"{number}\n" * 20)
    repo.commit(app__main_dot_py="print()\n", README="read me\n")
    repo.git("init", "-q", "--bare", str(tmp_path / "hub"))
    repo.git("remote", "add", "hub", str(tmp_path / "hub"))
    repo.git("branch", "other")
    repo.git("tag", "v1")
    return repo


def broken(run, repo, cwd="", **policy):
    ended = InspectedRun(
        run=_run(run), cwd=str(repo.root / cwd), policy=Policy(**policy), base=run.base,
        claimed=False,
    )  # fmt: skip
    found = inspect_run(ended, threading.Event())
    assert (found.trouble, found.damage, found.short) == ("", "", "")
    return {finding.rule for finding in found.trespasses}


def _run(run):
    return Run(run.dir)


HONEST = {
    "edits": ("sh", "-c", "echo x >> README; echo y > app/new.py"),
    "commits": ("sh", "-c", "echo x >> README; git commit -qam x"),
    "makes a branch": ("sh", "-c", "git switch -qc feature; git commit -q --allow-empty -m x"),
    "says who it is": ("git", "config", "user.name", "agent"),
    "stashes and takes back": ("sh", "-c", "echo x >> README; git stash -q; git stash pop -q"),
    "moves a directory": ("git", "mv", "data", "stuff"),
    "tags": ("git", "tag", "v2"),
    "removes a few files": ("sh", "-c", "rm data/1*.txt"),
    "pushes and fetches": (
        "sh", "-c", "git commit -q --allow-empty -m x; git push -qu hub main; git fetch -q hub",
    ),
}  # fmt: skip
VICES = {
    "removes a directory": (("rm", "-rf", "data"), "bulk_deletion"),
    "empties files": (("sh", "-c", "for f in data/*; do : > $f; done"), "bulk_deletion"),
    "cleans up": (("sh", "-c", "git rm -qr data && git commit -qm x"), "bulk_deletion"),
    "removes a large file": (("rm", "large.bin"), "bulk_deletion"),
    "plants a hook": (("sh", "-c", "echo x > .git/hooks/pre-push"), "guarded_files"),
    "redirects hooks": (("git", "config", "core.hooksPath", "x"), "guarded_files"),
    "hides files": (("sh", "-c", "echo '*.py' >> .git/info/exclude"), "guarded_files"),
    "adds a server": (("sh", "-c", "echo {} > .mcp.json"), "guarded_files"),
    "moves a branch": (
        ("sh", "-c", "git commit -q --allow-empty -m x; git branch -qf other"),
        "moved_refs",
    ),
    "deletes a branch": (("git", "branch", "-qD", "other"), "moved_refs"),
    "moves a tag": (
        ("sh", "-c", "git commit -q --allow-empty -m x; git tag -f v1"),
        "moved_refs",
    ),
    "takes commits away": (("git", "reset", "-q", "--hard", "HEAD~1"), "moved_refs"),
    "amends another's commit": (
        ("git", "commit", "-q", "--amend", "--allow-empty", "-m", "mine"),
        "moved_refs",
    ),
    "removes the repository": (("rm", "-rf", ".git"), "moved_refs"),
}


@pytest.mark.parametrize("what", HONEST)
def test_honest_work_is_no_trespass(repo, tmp_path, what):
    """Each of these is done every day."""
    run = RunIn(tmp_path, repo)
    assert broken(run, repo) == set()
    do(repo, *HONEST[what])
    assert broken(run, repo) == set()


@pytest.mark.parametrize("what", VICES)
def test_what_goes_too_far_is_found(repo, tmp_path, what):
    """Whatever command did it."""
    repo.commit()
    with (repo.root / "large.bin").open("wb") as file:
        file.truncate(2 << 20)
    run = RunIn(tmp_path, repo)
    command, rule = VICES[what]
    do(repo, *command)
    assert broken(run, repo) >= {rule}


def do(repo, *command):
    """As an agent would: in a shell, with git's hooks and all."""
    subprocess.run(command, cwd=repo.root, env=ENV, check=True, capture_output=True, timeout=30)


def test_a_directory_below_the_top_is_the_whole_scope(repo, tmp_path):
    """Unless the task says more."""
    run = RunIn(tmp_path, repo, cwd=repo.root / "app")
    repo.put("README", "changed\n")
    assert broken(run, repo, "app") == {"outside_scope"}
    assert broken(run, repo, "app", scope=("**", "/README")) == set()


def test_a_directory_that_hides_itself_is_told_and_is_a_trespass_outside_of_the_scope(
    repo, tmp_path
):
    """A cache of a common tool is told only, and so is what was there before."""
    repo.put("before/.gitignore", "*\n")
    run = RunIn(tmp_path, repo, cwd=repo.root / "app")
    for folder in ("hidden", "app/hidden", ".pytest_cache"):
        repo.put(f"{folder}/.gitignore", "*\n")
        repo.put(f"{folder}/file", "x\n")
    changes = run.changes()
    assert changes.files == ()
    assert changes.hidden == (".pytest_cache", "app/hidden", "hidden")
    assert broken(run, repo, "app") == {"outside_scope"}
    shutil.rmtree(repo.root / "hidden")
    assert broken(run, repo, "app") == set()


def test_the_users_work_in_another_tree_is_not_held_against_a_run(repo, tmp_path):
    """An isolated run goes on while the user commits to the main branch."""
    place = tmp_path / "tree"
    repo.git("worktree", "add", "-q", "-b", "fleet/fleet-1", str(place))
    run = RunIn(tmp_path, repo, cwd=place)
    repo.commit(README="the user's\n")
    assert broken(run, repo, place) == set()
    repo.git("branch", "-f", "other")
    assert broken(run, repo, place) == {"moved_refs"}


def test_many_tags_are_told_as_one(repo, tmp_path):
    """A record of a run stays small, and one tag that moves is still seen."""
    head = repo.git("rev-parse", "HEAD")
    lines = "".join(f"create refs/tags/t{number} {head}\n" for number in range(1500))
    subprocess.run(
        ["git", "update-ref", "--stdin"], cwd=repo.root, input=lines.encode(), check=True
    )
    run = RunIn(tmp_path, repo)
    assert set(run.base.refs) == {"refs/heads/other", "refs/tags/*"}
    assert broken(run, repo) == set()
    repo.git("tag", "-d", "t7")
    assert broken(run, repo) == {"moved_refs"}


def test_a_directory_of_another_task_that_is_emptied_is_found(repo, tmp_path):
    """Whether it is gone or only empty; one that its own task worked in is its own matter."""
    run = RunIn(tmp_path, repo)
    home = Home(run.home)
    (home.task("fleet-2")).mkdir(parents=True)
    others = []
    for name in ("emptied", "gone", "kept"):
        place = tmp_path / name
        place.mkdir()
        (place / "file").write_text("x")
        others.append((f"fleet-{name}", str(place)))
    other_task_dirs.record(home, "fleet-1", str(repo.root), [*others, ("fleet-1", str(repo.root))])
    assert broken(run, repo) == set()
    (tmp_path / "emptied/file").unlink()
    shutil.rmtree(tmp_path / "gone")
    found = other_task_dirs.lost_directories(_run(run))
    assert {loss.task_id: loss.after for loss in found} == {
        "fleet-emptied": 0, "fleet-gone": None,
    }  # fmt: skip
    assert broken(run, repo) == {"sibling_touched"}


def test_a_lost_directory_is_put_down_to_the_run_that_names_it(repo, tmp_path):
    """Where no stream names the directory, the finding says which other runs were at work."""
    run = RunIn(tmp_path, repo)
    home = Home(run.home)
    place = tmp_path / "theirs"
    place.mkdir()
    (place / "file").write_text("x")
    other_task_dirs.record(home, "fleet-1", str(repo.root), [("fleet-2", str(place))])
    other = a_run_at_work(home, "fleet-3")
    shutil.rmtree(place)

    def lost():
        found = other_task_dirs.lost_directories(_run(run))
        return [(each.task_id, each.or_by) for each in found]

    assert lost() == [("fleet-2", ("fleet-3",))]
    other.stdout.write_text(f"rm -rf {place}\n")
    assert lost() == []
    _run(run).stdout.write_text("rm -rf ../theirs\n")
    assert lost() == [("fleet-2", ())]


def test_a_keeper_that_is_behind_is_waited_for(repo, tmp_path, monkeypatch):
    """The directory is gone before the line that names it has reached the stream's file."""
    run = RunIn(tmp_path, repo)
    home = Home(run.home)
    place = tmp_path / "theirs"
    place.mkdir()
    (place / "file").write_text("x")
    other_task_dirs.record(home, "fleet-1", str(repo.root), [("fleet-2", str(place))])
    other = a_run_at_work(home, "fleet-3")
    shutil.rmtree(place)
    states = iter((True, True, False))

    def at_work(keeper):
        assert keeper.pid == 1
        if not (behind := next(states)):
            other.stdout.write_text(f"rm -rf {place}\n")
        return behind

    monkeypatch.setattr(process_identity, "at_work", at_work)
    assert other_task_dirs.lost_directories(_run(run)) == ()
    assert list(states) == []


def test_a_record_that_fleet_did_not_write_excuses_no_loss(repo, tmp_path):
    """An agent without a box could write a run of the other task, as if that had done it."""
    run = RunIn(tmp_path, repo)
    home = Home(run.home)
    place = tmp_path / "theirs"
    place.mkdir()
    (place / "file").write_text("x")
    other_task_dirs.record(home, "fleet-1", str(repo.root), [("fleet-2", str(place))])
    seals.begin(home.path)
    other = a_run_at_work(home, "fleet-2")
    shutil.rmtree(place)
    assert other_task_dirs.lost_directories(_run(run)) == ()
    spec = other.path / "run.json"
    spec.write_bytes(spec.read_bytes().replace(b"{", b'{"boxed":true,', 1))
    (loss,) = other_task_dirs.lost_directories(_run(run))
    assert loss.task_id == "fleet-2"


def a_run_at_work(home, task_id):
    """A run of another task that has begun and not ended."""
    (home.task(task_id)).mkdir(parents=True)
    snapshot_index.note(home, task_id, "/elsewhere")
    run = new_run(home.task(task_id), RunSpec(argv=("agent",), cwd="/elsewhere"))
    who = ProcessId(pid=1, start_ticks=1, boot_id="b")
    started = Started(keeper=who, agent=who, at=datetime.now(UTC), monotonic=0.0)
    (run.path / "started").write_bytes(msgspec.json.encode(started))
    return run


def judged(run, repo, **policy):
    """The inspection of a run that claims to be done."""
    ended = InspectedRun(
        run=_run(run), cwd=str(repo.root), policy=Policy(**policy), base=run.base, claimed=True
    )
    return inspect_run(ended, threading.Event())


def failing_git(tmp_path, monkeypatch, words):
    """Every later git prints these words and fails."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/git").write_text(f"#!/bin/sh\necho 'fatal: {words}' >&2\nexit 128\n")
    (tmp_path / "bin/git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")


def test_a_git_that_lacks_room_decides_nothing(repo, tmp_path, monkeypatch):
    """A full disk was told as a branch that the agent had moved."""
    run = RunIn(tmp_path, repo)
    failing_git(tmp_path, monkeypatch, "write error: No space left on device")
    found = judged(run, repo)
    assert "No space left" in found.short
    assert (found.trespasses, found.trouble, found.damage) == ((), "", "")


@pytest.mark.parametrize("breaks", ["git", "files"])
def test_a_repository_that_cannot_be_read_is_damage_and_no_trespass(
    repo, tmp_path, monkeypatch, breaks
):
    """A person looks at it, whatever the run claims, and the agent is not to blame."""
    run = RunIn(tmp_path, repo)
    if breaks == "git":
        failing_git(tmp_path, monkeypatch, "it broke")
    else:  # as for an ordinary user without the right to read it
        (repo.root / ".git/HEAD").unlink()
        (repo.root / ".git/HEAD").symlink_to("HEAD")
    found = judged(run, repo)
    assert ("it broke" if breaks == "git" else ".git/HEAD") in found.damage
    assert (found.trespasses, found.trouble, found.short) == ((), "", "")


def test_a_check_that_fails_on_a_full_disk_is_run_again(repo, tmp_path, monkeypatch):
    """Its failure says nothing about the work, and is forgotten."""
    make_home(Home(tmp_path / "home"))
    run = RunIn(tmp_path, repo)
    spec = RunSpec(argv=("agent",), cwd=str(repo.root))
    (run.dir / "run.json").write_bytes(msgspec.json.encode(spec))
    count, room = tmp_path / "count", tmp_path / "room"
    verify = (f"echo x >> {count}; test -e {room}",)
    monkeypatch.setattr("fleet.evidence.inspect_run.shortage", lambda _: "the disk is full")
    for _ in range(2):
        assert judged(run, repo, verify=verify).short == "the disk is full"
    room.touch()
    found = judged(run, repo, verify=verify)
    assert [check.passed for check in found.checks] == [True]
    assert count.read_text() == "x\n" * 3
