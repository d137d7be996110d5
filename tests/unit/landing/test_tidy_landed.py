"""What a landed task leaves: nothing that is elsewhere, and everything that is not."""

import os
import subprocess
from datetime import timedelta

import pytest
from msgspec import structs

from fleet.git.clone.clone_place import clones_in
from fleet.git.own.own_repository import known_repository
from fleet.home import landing_json
from fleet.landing.tidy_landed import tidy_landed
from tests.clones import clone_of
from tests.landings import LandHome
from tests.repos import ENV


@pytest.fixture
def place(tmp_path):
    place = LandHome(tmp_path)
    place.repo.commit(README="read me\n", **{"part-0": "zero\n"})
    yield place
    place.queue.close()


def tidy(place, task):
    return tidy_landed(place.home, task, place.landing(task), timedelta())


@pytest.mark.parametrize("how", ["merge", "squash"])
def test_clone_and_branch_go_once_the_line_is_proved_to_hold_the_work(place, how):
    """The candidate is held for a while; a task that is opened again begins with the line."""
    first = place.accepted("Add one", part_1="one\n", how=how)
    place.land()
    assert any("is deleted, its work is on main" in text for text in tidy(place, first))
    assert clones_in(place.home) == []
    assert place.repo.git("for-each-ref", "refs/heads/fleet") == ""
    held = place.repo.git("rev-parse", f"refs/fleet/{first}/landed")
    assert held == place.landing(first).commit
    place.accepted("Add two", part_2="two\n")
    place.land()
    rules = place.rules[first]
    clone = clone_of(place.home, place.repo, first, land=rules)
    assert (clone / "part-1").read_text() == "one\n"
    assert (clone / "part-2").read_text() == "two\n"


def test_a_pinned_file_that_the_agent_committed_is_no_rest_to_keep(place):
    """The candidate was made of that commit: the branch goes, and no line says that it stays."""
    task = place.accepted("Add one", part_1="one\n", part_2="two\n")
    clone, env = place.home.clone(task), {**ENV, "GIT_DIR": str(place.home.clone(task) / ".git")}

    def git(*words):
        done = subprocess.run(
            ["git", *words], cwd=clone, env=env, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    git("add", "-A")
    git("commit", "-q", "-m", "with the pinned file")
    git("rm", "-q", "--cached", "part-2")
    store = known_repository(place.home.path, os.path.realpath(clone)).git_dir
    env["GIT_OBJECT_DIRECTORY"] = f"{store}/objects"  # as the verification stored it
    env["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = str(clone / ".git/objects")
    tree = git("write-tree")
    git("reset", "-q")
    landing_json.change(place.home, task, lambda now: structs.replace(now, tree=tree))
    place.land()
    assert place.state(task) == "landed"
    (said,) = tidy(place, task)
    assert "is deleted, its work is on main" in said


def test_a_clone_that_is_kept_for_its_ignored_files_is_told_once(place):
    """Each start of a supervisor said it once more, of every task of the last three days."""
    place.repo.commit(_dot_gitignore="*.o\n")
    task = place.accepted("Add one", part_1="one\n")
    (place.home.clone(task) / "part.o").write_text("built\n")
    place.land()
    deleted, stays = tidy(place, task)
    assert "is deleted, its work is on main" in deleted
    assert "files that git ignores, and is kept for 3 days" in stays
    assert tidy(place, task) == []
    assert clones_in(place.home) == [task]


def test_nothing_goes_if_the_branch_was_set_back_since(place):
    """The work is nowhere else then."""
    task = place.accepted("Add one", part_1="one\n")
    before = place.repo.git("rev-parse", "main")
    place.land()
    place.repo.git("reset", "-q", "--hard", before)
    assert tidy(place, task) == []
    assert clones_in(place.home) == [task]
    assert place.shown("part-1", f"fleet/{task}") == "one"
