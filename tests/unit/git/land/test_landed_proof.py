"""What counts as landed: ancestry, or the same change; nothing else."""

import pytest

from fleet.git.land.fold import fold
from fleet.git.land.landed_proof import prove_landed
from tests.unit.git.land.conftest import candidate, side


def work_of_two(repo):
    """Two commits beside main, both in a file that main changes too."""
    one = side(repo, "one", a="one\ntwo\nthree\nfour\nFIVE\n")
    return side(repo, "two", at=one, b="new\n", a="one\ntwo\nthree\nFOUR\nFIVE\n")


@pytest.mark.parametrize("how", ["merge", "squash"])
def test_a_fold_is_proof_of_what_it_holds(repo, land, how):
    """Also when the line has moved on."""
    work = work_of_two(repo)
    line = repo.commit("line", a="ONE\ntwo\nthree\nfour\nfive\n")
    landed = fold(land.git, line, candidate(work, how)).commit
    later = fold(land.git, landed, candidate(side(repo, c="later\n"))).commit
    proof = prove_landed(land.git, later, work, landed)
    assert proof == ("ancestry" if how == "merge" else "patch")


def test_a_patch_that_stands_elsewhere_by_now_is_the_same_change(repo, land):
    """A forge squashed it onto a line with more lines above."""
    work = side(repo, a="one\ntwo\nthree\nfour\nFIVE\n")
    above = repo.commit("line", z="above\n")
    repo.commit("squashed by a forge", a="one\ntwo\nthree\nfour\nFIVE\n")
    assert repo.git("rev-parse", "HEAD^") == above
    line = repo.git("rev-parse", "main")
    assert prove_landed(land.git, line, work, line) == "patch"


def test_what_did_not_land_has_no_proof(repo, land):
    """Neither unlanded work, nor half of it, nor a commit that is on no line."""
    work = work_of_two(repo)
    line = repo.commit("half of it", b="new\n")
    assert not prove_landed(land.git, line, work, line)
    elsewhere = fold(land.git, line, candidate(work, "squash")).commit
    assert prove_landed(land.git, line, work, elsewhere) == ""


def test_a_landing_that_was_taken_back_needs_its_commit_to_be_proved(repo, land):
    """The line holds the commit, whatever came after it."""
    work = side(repo, b="new\n")
    landed = fold(land.git, repo.first, candidate(work, "squash")).commit
    assert prove_landed(land.git, landed, work, landed) == "patch"
    assert prove_landed(land.git, repo.first, work, landed) == ""
