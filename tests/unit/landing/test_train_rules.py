"""The rules of a train: what lands, what goes back, and how often is verified."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.landing.train_rules import KEPT_PROOFS, Parts, Proofs, batch, size_after

CHECK = ("make test",)


class Line:
    """A branch on which candidates land; a tree is the set of what it holds."""

    def __init__(self, is_good):
        self.held, self.values, self.runs = [], [()], 0
        self.back, self.is_good, self.proofs = [], is_good, Proofs()

    def try_part(self, part):
        """Whether the line with these candidates passes; a known tree is not verified again."""
        tree = repr((*self.held, *part))
        if self.proofs.is_red(tree, CHECK):
            return False
        if self.proofs.missing(tree, CHECK):
            self.runs += 1
            good = self.is_good((*self.held, *part))
            self.proofs = self.proofs.green(tree, CHECK) if good else self.proofs.red(tree, *CHECK)
        return not self.proofs.is_red(tree, CHECK)

    def land(self, waiting, size, limit=4):
        """All that waits, train by train; returns the size of the next batch."""
        while waiting:
            parts, whole = batch(waiting, size), True
            waiting = waiting[len(parts.first) :]
            while parts.waiting:
                good = self.try_part(parts.first)
                if whole:
                    size, whole = size_after(size, limit, green=good), False
                if good:
                    self.held += parts.first
                    self.values.append(tuple(self.held))
                    parts = parts.rest
                elif len(parts.first) == 1:
                    self.back += parts.first
                    parts = parts.rest
                else:
                    parts = parts.split()
        return size


@given(
    count=st.integers(0, 30),
    bad=st.sets(st.integers(0, 29)),
    pairs=st.sets(st.tuples(st.integers(0, 29), st.integers(0, 29)), max_size=5),
    size=st.integers(1, 8),
)
def test_every_value_is_good_and_every_candidate_lands_or_goes_back_once(count, bad, pairs, size):
    """Broken candidates and pairs that contradict each other never reach the line; the rest do."""
    quarrels = [{f"t{one}", f"t{two}"} for one, two in pairs if one != two]

    def is_good(held):
        whole = set(held)
        broken = any(f"t{number}" in whole for number in bad)
        return not broken and not any(pair <= whole for pair in quarrels)

    names = [f"t{number}" for number in range(count)]
    line = Line(is_good)
    line.land(names, size, limit=8)
    assert all(is_good(value) for value in line.values)
    assert sorted(line.held + line.back) == sorted(names)
    assert len(set(line.held)) == len(line.held)
    alone = {name for name in names if not is_good((name,))}
    assert alone <= set(line.back)
    quarrelsome = {name for pair in quarrels for name in pair}
    assert set(line.back) <= alone | quarrelsome


@pytest.mark.parametrize(("share", "most"), [(0.02, 0.4), (0.1, 0.65), (0.25, 1.0)])
def test_a_train_verifies_less_often_than_one_by_one(share, most):
    """Verify runs for each candidate, over 200 candidates and some seeds."""
    ratios = []
    for seed in range(20):
        draw = random.Random(seed)
        bad = {f"t{number}" for number in range(200) if draw.random() < share}
        line = Line(lambda held, bad=bad: bad.isdisjoint(held))
        line.land([f"t{number}" for number in range(200)], 4)
        ratios.append(line.runs / 200)
        assert set(line.back) == bad
    assert sum(ratios) / len(ratios) <= most


def test_a_part_of_a_batch_gets_no_newcomers():
    """One broken candidate that keeps meeting newcomers would fail batch after batch."""
    parts = batch(["a", "b", "c", "d", "e"], 3)
    assert parts.waiting == (("a", "b", "c"),)
    assert parts.split().waiting == (("a", "b"), ("c",))
    assert parts.split().split().waiting == (("a",), ("b",), ("c",))
    assert parts.split().without(["c", "a"]) == Parts((("b",),))
    assert batch([], 3).waiting == ()


def test_the_size_halves_after_a_failure_and_grows_by_one():
    """At a quarter failing, large batches cost more than they save."""
    assert [size_after(4, 4, green=False), size_after(1, 4, green=False)] == [2, 1]
    assert [size_after(2, 4, green=True), size_after(4, 4, green=True)] == [3, 4]
    assert size_after(8, 2, green=True) == 2


def test_what_is_known_of_a_tree_is_not_asked_again():
    """A passed check is missing no more; the oldest trees are forgotten."""
    proofs = Proofs().green("t", ["a"])
    assert proofs.missing("t", ["a", "b"]) == ("b",)
    assert proofs.missing("u", ["a"]) == ("a",)
    for number in range(KEPT_PROOFS):
        proofs = proofs.green(f"t{number}", ["a"])
    assert proofs.missing("t", ["a"]) == ("a",)
    assert proofs.red("t", "b").is_red("t", ["a", "b"])
