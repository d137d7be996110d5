"""The fold of a run's events."""

from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest

from fleet.coders.stream.run_totals import RunTotals, TokenTotals
from fleet.schemas import Event, RateLimit, ToolCall, ToolResult, Usage
from tests.builders import NOW


def read(*events):
    reading = RunTotals()
    for event in events:
        reading.add(event)
    return reading


def call(n):
    return ToolCall(id=str(n), name="shell")


def test_a_line_of_no_interest_changes_nothing():
    """None is what a coder says to a line it has no use for."""
    assert read(None) == RunTotals()


def test_an_answer_in_several_lines_counts_once():
    """Each line of an answer repeats the answer's tokens."""
    part = Event(kind="assistant_text", message_id="m1", tokens=Usage(input=100))
    other = Event(kind="assistant_text", message_id="m2", tokens=Usage(input=100))
    reading = read(part, part, other, part)
    assert reading.tokens.usage == Usage(input=200)
    assert reading.tokens.turns == 2


def test_the_count_of_the_run_replaces_what_was_added_up():
    """The CLI's own sum, subagents and all, is better than ours."""
    reading = read(
        Event(kind="assistant_text", message_id="m1", tokens=Usage(input=100, output=1)),
        Event(kind="session_ended", tokens=Usage(input=150, output=40), tokens_of="run"),
    )
    assert reading.tokens.usage == Usage(input=150, output=40)


def test_a_count_of_the_run_beats_one_of_the_session():
    """The session's count holds the runs before; the run's own does not."""
    reading = read(
        Event(kind="usage", tokens=Usage(input=10), tokens_of="run"),
        Event(kind="session_ended", tokens=Usage(input=500), tokens_of="session"),
    )
    assert (reading.tokens.usage.input, reading.tokens.session_usage.input) == (10, 500)


def test_a_session_that_counts_from_zero_again_counts_whole():
    """What was before can only be taken off a count that holds it."""
    reading = RunTotals(tokens=TokenTotals(before=Usage(input=900)))
    reading.add(Event(kind="session_ended", tokens=Usage(input=100), tokens_of="session"))
    assert reading.tokens.usage == Usage(input=100)


def test_an_open_call_is_one_without_a_result():
    """A watchdog has to know whether a tool is at work."""
    reading = read(
        Event(kind="tool_use", calls=(call(1), call(2))),
        Event(kind="tool_result", results=(ToolResult(id="1", is_error=True),)),
    )
    assert list(reading.tools.open) == ["2"]
    assert (reading.tools.count, reading.tools.failed) == (2, 1)


def test_an_end_that_names_its_call_again_is_one_call():
    """Some CLIs tell the call only with its result, some both times."""
    told_twice = Event(kind="tool_result", calls=(call(1),), results=(ToolResult(id="1"),))
    assert read(Event(kind="tool_use", calls=(call(1),)), told_twice).tools.count == 1
    assert read(told_twice).tools.count == 1


def test_an_error_that_was_got_over_is_no_reason():
    """A refused request that a retry healed does not explain a later end."""
    error = Event(kind="error", reason="api_error", text="500")
    assert read(error).reason == "api_error"
    assert read(error, Event(kind="assistant_text", text="on we go")).reason == ""


def test_the_error_before_the_end_explains_it():
    """The last line often only says that it failed."""
    reading = read(
        Event(kind="error", reason="billing", text="no credit"),
        Event(kind="session_ended", terminal="error", text="no credit"),
    )
    assert (reading.terminal, reading.reason, reading.error) == ("error", "billing", "no credit")


def test_a_new_turn_of_the_same_process_starts_afresh():
    """Only the last turn's word counts as the run's."""
    reading = read(
        Event(kind="session_ended", terminal="error", reason="aborted"),
        Event(kind="session_started"),
    )
    assert (reading.terminal, reading.reason) == (None, "")


def test_a_wait_becomes_a_time():
    """A CLI that says 'in 90 seconds' and one that says when mean the same."""
    limit = RateLimit(kind="usage", status="rejected", retry_after=90)
    reading = read(Event(kind="rate_limit", limits=(limit,), ts=NOW))
    assert reading.limits["usage"].resets_at == NOW + timedelta(seconds=90)


@pytest.mark.parametrize("wait", [-5.0, 1e300])
def test_an_absurd_wait_does_no_harm(wait):
    """A number out of any range is a mistake of the CLI, not an exception of ours."""
    limit = RateLimit(kind="usage", status="rejected", retry_after=wait)
    resets = read(Event(kind="rate_limit", limits=(limit,), ts=NOW)).limits["usage"].resets_at
    assert NOW <= resets <= NOW + timedelta(days=31)


LATER = NOW + timedelta(hours=3)


@pytest.mark.parametrize(
    ("limits", "kind"),
    [
        ([], "throttle"),
        ([RateLimit(kind="five_hour", resets_at=LATER, used_percent=40)], "throttle"),
        ([RateLimit(kind="credit", status="rejected")], "credit"),
        (
            [
                RateLimit(kind="usage", status="rejected"),
                RateLimit(kind="weekly", resets_at=LATER, used_percent=60),
                RateLimit(kind="five_hour", resets_at=LATER, used_percent=100),
            ],
            "five_hour",
        ),
        (
            [
                RateLimit(kind="five_hour", resets_at=LATER, used_percent=100),
                RateLimit(kind="weekly", status="rejected", resets_at=LATER),
            ],
            "weekly",
        ),
    ],
)
def test_a_refusal_is_that_of_the_limit_that_was_named_or_is_full(limits, kind):
    """An account cools until its reset, so the limit with an end is the one to know."""
    refused = read(Event(kind="usage", limits=tuple(limits))).refusal("rate_limit")
    assert (refused.kind, refused.status) == (kind, "rejected")


def test_a_limit_that_is_allowed_again_is_no_refusal():
    """The last word on each window counts."""
    reading = read(
        Event(kind="rate_limit", limits=(RateLimit(kind="weekly", status="rejected"),)),
        Event(kind="rate_limit_info", limits=(RateLimit(kind="weekly"),)),
    )
    assert reading.refusal("rate_limit").kind == "throttle"


def test_the_end_of_a_run_leaves_no_call_open():
    """Neither by its word of success nor by an ending without one."""
    began = Event(kind="tool_use", calls=(call(1),))
    assert not read(began, Event(kind="result", terminal="success")).tools.open
    assert not read(began, Event(kind="session_ended")).tools.open


def test_the_ending_of_another_session_ends_nothing():
    """A tool that prints into the agent's own stream cannot say that the agent is done."""
    begun = Event(kind="session_started", session_id="own")
    forged = Event(kind="session_ended", session_id="other", terminal="success", text="Done.")
    reading = RunTotals()
    for event in (begun, forged):
        reading.add(event)
    assert (reading.terminal, reading.text, reading.kinds["bad"]) == (None, "", 1)
    reading.add(Event(kind="session_ended", session_id="own", terminal="success", text="Done."))
    assert reading.terminal == "success"


@pytest.mark.parametrize("absurd", [-1, 10**30, float("nan"), float("inf"), -(10**400)])
def test_what_anybodys_coder_counts_is_sane_or_nothing(absurd):
    """One bad line neither takes away what was counted nor adds an impossible sum."""
    before = Event(kind="usage", tokens=Usage(input=7), cost_usd=0.5)
    bad = Event(
        kind="usage", tokens=Usage(input=absurd, output=3), cost_usd=absurd, context_tokens=absurd
    )
    reading = read(before, bad)
    assert (reading.tokens.usage, reading.tokens.cost_usd) == (Usage(input=7, output=3), 0.5)
    assert reading.tokens.context_tokens is None


def test_a_cost_that_is_no_number_is_none():
    """A plugin may give a text for a cost."""
    assert read(Event(kind="usage", cost_usd="0.5")).tokens.cost_usd is None
    assert read(Event(kind="usage", cost_usd=True)).tokens.cost_usd is None


def test_a_run_that_was_cut_off_uncounted_is_known_in_part_only():
    """Its CLI counts answers as they begin: the sum is the least, and nought is no cost."""
    begun = Event(
        kind="assistant_text",
        message_id="m1",
        tokens=Usage(input=6500, output=1),
        tokens_of="begun",
    )
    cut_off = read(begun, Event(kind="session_ended", terminal="error", cost_usd=0.0))
    assert (cut_off.tokens.partial, cut_off.tokens.cost_usd) == (True, None)
    counted = Event(
        kind="session_ended", tokens=Usage(input=6500, output=900), tokens_of="run", cost_usd=0.02
    )
    whole = read(begun, counted)
    assert (whole.tokens.partial, whole.tokens.cost_usd) == (False, 0.02)
    refused = read(Event(kind="session_ended", terminal="error", cost_usd=0.0))
    assert (refused.tokens.partial, refused.tokens.cost_usd) == (False, 0.0)


def test_the_window_is_that_of_the_agents_own_model():
    """A subagent's model may hold more or less; a name that fits none leaves the largest."""
    told = Event(kind="session_ended", context_windows={"haiku": 200_000, "sonnet-5": 1_000_000})
    assert read(Event(kind="x", model="haiku"), told).tokens.context_window == 200_000
    assert read(Event(kind="x", model="sonnet-5[1m]"), told).tokens.context_window == 1_000_000
    assert read(Event(kind="x", context_window=-1)).tokens.context_window is None


@pytest.mark.parametrize(
    ("words", "hour", "minute"),
    [
        ("You\u2019ve hit your usage limit. Visit x or try again at 7:21 PM.", 19, 21),
        ("You've hit your session limit · resets 7:45pm", 19, 45),
        ("limit reached, resets at 12am", 0, 0),
    ],
)
def test_a_time_of_day_in_the_words_of_a_refusal_is_its_reset(words, hour, minute):
    """Where no header names the moment: the next one that this machine's clock shows."""
    limit = RateLimit(kind="usage", status="rejected")
    totals = RunTotals()
    totals.add(Event(kind="rate_limit", ts=NOW, text=words, reason="rate_limit", limits=(limit,)))
    found = totals.refusal("rate_limit").resets_at
    local = found.astimezone()
    assert (local.hour, local.minute) == (hour, minute)
    assert timedelta(minutes=-1) < found - NOW <= timedelta(days=1)


def test_a_zone_in_brackets_is_that_of_the_time_of_day():
    """Claude names the user's zone; this machine's clock may have another."""
    for zone in ("UTC", "America/New_York", "Mars/Olympus"):
        limit = RateLimit(kind="usage", status="rejected")
        words = f"You've hit your session limit \u00b7 resets 7:23pm ({zone})"
        totals = RunTotals()
        totals.add(Event(kind="rate_limit", ts=NOW, text=words, reason="x", limits=(limit,)))
        found = totals.refusal("rate_limit").resets_at
        known = ZoneInfo(zone) if zone != "Mars/Olympus" else None
        local = found.astimezone(known)
        assert (local.hour, local.minute) == (19, 23)


def test_a_refusal_that_is_not_the_usage_limit_closes_no_window():
    """In the CLI's own words; the window may be nearly full all the same."""
    full = RateLimit(kind="five_hour", status="warning", used_percent=97.0, resets_at=NOW)
    words = "API Error: Request rejected (429) \u00b7 Server is busy (not your usage limit)"
    totals = RunTotals()
    totals.add(Event(kind="rate_limit_info", limits=(full,)))
    totals.add(Event(kind="rate_limit", text=words, reason="rate_limit"))
    assert totals.refusal("rate_limit").kind == "throttle"


@pytest.mark.parametrize("words", ["try again at 25:00 PM", "resets soon", "at 7:21 PM", ""])
def test_words_without_a_time_of_day_name_no_reset(words):
    """The account is tried again after a few minutes then."""
    limit = RateLimit(kind="usage", status="rejected")
    totals = RunTotals()
    totals.add(Event(kind="rate_limit", ts=NOW, text=words, reason="rate_limit", limits=(limit,)))
    assert totals.refusal("rate_limit").resets_at is None
