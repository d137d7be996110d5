"""A commit that lands on a person's branch: with their files, and without their configuration."""

import time

import pytest

from fleet.errors import Refused
from fleet.git import repository, tree_snapshot
from fleet.git.merge_onto_branch import land
from fleet.git.own.own_repository import own_repository
from tests.builders import a_program
from tests.repos import Repo


@pytest.fixture
def repo(repo):
    repo.commit(a="one\ntwo\nthree\n", _dot_gitattributes="* merge=evil filter=evil\n")
    repo.git("switch", "-qc", "side")
    repo.side = repo.commit(a="one\ntwo\nTHREE\n", src__b="new\n")
    repo.git("switch", "-q", "main")
    return repo


@pytest.fixture
def traps(repo, tmp_path):
    """Drivers, filters and hooks in the project that leave a mark; returns the mark."""
    mark = tmp_path / "sprung"
    script = a_program(tmp_path / "trap.sh", f"echo sprung >> {mark}\ncat")
    for hook in ("post-merge", "pre-merge-commit", "reference-transaction", "post-checkout"):
        a_program(repo.root / ".git/hooks" / hook, f"exec {script}")
    with (repo.root / ".git/config").open("a") as file:
        file.write(f'[merge "evil"]\n\tdriver = {script} %A\n')
        file.write(f'[filter "evil"]\n\tsmudge = {script}\n\tclean = {script}\n')
    return mark


def landed(repo, commit):
    home = repo.root.parent / "home"
    return land(home, str(repo.root), commit, ref="REF", message="both", again="AGAIN")


@pytest.mark.parametrize("moved", [False, True])
def test_no_driver_filter_or_hook_of_the_project_runs_when_a_commit_lands(repo, traps, moved):
    """Neither where the branch only follows nor where both sides are merged."""
    if moved:
        repo.commit(a="ONE\ntwo\nthree\n")
    traps.unlink(missing_ok=True)
    assert landed(repo, repo.side).how == ("merged" if moved else "fast-forwarded")
    assert not traps.exists()
    assert repo.root.joinpath("src/b").read_text() == "new\n"
    assert repo.root.joinpath("a").read_text() == f"{'ONE' if moved else 'one'}\ntwo\nTHREE\n"


def test_what_landed_is_as_git_itself_would_have_left_it(repo):
    """A clean tree and index, the branch with its log, and a project that holds every object."""
    repo.commit(c="mine\n")
    done = landed(repo, repo.side)
    assert repo.git("status", "--porcelain") == ""
    assert repo.git("rev-parse", "HEAD", "main").split() == [done.commit, done.commit]
    assert repo.git("log", "-1", "--format=%s %P").split()[0] == "both"
    assert len(repo.git("log", "-1", "--format=%P").split()) == 2
    assert "fleet: land" in repo.git("reflog", "show", "main")
    assert "fleet: land" in repo.git("reflog", "show", "HEAD")
    assert repo.git("fsck", "--strict") == ""


def test_a_file_in_the_way_is_kept(repo):
    """New or ignored: a person's file is never written over."""
    repo.put("src/b", "mine\n")
    with pytest.raises(Refused, match="ntracked"):
        landed(repo, repo.side)
    repo.put(".git/info/exclude", "b\n")
    with pytest.raises(Refused, match="ntracked"):
        landed(repo, repo.side)
    assert (repo.root / "src/b").read_text() == "mine\n"
    assert repo.git("rev-parse", "main") != repo.side


def test_changes_are_counted_without_asking_a_repository_inside(repo, tmp_path):
    """`git status` would run the filters of that one."""
    inner = Repo(repo.root / "inner")
    inner.commit(x="1\n", _dot_gitattributes="x filter=evil\n")
    repo.git("add", "inner")
    head = repo.commit()
    script = a_program(tmp_path / "trap.sh", f"echo sprung >> {tmp_path}/sprung\ncat")
    inner.git("config", "filter.evil.clean", script)
    inner.write(x="2\n")
    repo.put("new", "")
    repo.put("a", "changed\n")
    found = repository.find(str(repo.root))
    own = own_repository(tmp_path / "home", found)
    with tree_snapshot.opened(own, found, time.monotonic() + 10) as (git, _):
        assert tree_snapshot.uncommitted(git, head) == {b"new", b"a"}
    assert not (tmp_path / "sprung").exists()
    repo.git("status")
    assert (tmp_path / "sprung").exists(), "the trap is not set"
