"""What the tests of landing's git share."""

import time

import pytest

from fleet.git import repository
from fleet.git.commit_words import Author
from fleet.git.land.fold import Candidate
from fleet.git.land.land_repository import LandRepository
from tests.builders import a_program


@pytest.fixture
def repo(repo):
    """A project with a commit."""
    repo.first = repo.commit("first", a="one\ntwo\nthree\nfour\nfive\n")
    return repo


@pytest.fixture
def land(repo, tmp_path):
    """The project as landing uses it."""
    return land_in(repo.root, tmp_path)


@pytest.fixture
def traps(repo, tmp_path):
    """Drivers, filters and hooks in the project that leave a mark; returns the mark."""
    mark = tmp_path / "sprung"
    script = a_program(tmp_path / "trap.sh", f"echo sprung >> {mark}\ncat")
    hooks = ("post-merge", "pre-merge-commit", "reference-transaction", "post-checkout", "update")
    for hook in (*hooks, "post-index-change", "pre-commit", "post-rewrite"):
        a_program(repo.root / ".git/hooks" / hook, f"exec {script}")
    with (repo.root / ".git/config").open("a") as file:
        file.write(f'[merge "evil"]\n\tdriver = {script} %A\n\trecursive = evil\n')
        file.write(f'[filter "evil"]\n\tsmudge = {script}\n\tclean = {script}\n')
        file.write(f"[core]\n\tfsmonitor = {script}\n[gpg]\n\tprogram = {script}\n")
        file.write("[commit]\n\tgpgSign = true\n")
    return mark


def land_in(root, tmp_path, seconds=60.0):
    found = repository.find(str(root))
    return LandRepository(tmp_path / "home", found, time.monotonic() + seconds)


def candidate(commit, how="merge", message="Add it\n\nTask: fleet-1", **more):
    more.setdefault("author", Author(name="Ann", email="ann@example.org"))
    return Candidate(task_id="fleet-1", commit=commit, message=message, how=how, **more)


def side(repo, message="side", at="", **files):
    """A commit beside the branch that is checked out; returns it."""
    branch = repo.git("branch", "--show-current")
    repo.git("switch", "-q", "--detach", at or "HEAD")
    commit = repo.commit(message, **files)
    repo.git("switch", "-q", branch)
    return commit
