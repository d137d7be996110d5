"""A clone of a task's own: made from the project without changing it, kept, and mended."""

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fleet.git.clone import clone_place
from fleet.git.clone.ensure_clone import ensure_clone
from fleet.git.git_command import Git
from fleet.home import clone_record
from fleet.supervisor.cleanup import collect
from fleet.supervisor.start.workspace import Workspace
from tests.clones import TASK, clone_of, commit, git, prepared, why
from tests.repos import Repo

# Making one.


def test_a_run_works_on_its_own_branch_from_the_commit_at_hand(home, repo):
    """In the home, not in the project; the user's unfinished work is not in it."""
    repo.put("app/main.py", "unfinished\n")
    got = prepared(home, repo.root)
    assert got.cwd == str(home.clone(TASK))
    assert git(got.cwd, "branch", "--show-current") == "fleet/fleet-1"
    assert git(got.cwd, "rev-parse", "HEAD") == repo.git("rev-parse", "main")
    assert (Path(got.cwd) / "app/main.py").read_text() == "print()\n"
    assert git(got.cwd, "status", "--porcelain") == ""
    assert repo.git("status", "--porcelain") == " M app/main.py"
    assert got.base.root == got.cwd
    assert got.base.branch == "refs/heads/fleet/fleet-1"


def test_the_git_directory_is_inside_and_the_project_is_only_read(home, repo):
    """So an agent that may write nothing else can commit, and moves no ref of the project."""
    place = clone_of(home, repo)
    assert git(place, "rev-parse", "--absolute-git-dir") == str(place / ".git")
    refs = repo.git("for-each-ref")
    for folder, _, _ in os.walk(repo.root / ".git"):
        Path(folder).chmod(0o500)
    commit(place)
    git(place, "branch", "-f", "main", "HEAD")
    for folder, _, _ in os.walk(repo.root / ".git"):
        Path(folder).chmod(0o700)
    assert repo.git("for-each-ref") == refs


def test_the_project_is_asked_for_the_base_once(home, repo, monkeypatch):
    """Each question is a process of git, for every step of every task."""
    asked = []
    real = Git.judge

    def counted(git_, *args, **options):
        asked.append(args[-1])
        return real(git_, *args, **options)

    monkeypatch.setattr(Git, "judge", counted)
    base = f"refs/fleet/{TASK}/base"
    ensure_clone(home, TASK, str(repo.root))
    assert asked.count(base) == 1
    ensure_clone(home, TASK, str(repo.root))
    assert asked.count(base) == 2


def test_the_base_outlives_a_project_that_drops_it(home, repo):
    """A ref holds the commit: the project's next gc cannot take what the clone reads."""
    repo.git("switch", "-qc", "side")
    dropped = repo.commit(only_here="x\n")
    place = clone_of(home, repo)
    repo.git("switch", "-q", "main")
    repo.git("branch", "-qD", "side")
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("gc", "-q", "--prune=now")
    assert git(place, "show", f"{dropped}:only_here") == "x"
    assert commit(place)


def test_the_agent_finds_the_projects_branches_tags_and_author(home, repo):
    """As copies."""
    repo.git("tag", "-a", "v1", "-m", "one")
    repo.git("branch", "old")
    repo.git("config", "user.name", 'An "odd" name \\')
    repo.git("config", "user.email", "her@example.org")
    place = clone_of(home, repo)
    assert git(place, "config", "user.name") == 'An "odd" name \\'
    assert git(place, "config", "user.email") == "her@example.org"
    assert git(place, "diff", "--stat", "old", "v1") == ""
    assert "fsck" not in git(place, "fsck", "--strict")


def test_no_hook_template_or_filter_runs_when_a_clone_is_made(home, repo, tmp_path, monkeypatch):
    """Neither the project's nor the user's; and none of them comes along."""
    mark = tmp_path / "ran"
    hook = f"#!/bin/sh\necho $0 >> {mark}\n"
    for folder in (repo.root / ".git/hooks", tmp_path / "template/hooks", tmp_path / "hooks"):
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("post-checkout", "reference-transaction", "post-index-change"):
            (folder / name).write_text(hook)
            (folder / name).chmod(0o755)
    repo.commit(_dot_gitattributes="* filter=evil\n", data="x\n")
    settings = f"""
        [filter "evil"]
            smudge = touch {mark}; cat
            process = touch {mark}
            required = true
        [core]
            fsmonitor = touch {mark}
        [init]
            templateDir = {tmp_path}/template
    """
    with (repo.root / ".git/config").open("a") as file:
        file.write(settings)
    (tmp_path / ".gitconfig").write_text(f"{settings}\n[core]\nhooksPath = {tmp_path}/hooks\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    mark.unlink(missing_ok=True)
    place = ensure_clone_at(home, repo)
    assert not mark.exists()
    assert (place / "data").read_text() == "x\n"
    assert not (place / ".git/hooks").exists()
    assert "filter" not in (place / ".git/config").read_text()


def ensure_clone_at(home, repo):
    ensure_clone(home, TASK, str(repo.root))
    return home.clone(TASK)


def test_the_directory_is_the_one_that_corresponds(home, repo):
    """Also if git holds nothing of it."""
    assert prepared(home, repo.root / "app").cwd == str(home.clone(TASK) / "app")
    (repo.root / "empty").mkdir()
    got = prepared(home, repo.root / "empty", "fleet-2")
    assert Path(got.cwd).is_dir()
    assert got.cwd == str(home.clone("fleet-2") / "empty")


def test_a_link_that_an_agent_left_does_not_lead_the_next_run_out(home, repo, tmp_path):
    """The task's directory in the clone was replaced by a link to the user's files."""
    place = Path(prepared(home, repo.root / "app").cwd)
    shutil.rmtree(place)
    place.symlink_to(tmp_path)
    assert "a link leads from" in why(prepared(home, repo.root / "app"))


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


# Projects of all kinds.


def test_what_cannot_be_cloned_is_said(home, repo, tmp_path):
    """No commit, a bare one, a branch of the user's: each with the way out."""
    fresh = Repo(tmp_path / "fresh")
    assert "has no commit yet (make one:" in why(prepared(home, fresh.root))
    repo.git("clone", "-q", "--bare", str(repo.root), str(tmp_path / "bare.git"))
    assert "is a bare repository" in why(prepared(home, tmp_path / "bare.git"))
    repo.git("branch", "fleet/fleet-1")
    assert "has a branch fleet/fleet-1 already" in why(prepared(home, repo.root))
    assert repo.git("rev-parse", "fleet/fleet-1")


def worktree(repo, tmp_path):
    repo.git("worktree", "add", "-qb", "side", str(tmp_path / "made"))


def borrowing(repo, tmp_path):
    repo.git("clone", "-q", "--shared", str(repo.root), str(tmp_path / "made"))


def shallow(repo, tmp_path):
    repo.commit(second="2\n")
    repo.git("clone", "-q", "--depth=1", f"file://{repo.root}", str(tmp_path / "made"))


def with_submodule(repo, tmp_path):
    Repo(tmp_path / "part").commit(a="1")
    repo.git("clone", "-q", str(repo.root), str(tmp_path / "made"))
    add = ("-c", "protocol.file.allow=always", "submodule", "--quiet", "add")
    git(tmp_path / "made", *add, str(tmp_path / "part"), "part")
    git(tmp_path / "made", "commit", "-qm", "part")


@pytest.mark.parametrize("kind", [worktree, borrowing, shallow, with_submodule])
def test_a_project_of_another_kind_is_cloned_and_gets_its_work(home, repo, tmp_path, kind):
    """A linked worktree, a clone that borrows objects, a history cut off, one with submodules."""
    kind(repo, tmp_path)
    made = tmp_path / "made"
    got = prepared(home, made)
    mine = commit(got.cwd)
    assert collect(home, TASK) == []
    assert git(made, "rev-parse", "fleet/fleet-1") == mine
    assert git(made, "fsck", "--connectivity-only") == ""


def test_a_project_on_another_file_system_is_cloned_and_gets_its_work(home, tmp_path):
    """Objects cannot be linked there, and are copied."""
    place = Path(f"/dev/shm/fleet-test-{os.getpid()}")
    if (
        not os.access("/dev/shm", os.W_OK)
        or Path("/dev/shm").stat().st_dev == tmp_path.stat().st_dev
    ):
        pytest.skip("there is no second file system here")
    try:
        repo = Repo(place)
        repo.commit(a="1\n")
        mine = commit(clone_of(home, repo))
        assert collect(home, TASK) == []
        assert repo.git("rev-parse", "fleet/fleet-1") == mine
    finally:
        shutil.rmtree(place, ignore_errors=True)


def test_a_task_that_moved_to_another_repository_is_not_guessed_at(home, repo, tmp_path):
    """Its clone was made from the first."""
    prepared(home, repo.root)
    other = Repo(tmp_path / "other")
    other.commit(a="1")
    assert "was made from" in why(prepared(home, other.root))


def test_a_project_that_was_deleted_costs_no_work(home, repo):
    """What the clone holds stays where it is, and the message says where."""
    place = clone_of(home, repo)
    commit(place)
    shutil.rmtree(repo.root)
    said = collect(home, TASK)
    assert f"its work is in {place} only" in said[0]
    assert "is no repository any more" in said[0]
    assert (place / "done.txt").exists()


# What killed processes and careless agents leave.


def test_a_supervisor_killed_while_making_one_costs_nothing(home, repo):
    """What it had made beside the place is cleared away."""
    making = clone_place.making_place(home, TASK)
    making.mkdir(parents=True)
    (making / "half").write_text("x")
    place = clone_of(home, repo)
    assert git(place, "status", "--porcelain", "--branch") == "## fleet/fleet-1"
    assert not (place / "half").exists()
    assert not making.exists()


def test_a_lock_of_a_killed_git_is_removed_from_the_clone(home, repo):
    """No run of it lives; the user's own lock is left alone."""
    place = clone_of(home, repo)
    (place / ".git/index.lock").touch()
    (repo.root / ".git/index.lock").touch()
    assert commit(clone_of(home, repo))
    assert (repo.root / ".git/index.lock").exists()


def test_a_clone_that_was_deleted_comes_back_with_what_fleet_brought_home(home, repo):
    """And is set up again."""
    place = clone_of(home, repo, setup=("touch made.o",))
    mine = commit(place)
    collect(home, TASK)
    shutil.rmtree(place)
    place = clone_of(home, repo, setup=("touch made.o",))
    assert git(place, "rev-parse", "HEAD") == mine
    assert (place / "made.o").exists()


@pytest.mark.parametrize("wreck", ["removed", "a file", "a link", "without HEAD"])
def test_a_clone_without_its_git_directory_keeps_its_files_for_the_next_run(
    home, repo, wreck, tmp_path
):
    """The agent removed `.git`, or pointed it elsewhere: that is put aside, and a new one made."""
    place = clone_of(home, repo)
    commit(place, "first.txt")
    collect(home, TASK)
    (place / "unfinished").write_text("x\n")
    dot, kept = place / ".git", home.task(TASK) / "worktree/git.found.1"
    if wreck == "without HEAD":
        (dot / "HEAD").unlink()
    else:
        shutil.rmtree(dot)
    if wreck == "a file":
        dot.write_text(f"gitdir: {repo.root}/.git\n")
    elif wreck == "a link":
        dot.symlink_to(repo.root / ".git")
    got = prepared(home, repo.root)
    assert git(place, "status", "--porcelain") == "?? unfinished"
    assert git(place, "log", "-1", "--format=%s") == "first.txt"
    assert got.base.root == str(place)
    assert os.path.lexists(kept) == (wreck != "removed")
    assert repo.git("log", "-1", "--format=%s", "main") == "a commit"


def test_what_is_no_directory_is_not_taken_for_a_clone(home, repo, tmp_path):
    """Nothing is written through a link."""
    home.worktrees.mkdir()
    home.clone(TASK).symlink_to(tmp_path)
    assert "is no directory that fleet made" in why(prepared(home, repo.root))


def test_a_record_that_is_not_fleets_leads_nowhere(home, repo, tmp_path):
    """One that names another repository: that repository knows nothing of the task."""
    other = Repo(tmp_path / "other")
    head = other.commit(a="1")
    forged = clone_record.CloneRecord(repository=str(other.root), commit=head, made=True)
    clone_record.write(home, TASK, forged)
    assert "does not fit" in why(prepared(home, other.root))
    assert other.git("for-each-ref", "--format=%(refname)") == "refs/heads/main"
