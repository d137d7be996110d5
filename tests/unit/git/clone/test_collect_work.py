"""What comes home from a clone whose agent did anything it could think of: all of it, and nothing
of the agent's is obeyed on the way.
"""

import os
import shutil
import subprocess
from datetime import timedelta
from pathlib import Path

import pytest

from fleet.git.clone.collect_work import heads_of
from fleet.git.clone.task_refs import TaskRefs
from fleet.git.snapshot_names import INDEX
from fleet.supervisor.cleanup import collect, tidy
from tests.builders import NOW
from tests.clones import TASK, a_task, clone_of, commit, git
from tests.repos import Repo


def closed(home, now=NOW + timedelta(days=5)):
    """What is said some days after the task was closed."""
    return tidy(home, [TASK], [a_task()], now)


def everything(repo):
    """The text of every file in every commit that the project's refs lead to."""
    listed = repo.git("rev-list", "--objects", "--all")
    names = [line.split(" ", 1) for line in listed.splitlines()]
    return {repo.git("cat-file", "blob", each[0]) for each in names if len(each) > 1 and each[1]
            and repo.git("cat-file", "-t", each[0]) == "blob"}  # fmt: skip


def test_commits_come_to_the_branch_after_each_run(home, repo):
    """And what is not committed stays in the clone until the task is closed."""
    place = clone_of(home, repo)
    first = commit(place)
    (place / "unfinished").write_text("x\n")
    assert collect(home, TASK) == []
    assert repo.git("rev-parse", "fleet/fleet-1") == first
    second = commit(place, "second")
    assert collect(home, TASK) == []
    assert repo.git("rev-parse", "fleet/fleet-1") == second
    assert (repo.git("status", "--porcelain"), repo.git("rev-parse", "main")) == ("", repo.first)
    assert repo.git("fsck", "--strict") == ""


def test_what_was_committed_stays_committed_whatever_rule_ignores_it(home, repo):
    """What is not committed is taken over beside it, and takes nothing back."""
    place = clone_of(home, repo)
    kept = home.task(TASK) / INDEX
    shutil.copy2(place / ".git/index", kept)
    (repo.root / ".git/info/exclude").write_text("*.gen\n")
    (place / "made.gen").write_text("made\n")
    git(place, "add", "-f", "made.gen")
    commit(place, "with what is ignored")
    (place / "unfinished").write_text("x\n")
    closed(home)
    assert repo.git("show", "fleet/fleet-1:made.gen") == "made"
    assert repo.git("show", "fleet/fleet-1:unfinished") == "x"


@pytest.mark.parametrize("rival", [collect, lambda home, _: closed(home)])
def test_two_that_bring_the_same_work_home_at_once_both_succeed(home, repo, monkeypatch, rival):
    """A pick and the supervisor: the slower one reads the refs again instead of giving up."""
    place = clone_of(home, repo)
    commit(place)
    git(place, "commit", "-q", "--amend", "-m", "amended")
    move, said = TaskRefs.move, []

    def after_a_rival(refs, moves):
        monkeypatch.setattr(TaskRefs, "move", move)
        said.extend(rival(home, TASK))
        move(refs, moves)

    monkeypatch.setattr(TaskRefs, "move", after_a_rival)
    assert collect(home, TASK) == []
    assert "a commit is on no branch: held by refs/fleet/fleet-1/left" in said[0]
    assert repo.git("log", "-1", "--format=%s", "fleet/fleet-1") == "amended"


def test_refs_that_another_process_moves_without_end_are_not_tried_for_ever(
    home, repo, monkeypatch
):
    """The work stays in the clone, and the message says so."""
    place = clone_of(home, repo)
    commit(place)
    move, moved = TaskRefs.move, []

    def after_a_rival(refs, moves):
        other = commit(repo.root, f"other-{len(moved)}")
        repo.git("update-ref", refs.tip_ref, other)
        moved.append(other)
        move(refs, moves)

    monkeypatch.setattr(TaskRefs, "move", after_a_rival)
    (said,) = collect(home, TASK)
    assert f"its work is in {place} only: git update-ref" in said
    assert repo.git("rev-parse", "refs/fleet/fleet-1/tip") == moved[-1]


def init_anew(place, repo):
    shutil.rmtree(place / ".git")
    git(place, "init", "-q", "-b", "mine")
    commit(place, "work", "precious\n")
    return "does not contain the commit that it began at"


def point_elsewhere(place, repo):
    Path(place, "work").write_text("precious\n")
    shutil.rmtree(place / ".git")
    (place / ".git").write_text(f"gitdir: {repo.root}/.git\n")
    return "is no git directory any more"


def link_elsewhere(place, repo):
    Path(place, "work").write_text("precious\n")
    shutil.rmtree(place / ".git")
    (place / ".git").symlink_to(repo.root / ".git")
    return "is no git directory any more"


def remove_git(place, repo):
    Path(place, "work").write_text("precious\n")
    shutil.rmtree(place / ".git")
    return "is no git directory any more"


def amend(place, repo):
    commit(place, "work", "precious\n")
    Path(place, "work").write_text("other\n")
    git(place, "commit", "-qa", "--amend", "-m", "amended")
    return "a commit is on no branch: held by refs/fleet/fleet-1/left"


def reset(place, repo):
    commit(place, "work", "precious\n")
    git(place, "reset", "-q", "--hard", repo.first)
    git(place, "reflog", "expire", "--expire=now", "--all")
    return "a commit is on no branch: held by refs/fleet/fleet-1/left"


def delete_branch(place, repo):
    git(place, "checkout", "-qb", "side")
    commit(place, "work", "precious\n")
    git(place, "checkout", "-q", "fleet/fleet-1")
    git(place, "branch", "-qD", "side")
    return "held by refs/fleet/fleet-1/left"


def other_branch(place, repo):
    git(place, "checkout", "-qb", "feature/x")
    commit(place, "work", "precious\n")
    git(place, "checkout", "-q", "fleet/fleet-1")
    return "the agent's branch feature/x is fleet/fleet-1+feature/x here"


def detached(place, repo):
    git(place, "checkout", "-q", "--detach")
    commit(place, "work", "precious\n")
    return "clone removed, its work is on fleet/fleet-1"


def switched(place, repo):
    git(place, "checkout", "-qb", "mine")
    commit(place, "work", "precious\n")
    return "clone removed, its work is on fleet/fleet-1"


def orphan(place, repo):
    git(place, "checkout", "-q", "--orphan", "alone")
    commit(place, "work", "precious\n")
    return "does not contain the commit that it began at"


def stash(place, repo):
    Path(place, "app/main.py").write_text("precious\n")
    git(place, "stash", "-q")
    return "on no branch"


def moved_main(place, repo):
    git(place, "checkout", "-q", "main")
    commit(place, "work", "precious\n")
    git(place, "checkout", "-q", "fleet/fleet-1")
    return "the agent's branch main is fleet/fleet-1+main here"


def packed(place, repo):
    commit(place, "work", "precious\n")
    git(place, "repack", "-qad")
    git(place, "pack-refs", "--all")
    (place / ".git/objects/info/alternates").unlink()
    return "clone removed, its work is on fleet/fleet-1"


def many_amended(place, repo):
    commit(place, "work", "precious\n")
    for number in range(60):
        git(place, "commit", "-q", "--allow-empty", "--amend", "-m", str(number))
    return "60 commits are on no branch"


@pytest.mark.parametrize(
    "do",
    [
        init_anew, point_elsewhere, link_elsewhere, remove_git, amend, reset, delete_branch,
        other_branch, detached, switched, orphan, stash, moved_main, packed, many_amended,
    ],
)  # fmt: skip
def test_whatever_became_of_the_git_directory_no_work_is_lost(home, repo, do):
    """The clone goes, and all that it held is in the project; the message says what was odd."""
    place = clone_of(home, repo)
    told = do(place, repo)
    said = closed(home)
    assert told in "\n".join(said), said
    assert not place.exists()
    assert "precious" in everything(repo)
    assert repo.git("rev-parse", "main") == repo.first
    assert repo.git("fsck") == ""


def nested(place, repo):
    Repo(place / "inner").commit(a="precious\n")
    return "another repository (inner)"


def nested_and_added(place, repo):
    Repo(place / "inner").commit(a="precious\n")
    git(place, "add", "inner")
    git(place, "commit", "-qm", "inner")
    return "another repository (inner)"


def submodule(place, repo):
    Repo(place.parent.parent / "part").commit(a="1")
    add = ("-c", "protocol.file.allow=always", "submodule", "--quiet", "add")
    git(place, *add, str(place.parent.parent / "part"), "part")
    commit(place / "part", "work", "precious\n")
    git(place, "commit", "-qam", "part")
    return "submodules"


def half_merged(place, repo):
    commit(place, "one")
    (place / ".git/MERGE_HEAD").write_text(f"{repo.first}\n")
    return "work that git has not finished (MERGE_HEAD)"


def large(place, repo):
    with (place / "large").open("wb") as file:
        file.truncate(51 << 20)
    return "too large"


def large_file_store(place, repo):
    store = place / ".git/lfs/objects/ab/cd"
    store.mkdir(parents=True)
    (store / "abcd").write_text("precious\n")
    return "large files that git keeps outside of its objects"


def other_objects(place, repo):
    """Its commit needs objects of a third repository, which the agent made its alternate."""
    other = Repo(place.parent.parent / "third")
    other.commit(work="precious\n")
    (place / ".git/objects/info/alternates").write_text(f"{other.root}/.git/objects\n")
    tree = other.git("rev-parse", "HEAD^{tree}")
    mine = git(place, "commit-tree", "-m", "work", tree)
    (place / ".git/refs/heads/fleet").mkdir(parents=True, exist_ok=True)
    (place / ".git/refs/heads/fleet/fleet-1").write_text(f"{mine}\n")
    return "its commits need objects that are not there"


@pytest.mark.parametrize(
    "do",
    [nested, nested_and_added, submodule, half_merged, large, large_file_store, other_objects],
)
def test_what_is_nowhere_else_is_never_removed(home, repo, do):
    """The clone stays, and the message says where it is and what it holds."""
    place = clone_of(home, repo)
    told = do(place, repo)
    said = "\n".join(closed(home))
    assert told in said
    assert f"its clone stays at {place}" in said
    assert (place / ".git").exists()


def test_nothing_that_a_clone_says_is_run(home, repo, tmp_path):
    """Configuration, hooks, filters, alternates' pipes: git is never started in there."""
    place = clone_of(home, repo)
    mark = tmp_path / "ran"
    run = f"touch {mark}"
    script = tmp_path / "evil"
    script.write_text(f"#!/bin/sh\n{run}\n")
    script.chmod(0o755)
    commit(place)
    with (place / ".git/config").open("a") as file:
        file.write(
            f'[core]\nfsmonitor = "{run}"\nhooksPath = {tmp_path}/hooks\nsshCommand = "{run}"\n'
            f'worktree = {tmp_path}\nalternateRefsCommand = "{run}"\npager = "{run}"\n'
            f'[filter "evil"]\nclean = "{run}"\nsmudge = "{run}"\n'
            f'[uploadpack]\npackObjectsHook = {script}\n[diff]\nexternal = {script}\n'
            f'[hook "x"]\nevent = reference-transaction\ncommand = {script}\n'
        )  # fmt: skip
    hooks = place / ".git/hooks"
    hooks.mkdir()
    shutil.copy(script, hooks / "reference-transaction")
    (place / ".gitattributes").write_text("* filter=evil diff=evil merge=evil\n")
    (place / ".git/info/attributes").write_text("* filter=evil\n")
    (place / ".git/commondir").write_text(f"{tmp_path}\n")
    (place / "new").write_text("x\n")
    assert "clone removed" in "\n".join(closed(home))
    assert not mark.exists()
    assert repo.git("show", "fleet/fleet-1:new") == "x"


def test_pipes_links_and_rubbish_among_the_objects_are_passed_over(home, repo, tmp_path):
    """A pipe would be waited for, a link would lead elsewhere."""
    place = clone_of(home, repo)
    commit(place)
    objects = place / ".git/objects"
    (objects / "aa").mkdir(exist_ok=True)
    os.mkfifo(objects / "aa" / ("b" * 38))
    (objects / "aa" / ("c" * 38)).symlink_to(tmp_path / "elsewhere")
    (objects / "bb").symlink_to(tmp_path)
    os.mkfifo(place / ".git/packed-refs.new")
    (place / ".git/packed-refs").unlink()
    os.mkfifo(place / ".git/packed-refs")
    assert "clone removed" in "\n".join(closed(home))
    assert repo.git("show", "fleet/fleet-1:done.txt") == "done"


def test_an_object_with_a_false_name_is_not_taken_over(home, repo):
    """Git counts the names anew: no file of the project can be replaced by another."""
    place = clone_of(home, repo)
    commit(place, "good", "good\n")
    blob = git(place, "rev-parse", "HEAD:good")
    commit(place, "evil", "evil\n")
    evil = git(place, "rev-parse", "HEAD:evil")
    objects = place / ".git/objects"
    target = objects / blob[:2] / blob[2:]
    target.unlink()
    shutil.copy(objects / evil[:2] / evil[2:], target)
    said = "\n".join(closed(home))
    assert f"its clone stays at {place}" in said
    assert repo.git("branch", "--list", "fleet/*") == ""


def test_a_branch_that_a_person_moved_or_uses_is_left_alone(home, repo):
    """The work is beside it, and the message says where."""
    place = clone_of(home, repo)
    commit(place)
    collect(home, TASK)
    repo.git("switch", "-q", "fleet/fleet-1")
    second = commit(place, "second")
    (said,) = collect(home, TASK)
    assert f"is checked out in {repo.root}, so the work is at refs/fleet/fleet-1/tip" in said
    assert repo.git("rev-parse", "refs/fleet/fleet-1/tip") == second
    theirs = repo.commit(theirs="x\n")
    repo.git("switch", "-q", "main")
    commit(place, "third")
    (said,) = collect(home, TASK)
    assert "was moved by another hand" in said
    assert repo.git("rev-parse", "fleet/fleet-1") == theirs


def test_a_branch_that_a_person_merged_and_deleted_stays_deleted(home, repo):
    """Until there is something new."""
    place = clone_of(home, repo)
    commit(place)
    collect(home, TASK)
    repo.git("branch", "-qD", "fleet/fleet-1")
    assert collect(home, TASK) == []
    assert repo.git("branch", "--list", "fleet/*") == ""
    again = commit(place, "again")
    collect(home, TASK)
    assert repo.git("rev-parse", "fleet/fleet-1") == again


def test_a_branch_follows_a_history_that_its_agent_rewrote(home, repo):
    """What was on it before is held."""
    place = clone_of(home, repo)
    before = commit(place)
    collect(home, TASK)
    git(place, "reset", "-q", "--hard", repo.first)
    after = commit(place, "other")
    said = collect(home, TASK)
    assert "lacks commits that it had before" in said[0]
    assert repo.git("rev-parse", "fleet/fleet-1") == after
    assert repo.git("rev-parse", "refs/fleet/fleet-1/left^1") == before
    assert collect(home, TASK) == []


def test_a_project_with_long_names_for_its_objects_is_cloned_and_gets_its_work(home, tmp_path):
    """SHA-256."""
    root = tmp_path / "long"
    done = subprocess.run(["git", "init", "-q", "--object-format=sha256", "-b", "main", str(root)])
    if done.returncode:
        pytest.skip("this git knows no SHA-256")
    repo = Repo.__new__(Repo)
    repo.root = root
    repo.commit(a="1\n")
    mine = commit(clone_of(home, repo))
    (home.clone(TASK) / "more").write_text("x\n")
    assert "clone removed" in "\n".join(closed(home))
    assert repo.git("rev-parse", "fleet/fleet-1^") == mine


def test_a_forged_record_deletes_nothing(home, repo, tmp_path):
    """As an attacker wrote it: a path of the user's, made, about to be removed."""
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "file").write_text("x")
    place = clone_of(home, repo)
    Repo(place / "inner").commit(a="1")
    record = home.task(TASK) / "worktree/worktree.json"
    for repository in (str(repo.root), str(victim), str(place / "inner")):
        record.write_text(
            f'{{"path":"{victim}","repository":"{repository}","commit":"{repo.first}",'
            '"branch":"fleet/fleet-1","made":true,"set_up":true,"removing":true}'
        )
        closed(home)
        assert (victim / "file").exists()
        assert (place / "inner/a").exists()
    record.write_text("{")
    assert "is damaged" in closed(home)[0]
    assert place.exists()


@pytest.mark.parametrize(
    ("commits", "heads"),
    [({}, set()), ({"a": ["x"], "b": ["a"]}, {"b"}), ({"a": [], "b": []}, {"a", "b"})],
)
def test_heads_are_those_that_no_other_leads_to(commits, heads):
    """Merges and roots included."""
    assert heads_of(commits) == heads


def test_what_was_not_committed_becomes_a_commit_in_the_persons_name(home, repo, monkeypatch):
    """With the task's title and id, whatever the agent set up in its clone."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    repo.git("config", "user.name", "Ada")
    repo.git("config", "user.email", "ada@example.org")
    place = clone_of(home, repo)
    git(place, "config", "user.name", "the agent")
    (place / "work").write_text("x\n")
    closed(home)
    shown = "%s|%an <%ae>|%(trailers:key=Fleet-Task,valueonly,separator=)"
    said = repo.git("log", "-1", f"--format={shown}", f"fleet/{TASK}")
    assert said == f"the title|Ada <ada@example.org>|{TASK}"
