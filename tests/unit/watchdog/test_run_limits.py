"""What a run may use: a warning at four fifths, an end at the whole, and nothing before."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from fleet.schemas import LimitExceeded, Limits
from fleet.watchdog.run_limits import Used, exceeded, near

LIMITS = Limits(
    time=100, turns=10, tokens=1000, cost=5, output=1 << 20, memory=1 << 30, processes=20
)
EACH = ["time", "turns", "tokens", "cost", "output", "memory", "processes"]


@pytest.mark.parametrize("name", EACH)
def test_a_limit_warns_and_then_ends(name):
    """Each of them, at the same shares."""
    whole = getattr(LIMITS, name)
    assert near(Used(**{name: whole * 0.79}), LIMITS) == ()
    (mark,) = near(Used(**{name: whole * 0.8}), LIMITS)
    assert str(mark) == f"{name} 80 %"
    assert exceeded(Used(**{name: whole * 0.99}), LIMITS) is None
    passed = exceeded(Used(**{name: whole}), LIMITS)
    assert isinstance(passed, LimitExceeded)
    assert passed.limit == name
    (mark,) = near(Used(**{name: whole * 5.4}), LIMITS)
    assert str(mark) == f"{name} over its limit"


def test_what_was_used_is_told_with_what_may_be():
    """In the units of people."""
    assert exceeded(Used(cost=5.5), LIMITS).detail == "it cost $5.50; its limit is $5"
    assert exceeded(Used(time=7200), Limits(time=3600)).detail == "it ran for 2h; its limit is 1h"
    assert exceeded(Used(tokens=1234), LIMITS).detail == "it took 1,234 tokens; its limit is 1,000"


@given(some.fixed_dictionaries({name: some.floats(0, 2e9) for name in EACH}))
def test_nobody_is_ended_without_having_been_warned(used):
    """A passed limit is always among the near ones."""
    found = exceeded(Used(**used), LIMITS)
    if found is not None:
        assert found.limit in {mark.limit for mark in near(Used(**used), LIMITS)}
