"""Moments as people type them."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.bd.arguments.natural_time import read_time

NOW = datetime(2026, 11, 15, 19, 31, 58, 250000, tzinfo=UTC)  # a Sunday

#: As bd 1.3 answered at that moment, but for the seconds that it keeps below an hour of the day.
READ = {
    "+6h": "2026-11-16T01:31:58",
    "+1d": "2026-11-16T19:31:58",
    "+2w": "2026-11-29T19:31:58",
    "3m": "2027-02-15T19:31:58",
    "30m": "2029-05-15T19:31:58",
    "+1y": "2027-11-15T19:31:58",
    "-1d": "2026-11-14T19:31:58",
    "-2h": "2026-11-15T17:31:58",
    "today": "2026-11-15T19:31:58",
    " Tomorrow ": "2026-11-16T19:31:58",
    "yesterday": "2026-11-14T19:31:58",
    "next monday": "2026-11-16T19:31:58",
    "monday": "2026-11-16T19:31:58",
    "tue": "2026-11-17T19:31:58",
    "sunday": "2026-11-22T19:31:58",
    "this sunday": "2026-11-15T19:31:58",
    "next sunday": "2026-11-22T19:31:58",
    "tomorrow 9am": "2026-11-16T09:00:00",
    "tomorrow at 5:30 pm": "2026-11-16T17:30:00",
    "next thursday at 3pm": "2026-11-19T15:00:00",
    "at 17:30": "2026-11-15T17:30:00",
    "12am": "2026-11-15T00:00:00",
    "in 2 hours": "2026-11-15T21:31:58",
    "in an hour": "2026-11-15T20:31:58",
    "in 1 month": "2026-12-15T19:31:58",
    "3 days ago": "2026-11-12T19:31:58",
    "2027-01-01": "2027-01-01T00:00:00",
    "9999-12-31": "9999-12-31T00:00:00",
    "2027-01-01 10:00": "2027-01-01T10:00:00",
    "2027-01-01 10:00:00": "2027-01-01T10:00:00",
    "2027-01-01T10:00:00Z": "2027-01-01T10:00:00",
    "2027-01-01t10:00:00z": "2027-01-01T10:00:00",
    "2027-01-01T10:00:00+02:00": "2027-01-01T08:00:00",
}


@pytest.mark.parametrize(("text", "meant"), READ.items())
def test_a_moment_is_read_as_bd_reads_it(text, meant):
    """Durations, dates, stamps and plain words lead to the moment that bd gives."""
    found = read_time(text, NOW, UTC)
    assert found is not None
    assert found.replace(microsecond=0, tzinfo=None).isoformat() == meant


@pytest.mark.parametrize(
    "text",
    ["", "garbage", "next week", "next month", "+1.5h", "+5min", "+1s", "+ 1d", "5 days",
     "2027-13-01", "2027-02-30", "25:00", "13pm", "+99999y", "in banana days", "monday banana",
     "tomorrow 5", "eod", "in 2 days ago", "2 days", "last friday", "noon"],
)  # fmt: skip
def test_what_means_no_moment_is_refused(text):
    """A text that is not surely a moment gives none, instead of a guess."""
    assert read_time(text, NOW, UTC) is None


def test_a_date_begins_where_the_user_is():
    """Dates and hours of the day are local, summer time included."""
    zone = ZoneInfo("America/New_York")
    assert read_time("2027-07-01", NOW, zone) == datetime(2027, 7, 1, 4, tzinfo=UTC)
    assert read_time("tomorrow 9am", NOW, zone) == datetime(2026, 11, 16, 14, tzinfo=UTC)


@given(st.integers(0, 400_000))
def test_days_add_up(days):
    """`+Nd` is N days later, for as long as the calendar lasts."""
    assert read_time(f"+{days}d", NOW, UTC) == NOW + timedelta(days=days)


@given(st.text(max_size=40))
def test_no_text_breaks_the_reader(text):
    """Whatever stands there, the answer is a moment in UTC or none."""
    found = read_time(text, NOW, UTC)
    assert found is None or found.tzinfo is UTC
