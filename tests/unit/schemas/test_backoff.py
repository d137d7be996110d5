"""Pauses double with each failure in a row, up to the longest."""

from datetime import timedelta

import pytest

from fleet.schemas.backoff import Backoff

SECONDS = Backoff(1.0, 60.0)
SPANS = Backoff(timedelta(seconds=5), timedelta(minutes=10))


@pytest.mark.parametrize(("failures", "pause"), [(0, 1.0), (1, 2.0), (5, 32.0), (6, 60.0)])
def test_a_pause_doubles_with_each_failure_up_to_the_longest(failures, pause):
    """By the number of failures that came before."""
    assert SECONDS.pause(failures) == pause


def test_a_pause_follows_from_the_one_before():
    """For those who keep the pause and not a count; there was none before the first."""
    pauses = [SECONDS.first]
    for _ in range(6):
        pauses.append(SECONDS.after(pauses[-1]))
    assert pauses == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0]
    assert SPANS.after(timedelta()) == timedelta(seconds=5)


def test_a_count_of_failures_of_any_size_has_a_pause():
    """What fails for weeks must not overflow a span of time."""
    assert SPANS.pause(100_000) == timedelta(minutes=10)
