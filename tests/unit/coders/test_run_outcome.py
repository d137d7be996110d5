"""How a run ended: the one rule over stream and process."""

import pytest

from fleet.coders.stream.run_outcome import outcome
from fleet.coders.stream.run_totals import RunTotals
from fleet.schemas import (
    ContextFull,
    Event,
    Failed,
    Finished,
    LimitExceeded,
    Lost,
    RateLimit,
    RateLimited,
)

STARTED = Event(kind="session_started", session_id="s")
SAID = Event(kind="assistant_text", text="All done.")
GOOD = Event(kind="session_ended", terminal="success")
OUTAGE = RateLimit(kind="outage", status="rejected")
OVERLOAD = RateLimit(kind="overload", status="rejected")
THROTTLE = RateLimit(kind="throttle", status="rejected")


def bad(reason=None, text="it said"):
    return Event(kind="session_ended", terminal="error", reason=reason, text=text)


def ended(*events, exit=0, signal=None, **facts):  # noqa: A002
    reading = RunTotals()
    for event in events:
        reading.add(event)
    return outcome(reading, exit, signal, **facts)


def test_success_is_a_word_of_success_and_exit_0():
    """Both, and the last words are kept."""
    assert ended(STARTED, SAID, GOOD) == Finished(text="All done.")


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ({"events": [STARTED, GOOD], "exit": 1}, "exit_code"),
        ({"events": [STARTED, GOOD], "exit": None, "signal": 9}, "killed"),
        ({"events": [STARTED, GOOD], "exit": 137}, "killed"),
        ({"events": [STARTED], "exit": 0}, "no_ending"),
        ({"events": [STARTED], "exit": 1}, "no_ending"),
        ({"events": [STARTED], "exit": 143}, "killed"),
        ({"events": [], "exit": 0}, "never_started"),
        ({"events": [], "exit": 1}, "never_started"),
        ({"events": [STARTED, bad()], "exit": 0}, "unknown"),
        ({"events": [STARTED, bad("auth")], "exit": 1}, "auth"),
        ({"events": [STARTED, bad("a word of a plug-in")], "exit": 1}, "unknown"),
    ],
)
def test_half_a_success_is_a_failure_with_a_reason(how, reason):
    """Exit 0 without the word, the word without exit 0: neither is success."""
    events = how.pop("events")
    failed = ended(*events, **how)
    assert isinstance(failed, Failed)
    assert failed.reason == reason


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("prompt_too_long", ContextFull()),
        ("max_turns", LimitExceeded(limit="turns", detail="it said")),
        ("budget", LimitExceeded(limit="cost", detail="it said")),
        ("api_error", RateLimited(limit=OUTAGE, detail="it said")),
        ("overloaded", RateLimited(limit=OVERLOAD, detail="it said")),
        ("rate_limit", RateLimited(limit=THROTTLE, detail="it said")),
        ("refusal", Failed(reason="refusal", detail="it said")),
        ("denied", Failed(reason="denied", detail="it said")),
    ],
)
def test_each_reason_has_its_outcome(reason, expected):
    """What must be retried in another way is another type."""
    assert ended(STARTED, bad(reason), exit=1) == expected


def test_what_a_cli_printed_in_plain_words_is_the_detail():
    """`You've hit your session limit` stood in no record."""
    said = Event(kind="bad", text="You've hit your session limit \u00b7 resets 7:45pm")
    assert ended(said, exit=1).detail == said.text


def test_an_agent_that_talks_of_limits_is_not_limited():
    """Text that an agent printed is never a reason, whatever it says."""
    talk = Event(kind="assistant_text", text="API Error: 429 rate_limit: you hit your usage limit")
    assert ended(STARTED, talk, GOOD) == Finished(text=talk.text)
    assert ended(STARTED, talk, exit=1).reason == "no_ending"


def test_a_refused_run_that_was_killed_is_still_refused():
    """A retry at once would meet the same wall."""
    limit = RateLimit(kind="weekly", status="rejected")
    refused = Event(kind="rate_limit", reason="rate_limit", limits=(limit,))
    assert ended(STARTED, refused, exit=None, signal=15) == RateLimited(limit=limit)
    assert ended(STARTED, refused, SAID, exit=None, signal=15).reason == "killed"


def test_no_record_of_an_end_is_a_lost_run():
    """Nothing is made up where nothing is known."""
    assert isinstance(ended(STARTED, GOOD, exit=None), Lost)


def test_an_exit_code_of_the_clis_own_explains_an_end():
    """Some CLIs say by number what they do not say in the stream."""
    codes = {3: "rate_limit", 173: "rate_limit"}
    assert isinstance(ended(exit=3, exit_reasons=codes), RateLimited)
    assert isinstance(ended(STARTED, bad(), exit=173, exit_reasons=codes), RateLimited)
    assert ended(STARTED, bad("auth"), exit=3, exit_reasons=codes).reason == "auth"


def test_a_cli_without_an_ending_is_believed_on_exit_0():
    """Unless it told an error on the way."""
    facts = {"prints_ending": False}
    assert ended(STARTED, SAID, **facts) == Finished(text="All done.")
    error = Event(kind="error", reason="api_error", text="500")
    assert ended(STARTED, error, **facts) == RateLimited(limit=OUTAGE, detail="500")


def test_the_last_words_on_stderr_explain_what_the_stream_does_not():
    """They are shown to a person, and decide nothing."""
    failed = ended(exit=1, stderr="x" * 900 + " cannot be used with root privileges\n")
    assert failed.reason == "never_started"
    assert failed.detail.endswith("cannot be used with root privileges")
    assert len(failed.detail) == 500


def test_a_cause_on_stderr_is_shown_in_whole_lines_without_a_stack_trace():
    """Half a word of a frame told a person nothing."""
    frames = "".join(f"    at work (/opt/cli/{number:04}.js:1:2)\n" for number in range(40))
    stderr = (
        f"Error: no space left\n{frames}TypeError: cannot read\n    at end (x.js:1)\nNode.js v20.1"
    )
    assert ended(exit=1, stderr=stderr).detail == "TypeError: cannot read"


def test_a_crash_in_python_is_told_by_its_last_line():
    """Neither by the code of a frame nor by the marks below it, also where the trace is cut."""
    frame = '  File "/opt/cli/main.py", line 7, in main\n    work(values[0])\n    ~~~~^^^^^^^^^^\n'
    trace = "Traceback (most recent call last):\n{}ValueError: boom\n"
    for frames in (frame, frame * 20):
        assert ended(STARTED, exit=1, stderr=trace.format(frames)).detail == "ValueError: boom"


def test_a_last_line_without_words_keeps_the_error_that_was_told():
    """Some CLIs tell the error first, and end with an empty line of failure."""
    told = Event(kind="error", reason="bad_request", text="the model is unknown")
    last = Event(kind="session_ended", terminal="error")
    assert ended(STARTED, told, last, exit=1) == Failed(
        reason="bad_request", detail="the model is unknown"
    )


def test_an_error_that_ended_the_work_is_not_undone_by_a_last_word_of_success():
    """Gemini stops a loop with an error and then calls the session a success."""
    loop = Event(kind="error", terminal="error", reason="aborted", text="Loop detected")
    assert ended(STARTED, loop, GOOD) == Failed(reason="aborted", detail="Loop detected")


def test_an_outage_is_no_doing_of_a_full_window():
    """A window that is nearly full says nothing of a service that fails."""
    full = RateLimit(kind="weekly", status="warning", used_percent=99.0)
    failed = Event(kind="session_ended", terminal="error", reason="api_error", limits=(full,))
    assert ended(STARTED, failed, exit=1) == RateLimited(limit=OUTAGE)


def test_only_a_login_or_money_is_the_accounts_fault():
    """Any other task on that account would fail in the same way."""
    assert Failed(reason="auth").is_account
    assert Failed(reason="billing").is_account
    assert Failed(reason="no_key").is_account
    assert not Failed(reason="bad_request").is_account
