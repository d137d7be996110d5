"""An account's windows: kept apart by kind, believed as long as they last, and no longer."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as some

from fleet.accounts import rate_windows
from fleet.accounts.rate_windows import full_window, headroom, is_current, with_limit
from fleet.schemas import RateLimit
from tests.builders import HOUR, NOW


def told(*limits, now=NOW):
    known = {}
    for limit in limits:
        known = with_limit(known, limit, now)
    return known


def limit(kind="five_hour", status="allowed", used=None, hours=2):
    resets_at = None if hours is None else NOW + hours * HOUR
    return RateLimit(kind=kind, status=status, used_percent=used, resets_at=resets_at)


def test_windows_of_different_kinds_say_nothing_of_each_other():
    """A full week does not reset with the five hours."""
    known = told(limit(used=10), limit("weekly", "rejected", hours=50))
    assert full_window(known, "sonnet", 100, NOW).kind == "weekly"
    assert full_window(known, "sonnet", 100, NOW + 3 * HOUR).kind == "weekly"
    assert full_window(known, "sonnet", 100, NOW + 51 * HOUR) is None


@pytest.mark.parametrize(
    ("kind", "model", "shut"),
    [
        ("weekly_opus", "claude-opus-4-5", True),
        ("weekly_opus", "sonnet", False),
        ("weekly_sonnet", "sonnet[1m]", True),
        ("weekly_sonnet", "", False),
        ("weekly", "anything", True),
    ],
)
def test_a_models_own_window_binds_that_model_alone(kind, model, shut):
    """One may go on with haiku where the week of opus is over."""
    known = told(limit(kind, "rejected"))
    assert (full_window(known, model, 100, NOW) is not None) == shut


@pytest.mark.parametrize(("stop_at", "used", "shut"), [(90, 89.9, False), (90, 90, True)])
def test_a_reserve_is_kept(stop_at, used, shut):
    """New work stops where the user said, though the vendor would go on."""
    known = told(limit(used=used))
    assert (full_window(known, "sonnet", stop_at, NOW) is not None) == shut


def test_what_is_paid_for_beyond_the_plan_has_no_reserve():
    """Being used does not close it; being refused does."""
    assert full_window(told(limit("overage", used=99)), "", 50, NOW) is None
    assert full_window(told(limit("overage", "rejected")), "", 50, NOW) is not None


def test_throttling_is_no_window():
    """It is over in seconds; how fast one may go is another question."""
    assert told(limit("throttle", "rejected"), limit("overload", "rejected")) == {}


def test_a_reset_that_has_just_passed_is_tried_after_a_moment():
    """A busy machine reads a refusal late; five minutes more would be for nothing."""
    known = told(limit(status="rejected", hours=-10 / 3600))
    assert rate_windows.end_of(known["five_hour"]) == NOW + timedelta(seconds=5)


@pytest.mark.parametrize("hours", [-1, -1 / 60, 24 * 365, None])
def test_a_reset_that_cannot_be_is_none(hours):
    """In the past or a year ahead: refused all the same, and asked again after five minutes."""
    known = told(limit(status="rejected", hours=hours))
    assert full_window(known, "", 100, NOW) is not None
    assert rate_windows.end_of(known["five_hour"]) == NOW + rate_windows.UNDATED
    assert full_window(known, "", 100, NOW + rate_windows.UNDATED) is None


def test_news_of_a_window_that_is_over_closes_nothing():
    """A stream that is read again tells of the five hours before these."""
    assert full_window(told(limit(used=95, hours=-1)), "", 90, NOW) is None
    known = told(limit(used=20), limit(used=95, hours=-1))
    assert known["five_hour"].used_percent == 20


def test_a_full_window_whose_end_cannot_be_is_asked_again_soon():
    """Not after the hours for which a share without any end is believed."""
    known = told(limit(used=95, hours=24 * 365))
    assert full_window(known, "", 90, NOW) is not None
    assert full_window(known, "", 90, NOW + rate_windows.UNDATED) is None


@given(some.floats(allow_nan=True, allow_infinity=True))
def test_any_usage_is_made_sense_of(used):
    """Negative, beyond all, no number: what is kept is a share, or nothing."""
    kept = told(limit(used=used))["five_hour"].used_percent
    assert kept is None or 0 <= kept <= 100
    assert 0 <= headroom(told(limit(used=used)), "", 90, NOW) <= 1


def test_credit_that_is_gone_is_looked_at_again_after_an_hour():
    """No reset is told of, since only a person can pay."""
    known = told(limit("credit", "rejected", hours=None))
    assert full_window(known, "", 100, NOW + 0.9 * HOUR) is not None
    assert full_window(known, "", 100, NOW + 1.1 * HOUR) is None


def test_a_bare_word_that_all_is_well_takes_nothing_back():
    """A CLI says "allowed" without figures in every run."""
    known = told(limit(used=70), limit(hours=None))
    assert known["five_hour"].used_percent == 70


def test_a_clock_that_was_set_back_makes_old_dates_worthless():
    """Better to meet the wall once more than to wait for a date that may be weeks away."""
    (window,) = told(limit(status="rejected", hours=5)).values()
    assert is_current(window, NOW - 10 * timedelta(minutes=1))
    assert not is_current(window, NOW - timedelta(days=30))


def test_what_is_over_is_forgotten_when_something_new_comes():
    """The file does not grow."""
    later = NOW + 3 * HOUR
    known = with_limit(told(limit(used=10)), limit("weekly", used=1, hours=90), later)
    assert list(known) == ["weekly"]


@given(some.lists(some.builds(limit, used=some.floats(0, 100)), min_size=1), some.integers(1, 100))
def test_room_is_what_the_fullest_window_leaves(limits, stop_at):
    """And an account without any is shut."""
    known = told(*limits)
    room = headroom(known, "", stop_at, NOW)
    assert (room == 0) == (full_window(known, "", stop_at, NOW) is not None)
