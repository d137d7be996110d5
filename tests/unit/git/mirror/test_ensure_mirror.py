"""Mirrors: fetched from confirmed addresses only, whole, and what is wrong is told."""

from pathlib import Path

import pytest

from fleet.files.file_lock import locked
from fleet.git.mirror.ensure_mirror import Unreached
from fleet.git.repository import Repository


def test_a_mirror_holds_branches_and_tags_and_no_files(elsewhere):
    """Clones are made from it; no branch of it is checked out."""
    elsewhere.project.git("tag", "v1")
    elsewhere.project.git("push", "-q", "origin", "v1")
    found = elsewhere.ensure(commit=elsewhere.first)
    assert isinstance(found, Repository)
    assert elsewhere.mirror().git("rev-parse", "main", "v1").split() == [elsewhere.first] * 2
    assert {each.name for each in elsewhere.place.iterdir()} == {".git", "fetch.lock"}


def test_an_address_that_was_not_confirmed_is_not_fetched(elsewhere):
    """The address came from the queue; the logins are the operator's."""
    (elsewhere.home.path / "remotes.json").unlink()
    found = elsewhere.ensure()
    assert isinstance(found, Unreached)
    assert found.unconfirmed
    assert f"fleet trust --remote {elsewhere.url}" in found.why
    assert not elsewhere.place.exists()


def test_a_mirror_follows_its_repository(elsewhere):
    """Also where a branch was moved by force; branches of fleet's tasks are each host's own."""
    elsewhere.ensure()
    second = elsewhere.project.commit("other", c="3\n")
    elsewhere.project.git("push", "-q", "-f", "origin", "main", f"{second}:refs/heads/fleet/x")
    elsewhere.ensure()
    assert elsewhere.mirror().git("rev-parse", "main") == second
    assert elsewhere.mirror().git("for-each-ref", "refs/heads/fleet") == ""


@pytest.mark.parametrize(("old", "new"), [("part", "part/one"), ("part/one", "part")])
def test_a_branch_that_became_a_folder_of_branches_keeps_nothing_away(elsewhere, old, new):
    """Or the other way round: git makes no branch whose name is a part of another's."""
    elsewhere.project.git("push", "-q", "origin", f"main:{old}", "main:also/gone")
    elsewhere.ensure()
    elsewhere.mirror().git("branch", "fleet/x", "main")
    elsewhere.project.git("push", "-q", "origin", f":{old}", ":also/gone")
    elsewhere.project.git("push", "-q", "origin", f"main:{new}")
    second = elsewhere.project.commit("other", c="3\n")
    elsewhere.project.git("push", "-q", "origin", "main")
    assert isinstance(elsewhere.ensure(), Repository)
    branches = elsewhere.mirror().git("for-each-ref", "--format=%(refname:short)", "refs/heads")
    assert branches.split() == ["also/gone", "fleet/x", "main", new], "no other branch goes"
    assert elsewhere.mirror().git("rev-parse", "main") == second


def test_what_hosts_pushed_of_the_task_comes_along_and_of_other_tasks_not(elsewhere):
    """The next run goes on from there."""
    for name in ("fleet-1", "fleet-2"):
        elsewhere.project.git("push", "-q", "origin", f"main:refs/fleet/{name}/1")
    elsewhere.ensure("fleet-1")
    assert elsewhere.mirror().git("rev-parse", "refs/fleet/fleet-1/from/1") == elsewhere.first
    assert elsewhere.mirror().git("for-each-ref", "refs/fleet/fleet-2") == ""


def test_a_repository_that_vanished_is_told_and_what_was_fetched_counts(elsewhere):
    """A task whose commit is there already can run without it."""
    elsewhere.ensure()
    Path(elsewhere.url).rename(f"{elsewhere.url}.away")
    found = elsewhere.ensure()
    assert isinstance(found, Unreached)
    assert "cannot be fetched" in found.why
    assert not found.gone
    assert isinstance(elsewhere.ensure(commit=elsewhere.first), Repository)


def test_a_commit_that_no_branch_has_is_gone(elsewhere):
    """No other host will find it either."""
    local = elsewhere.project.commit("not pushed", c="3\n")
    found = elsewhere.ensure(commit=local)
    assert isinstance(found, Unreached)
    assert found.gone
    assert local[:12] in found.why


def test_half_a_fetch_is_not_taken_for_the_commit(elsewhere):
    """A full disk leaves the commit without its files: a clone of that could not be made."""
    elsewhere.ensure()
    second = elsewhere.project.commit("second", c="a new file\n")
    objects = elsewhere.project.root / ".git" / "objects"
    there = Path(elsewhere.mirror().root, "objects", second[:2], second[2:])
    there.parent.mkdir(exist_ok=True)
    there.write_bytes((objects / second[:2] / second[2:]).read_bytes())
    Path(elsewhere.url).rename(f"{elsewhere.url}.away")
    found = elsewhere.ensure(commit=second)
    assert isinstance(found, Unreached)
    assert not found.gone


def test_what_a_killed_fetch_left_is_removed(elsewhere):
    """Each try of two gigabytes would leave as much."""
    elsewhere.ensure()
    left = Path(elsewhere.mirror().root, "objects", "pack", "tmp_pack_a1b2c3")
    left.write_bytes(bytes(1000))
    Path(elsewhere.url).rename(f"{elsewhere.url}.away")
    elsewhere.ensure()
    assert not left.exists()


def test_another_tasks_fetch_is_waited_for_and_takes_no_thread(elsewhere):
    """The task comes back soon."""
    elsewhere.place.mkdir(parents=True)
    with locked(elsewhere.place / "fetch.lock") as held:
        assert held is not None
        found = elsewhere.ensure()
    assert isinstance(found, Unreached)
    assert found.soon


def test_a_mirror_that_was_begun_and_not_finished_is_made(elsewhere):
    """`kill -9` between two steps leaves a directory that is none yet."""
    (elsewhere.place / ".making-abc").mkdir(parents=True)
    assert isinstance(elsewhere.ensure(commit=elsewhere.first), Repository)


def test_a_password_in_an_address_is_not_shown(elsewhere):
    """Fleet writes none into the queue, but others may."""
    elsewhere.bare.root = "ssh://user:secret@git.example.org/gone.git"
    found = elsewhere.ensure()
    assert isinstance(found, Unreached)
    assert "secret" not in found.why
