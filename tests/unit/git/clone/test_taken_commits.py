"""Commits of a clone on their way into fleet's own store."""

import os
from pathlib import Path

import pytest

from fleet.git.clone import taken_commits
from fleet.git.clone.collect_work import cloned_work
from fleet.git.clone.taken_commits import heads_of
from fleet.git.clone.task_refs import task_refs
from fleet.git.commit_words import message_of
from fleet.git.git_command import GitFailed
from fleet.git.own.copied_objects import copy_commits
from fleet.git.own.own_repository import known_repository, own_repository, stores_of
from fleet.git.repository import find
from tests.clones import TASK, clone_of, commit, git
from tests.fakes.forge_pack import forge


def work_of(home):
    return cloned_work(home, task_refs(home, TASK))


def test_fleets_store_borrows_from_no_clone(home, repo):
    """Git does not hash what it reads from packs, and an agent writes those of its clone."""
    place = clone_of(home, repo)
    commit(place)
    work_of(home)
    own = known_repository(home.path, os.path.realpath(place))
    stores = stores_of(own)
    assert stores == (f"{own.git_dir}/objects", os.path.realpath(repo.root / ".git/objects"))
    with pytest.raises(GitFailed, match="borrows from its project alone"):
        own_repository(home.path, find(str(place)))


def test_what_was_taken_stays_when_the_clone_goes(home, repo):
    """Its commits are held by refs of fleet's store, and read from there."""
    place = clone_of(home, repo)
    mine = commit(place)
    work = work_of(home)
    assert (work.head, set(work.taken.new)) == (mine, {mine})
    for file in (place / ".git/objects").rglob("*"):
        if file.is_file():
            file.unlink()
    assert work.git.line("show", "-s", "--format=%s", mine)
    held = work.git.line("for-each-ref", "--format=%(objectname)", f"refs/fleet/{TASK}/taken")
    assert held == mine


def test_what_was_taken_is_not_copied_again(home, repo, monkeypatch):
    """The end of a run, landing and cleanup each take over the same commits."""
    copied = []

    def copy(there, commits, *rest):
        copied.append(set(commits))
        copy_commits(there, commits, *rest)

    monkeypatch.setattr(taken_commits, "copy_commits", copy)
    place = clone_of(home, repo)
    first = commit(place)
    for _ in range(2):
        assert set(work_of(home).taken.new) == {first}
    second = commit(place, "b.txt", "more\n")
    assert set(work_of(home).taken.new) == {first, second}
    assert copied == [{first}, {first, second}]


def test_an_object_under_another_name_is_not_taken(home, repo):
    """A commit whose file has other bytes in a forged pack: the bytes that the name stands for are
    nowhere, so nothing is believed.
    """
    place = clone_of(home, repo)
    commit(place, "a.py", "evil\n")
    forge(place / ".git/objects/pack", {git(place, "rev-parse", "HEAD:a.py"): ("blob", b"good\n")})
    assert git(place, "show", "HEAD:a.py") == "good"
    with pytest.raises(GitFailed, match="not what their names say"):
        work_of(home)


def test_a_commit_under_another_name_is_not_taken(home, repo):
    """The commit that is checked out is what its name says, or the work is refused."""
    place = clone_of(home, repo)
    mine = commit(place, "a.py", "evil\n")
    text = git(place, "cat-file", "commit", mine).replace("a commit", "another")
    forge(place / ".git/objects/pack", {mine: ("commit", f"{text}!\n".encode())})
    with pytest.raises(GitFailed, match="not what their names say"):
        work_of(home)


def test_damage_elsewhere_leaves_the_work(home, repo):
    """A branch whose files are gone costs that branch, and then the clone has to stay."""
    place = clone_of(home, repo)
    git(place, "checkout", "-qb", "side")
    commit(place, "lost.txt", "lost\n")
    blob = git(place, "rev-parse", "HEAD:lost.txt")
    git(place, "checkout", "-q", f"fleet/{TASK}")
    mine = commit(place)
    Path(place, ".git/objects", blob[:2], blob[2:]).unlink()
    work = work_of(home)
    assert (work.head, set(work.taken.new)) == (mine, {mine})
    assert "its commits need objects that are not there" in "\n".join(work.notes)
    work.take_snapshot()
    assert work.beyond == "commits whose files are missing or damaged"


def test_what_fleet_committed_may_be_deleted(home, repo):
    """An agent that commits nothing takes its own file away again, after its work was sent back."""
    place = clone_of(home, repo)
    (place / "bug").write_text("bug\n")
    first = work_of(home)
    first.take_snapshot()
    closing = first.committed(message_of("the title", TASK))
    first.bring(closing)
    git(place, "fetch", "-q", str(repo.root), f"fleet/{TASK}")
    git(place, "reset", "-q", "--hard", "FETCH_HEAD")
    (place / "bug").unlink()
    now = work_of(home)
    assert now.head == closing
    assert now.take_snapshot().kept == ()
    assert "bug" not in now.git.line("ls-tree", "--name-only", now.tree).split()
    mine = commit(place, "mine.txt")
    (place / "mine.txt").unlink()
    again = work_of(home)
    assert (again.head, again.take_snapshot().kept) == (mine, ("mine.txt",))


def test_heads_are_commits_that_no_other_leads_to():
    """Of a merge, the merge alone."""
    assert heads_of({"m": ["a", "b"], "a": ["0"], "b": ["0"], "x": []}) == {"m", "x"}
