"""What trains remember of a branch: believed as fleet wrote it, and not otherwise."""

import os

import msgspec
import pytest
from msgspec import structs

from fleet.landing.train_store import (
    KEPT_PROOFS,
    FailedCheck,
    Learnt,
    Train,
    TrainPlace,
    branches_behind,
)


@pytest.fixture
def place(home, tmp_path):
    place = TrainPlace(home, str(tmp_path / "project"), "main")
    place.make()
    return place


def forge(place, name, value):
    (place.path / name).write_bytes(msgspec.json.encode(value))


def test_what_was_learnt_is_known_again(home, place):
    """Each time it is written, and not only the first."""
    for number in range(5):
        learnt = Learnt(branch="main", passed={f"tree{number}": ("make test",)}, behind="dirty")
        place.learn(learnt)
        assert place.learnt() == learnt
    assert [each.branch for each in branches_behind(home)] == ["main"]


def test_a_proof_that_fleet_did_not_write_is_not_believed(home, place):
    """A forged `learnt.json` lets no tree land; that a branch is behind may still be looked at."""
    learnt = Learnt(repository="/p", branch="main", passed={"good": ("make test",)}, behind="dirty")
    place.learn(learnt)
    forge(place, "learnt.json", structs.replace(learnt, passed={"evil": ("make test",)}))
    assert place.learnt().passed == {}
    assert [each.behind for each in branches_behind(home)] == ["dirty"]


def test_an_older_state_does_not_pass_for_the_last(place):
    """Only the last two are believed: a kill may come between the seal and the file."""
    states = [Learnt(held=f"state {number}") for number in range(3)]
    for each in states:
        place.learn(each)
    for each, held in zip(states, ("", "state 1", "state 2"), strict=True):
        (place.path / "learnt.json").write_bytes(msgspec.json.encode(each) + b"\n")
        assert place.learnt().held == held


def test_a_train_that_fleet_did_not_write_is_not_gone_on_with(place):
    """Its fold is not taken over: only the line is asked what it holds."""
    train = Train(branch="main", old="a", new="b", tree="t", parts=(("x", "y"),))
    place.mean(train)
    assert place.meant() == train
    forge(place, "train.json", structs.replace(train, new="evil"))
    found = place.meant()
    assert found is not None
    assert (found.new, found.parts) == ("evil", ())


def test_what_is_known_of_a_tree_is_not_asked_again():
    """A passed check is missing no more, and a failed one fails again; the oldest trees are
    forgotten.
    """
    learnt = Learnt().with_passed("t", ["a"])
    assert learnt.missing("t", ["a", "b"]) == ("b",)
    assert learnt.missing("u", ["a"]) == ("a",)
    for number in range(KEPT_PROOFS):
        learnt = learnt.with_passed(f"t{number}", ["a"])
    assert learnt.missing("t", ["a"]) == ("a",)
    failed = structs.replace(learnt, failed={"t": FailedCheck(check="b")}, red={"t": ("c",)})
    assert [failed.failing("t", each) for each in (["a"], ["a", "b"], ["c"])] == ["", "b", "c"]


def test_the_directories_of_trains_are_private(home, place):
    """Each of them, also where the home itself can be read by others."""
    old = os.umask(0o022)
    try:
        place.make()
    finally:
        os.umask(old)
    for folder in (place.path.parent, place.path, place.verify):
        assert folder.stat().st_mode & 0o777 == 0o700
