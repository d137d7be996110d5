"""Lines of cron: what is refused, and which moments they stand for."""

from datetime import UTC, datetime

import pytest

from fleet.errors import BadInput
from fleet.queue.cron_line import check_cron, next_due


def at(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    "line", ["", "nonsense", "61 * * * *", "* * * *", "* * * * * *", "0 0 30 2 *", "@never"]
)
def test_a_line_that_cannot_be_read_is_refused(line):
    """And the error shows one that can."""
    with pytest.raises(BadInput) as refused:
        check_cron(line, "UTC")
    assert "0 3 * * *" in refused.value.hint


@pytest.mark.parametrize("line", ["*/90 * * * *", "0 */25 * * *", "5,10-50/61 * * * *"])
def test_a_step_beyond_its_field_is_refused(line):
    """*/90 would fire once an hour; */60 says the same as 0."""
    with pytest.raises(BadInput, match="has a step of"):
        check_cron(line, "UTC")
    assert check_cron("*/60 */24 * * *", "UTC")


def test_an_unknown_zone_is_refused():
    """A misspelt zone would fire at another hour."""
    with pytest.raises(BadInput, match="Mars"):
        check_cron("* * * * *", "Mars/Olympus")


@pytest.mark.parametrize(
    ("after", "due"),
    [
        ("2026-03-28T12:00", "2026-03-29T01:00"),  # 3:00 in Berlin, just after 2:00 became 3:00
        ("2026-07-01T00:00", "2026-07-01T01:00"),
        ("2026-12-01T02:00", "2026-12-02T02:00"),
    ],
)
def test_moments_are_those_of_the_zone(after, due):
    """Three at night stays three at night when the clocks change."""
    assert next_due("0 3 * * *", "Europe/Berlin", at(after)) == at(due)


def test_names_of_cron_are_lines():
    """`@daily` is what people type."""
    assert check_cron("@daily", "UTC") == "0 0 * * *"
