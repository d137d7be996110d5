"""A candidate on the line of a branch, made of objects alone."""

import subprocess

import pytest

from fleet.git.land.fold import Folded, fold
from fleet.git.land.merge_trees import TreeConflict
from tests.repos import ENV
from tests.unit.git.land.conftest import candidate, side


def in_own(land, *args):
    """Git of the user's kind in fleet's own git directory."""
    argv = ["git", "--git-dir", land.own.git_dir, *args]
    done = subprocess.run(argv, env=ENV, capture_output=True, text=True, timeout=30, check=True)
    return done.stdout.rstrip("\n")


@pytest.mark.parametrize("how", ["merge", "squash"])
def test_both_sides_are_in_what_is_folded(repo, land, how):
    """Whichever way it lands, the tree is that of a merge; the line is the first parent."""
    work = side(repo, a="one\ntwo\nthree\nfour\nFIVE\n", b="new\n")
    line = repo.commit("line", a="ONE\ntwo\nthree\nfour\nfive\n")
    done = fold(land.git, line, candidate(work, how))
    assert isinstance(done, Folded)
    assert in_own(land, "show", f"{done.commit}:a") == "ONE\ntwo\nthree\nfour\nFIVE"
    assert in_own(land, "show", f"{done.commit}:b") == "new"
    assert in_own(land, "rev-parse", f"{done.commit}^{{tree}}") == done.tree
    assert done.parents == ((line, work) if how == "merge" else (line,))


def test_a_merge_is_always_a_commit_of_its_own(repo, land):
    """Even where the branch could just follow: the first parents are the values of the branch."""
    work = side(repo, b="new\n")
    done = fold(land.git, repo.first, candidate(work))
    assert done.parents == (repo.first, work)
    assert done.tree == repo.git("rev-parse", f"{work}^{{tree}}")
    shown = in_own(land, "show", "-s", "--format=%an <%ae>|%cn|%s|%b", done.commit)
    assert shown == "Ann <ann@example.org>|Ann|Add it|Task: fleet-1"


@pytest.mark.parametrize("how", ["merge", "squash"])
def test_a_history_takes_nothing_off_the_line(repo, land, how):
    """The work names a later commit of the line as a parent, and lacks what that one brought."""
    work = side(repo, b="new\n")
    line = repo.commit("line", c="later\n")
    ours = repo.git("commit-tree", "-m", "mine", "-p", work, "-p", line, f"{work}^{{tree}}")
    done = fold(land.git, line, candidate(ours, how, base=repo.first))
    assert in_own(land, "show", f"{done.commit}:c") == "later"
    assert in_own(land, "show", f"{done.commit}:b") == "new"
    assert done.parents == ((line, ours) if how == "merge" else (line,))


@pytest.mark.parametrize("how", ["merge", "squash"])
def test_a_history_that_was_set_back_lands_as_it_was_shown(repo, land, how):
    """The receipt shows the file that went with the commit as deleted."""
    given = repo.commit("given", d="d\n")
    work = side(repo, at=repo.first, b="new\n")
    line = repo.commit("line", c="later\n")
    done = fold(land.git, line, candidate(work, how, base=given))
    assert in_own(land, "ls-tree", "--name-only", done.commit).split() == ["a", "b", "c"]


def test_a_second_work_on_what_landed_is_merged_with_it(repo, land):
    """The task landed before, and its agent names another later commit as a parent."""
    landed = side(repo, a="mine\n")
    line = repo.git("commit-tree", "-m", "m", "-p", "main", "-p", landed, f"{landed}^{{tree}}")
    repo.git("reset", "-q", "--hard", line)
    line = repo.commit("line", c="later\n")
    again = side(repo, at=landed, a="mine, better\n")
    ours = repo.git("commit-tree", "-m", "m", "-p", again, "-p", line, f"{again}^{{tree}}")
    for work in (again, ours):
        done = fold(land.git, line, candidate(work, base=landed))
        assert in_own(land, "show", f"{done.commit}:a") == "mine, better"
        assert in_own(land, "show", f"{done.commit}:c") == "later"


def test_a_merge_that_fleet_began_counts(repo, land):
    """What its agent resolved in a conflict is not merged again."""
    work = side(repo, a="mine\n")
    line = repo.commit("line", a="theirs\n")
    both = side(repo, at=work, a="both\n")
    merged = repo.git("commit-tree", "-m", "m", "-p", work, "-p", line, f"{both}^{{tree}}")
    assert isinstance(fold(land.git, line, candidate(merged, base=repo.first)), TreeConflict)
    done = fold(land.git, line, candidate(merged, base=line))
    assert in_own(land, "show", f"{done.commit}:a") == "both"


@pytest.mark.parametrize("how", ["merge", "squash"])
def test_the_same_fold_is_the_same_commit(repo, land, how):
    """A lander that was killed finds its own fold again."""
    work = side(repo, b="new\n")
    line = repo.commit("line", c="new\n")
    assert fold(land.git, line, candidate(work, how)) == fold(land.git, line, candidate(work, how))


@pytest.mark.parametrize("how", ["merge", "squash"])
def test_what_the_line_holds_already_is_not_folded_again(repo, land, how):
    """A candidate of an earlier train."""
    line = repo.commit("line", b="new\n")
    done = fold(land.git, line, candidate(repo.first, how))
    assert (done.commit, done.parents) == (line, (repo.first,))


@pytest.mark.parametrize("how", ["merge", "squash"])
def test_a_conflict_names_its_files(repo, land, how):
    """And git's words for it."""
    work = side(repo, a="mine\n", b="new\n")
    line = repo.commit("line", a="theirs\n")
    found = fold(land.git, line, candidate(work, how))
    assert isinstance(found, TreeConflict)
    assert found.files == ("a",)
    assert "CONFLICT (content): Merge conflict in a" in found.text
    assert "<<<<<<<" in in_own(land, "show", f"{found.tree}:a")


def test_nothing_of_a_person_is_touched(repo, land):
    """Neither files nor index nor refs nor objects of the project."""
    work = side(repo, b="new\n")
    line = repo.commit("line", c="new\n")
    repo.write(a="edited\n")
    before = snapshot(repo)
    fold(land.git, line, candidate(work))
    assert snapshot(repo) == before


def snapshot(repo):
    files = [path for path in repo.root.rglob("*") if path.is_file()]
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in files}
