"""The rules of a train: what lands, what goes back, and how often is verified."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from fleet.landing.train_rules import FailingShare, Parts, batch
from fleet.landing.train_store import FailedCheck, Learnt

CHECK = ("make test",)


class Line:
    """A branch on which candidates land; a tree is the set of what it holds."""

    def __init__(self, is_good):
        self.held, self.values, self.runs = [], [()], 0
        self.back, self.is_good, self.learnt = [], is_good, Learnt()

    def try_part(self, part):
        """Whether the line with these candidates passes; a known tree is not verified again."""
        tree = repr((*self.held, *part))
        learnt = self.learnt
        if not learnt.failing(tree, CHECK) and learnt.missing(tree, CHECK):
            self.runs += 1
            failed = {**learnt.failed, tree: FailedCheck(check=CHECK[0])}
            good = self.is_good((*self.held, *part))
            self.learnt = (
                learnt.with_passed(tree, CHECK) if good else structs.replace(learnt, failed=failed)
            )
        return not self.learnt.failing(tree, CHECK)

    def land(self, waiting, limit=4):
        """All that waits, train by train; returns the most runs that a batch took."""
        share, longest = FailingShare(), 0
        while waiting:
            parts, before = batch(waiting, share.batch_size(limit)), self.runs
            while parts.waiting:
                part = parts.first
                good = self.try_part(part)
                if good:
                    self.held += part
                    self.values.append(tuple(self.held))
                elif len(part) == 1:
                    self.back += part
                if good or len(part) == 1:
                    share = share.after(len(part), green=good)
                    waiting = [each for each in waiting if each not in part]
                parts = parts.rest if good else parts.split()
            longest = max(longest, self.runs - before)
        return longest


@given(
    count=st.integers(0, 30),
    bad=st.sets(st.integers(0, 29)),
    pairs=st.sets(st.tuples(st.integers(0, 29), st.integers(0, 29)), max_size=5),
    limit=st.integers(1, 8),
)
def test_every_value_is_good_and_every_candidate_lands_or_goes_back_once(count, bad, pairs, limit):
    """Broken candidates and pairs that contradict each other never reach the line; the rest do."""
    quarrels = [{f"t{one}", f"t{two}"} for one, two in pairs if one != two]

    def is_good(held):
        whole = set(held)
        broken = any(f"t{number}" in whole for number in bad)
        return not broken and not any(pair <= whole for pair in quarrels)

    names = [f"t{number}" for number in range(count)]
    line = Line(is_good)
    longest = line.land(names, limit)
    # The batch, and then each half of what failed: no part is tried with newcomers.
    assert longest <= 1 + (limit - 1).bit_length()
    assert all(is_good(value) for value in line.values)
    assert sorted(line.held + line.back) == sorted(names)
    assert len(set(line.held)) == len(line.held)
    alone = {name for name in names if not is_good((name,))}
    assert alone <= set(line.back)
    quarrelsome = {name for pair in quarrels for name in pair}
    assert set(line.back) <= alone | quarrelsome


@pytest.mark.parametrize(
    ("share", "most", "worst"), [(0.02, 0.4, 0.4), (0.1, 0.65, 0.8), (0.25, 0.9, 1.0)]
)
def test_a_train_verifies_less_often_than_one_by_one(share, most, worst):
    """Verify runs for each candidate, over 200 candidates and some seeds: on average, and at the
    seed that goes worst.
    """
    ratios = []
    for seed in range(20):
        draw = random.Random(seed)
        bad = {f"t{number}" for number in range(200) if draw.random() < share}
        line = Line(lambda held, bad=bad: bad.isdisjoint(held))
        line.land([f"t{number}" for number in range(200)])
        ratios.append(line.runs / 200)
        assert set(line.back) == bad
    assert sum(ratios) / len(ratios) <= most
    assert max(ratios) <= worst


def test_a_part_of_a_batch_gets_no_newcomers():
    """One broken candidate that keeps meeting newcomers would fail batch after batch."""
    parts = batch(["a", "b", "c", "d", "e"], 3)
    assert parts.waiting == (("a", "b", "c"),)
    assert parts.split().waiting == (("a", "b"), ("c",))
    # Two that fail explain why all three did: c is as good as any other again.
    assert parts.split().split() == Parts((("a",), ("b",)), freed=(("c",),))
    assert parts.split().split().split() == Parts((), freed=(("b",), ("c",)))
    assert parts.split().split().others.waiting == (("b",), ("c",))
    assert parts.split().without(["c", "a"]) == Parts((("b",),))
    assert batch([], 3).waiting == ()


def test_batches_shrink_as_candidates_fail_and_grow_as_they_land():
    """A batch is as large as it is still likely to pass; at a quarter failing that are two."""
    share, sizes = FailingShare(), []
    for green in (False, False, False, True, True, True, True, True, True):
        sizes.append(share.batch_size(4))
        share = share.after(1, green=green)
    assert sizes == sorted(sizes[:4], reverse=True) + sorted(sizes[4:])
    assert (sizes[0], sizes[3], share.batch_size(4)) == (4, 2, 3)
    assert FailingShare(3, 1).batch_size(4) == 2
    assert FailingShare(0, 1).batch_size(4) == 1
    assert FailingShare(1, 0).batch_size(4) == 4
    assert FailingShare().batch_size(1) == 1
