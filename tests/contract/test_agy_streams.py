"""What fleet makes of agy, as far as a faithful stand-in can tell."""

from datetime import timedelta
from pathlib import Path

import pytest

from fleet.coders import make
from fleet.coders.base import Options
from fleet.coders.stream.run_totals import RunTotals
from fleet.schemas import Failed, Finished, RateLimit, RateLimited, Usage
from tests.builders import a_task
from tests.fakes import run_agy
from tests.streams import READ_AT

TASK_DIR = Path("/h/tasks/fleet-abc")


def run(scenario, *, permissions="bypass", **env):
    coder = make("agy", options=Options(permissions=permissions))
    done = run_agy(scenario, *coder.build_argv(a_task(), TASK_DIR)[1:], **env)
    reading = RunTotals()
    # Lines end in "\n" and in nothing else: other line breaks stand inside its strings.
    for line in done.stdout.split("\n"):
        reading.add(coder.read(line, READ_AT))
    assert (reading.kinds["unknown"], reading.kinds["bad"]) == (0, 0)
    return coder.outcome(reading, done.returncode, None, stderr=done.stderr), reading


def test_a_run_that_worked_is_finished():
    """Its tools, tokens and conversation are known."""
    outcome, reading = run("success", FAKE_AGY_RUN="echo hello")
    assert outcome == Finished(text="All done.")
    assert (reading.tools.count, reading.tools.open, reading.tools.failed) == (1, {}, 0)
    assert reading.tokens.usage == Usage(input=5000, cache_read=9000, output=80)
    assert reading.session_id == "6f1f5c52-6a55-4a5e-9d3b-0d5a6f1c2b3a"
    assert reading.model == "gemini-3-pro"
    assert reading.tokens.context_tokens == 14_000


def test_a_failed_tool_is_an_error_of_the_tool_alone():
    """The run goes on and ends well."""
    outcome, reading = run("success", FAKE_AGY_RUN="exit 3")
    assert isinstance(outcome, Finished)
    assert reading.tools.failed == 1


@pytest.mark.parametrize(
    ("scenario", "reason"),
    [
        ("denied", "denied"),
        ("timeout", "timeout"),
        ("empty", "empty"),
        ("signed_out", "auth"),
        ("bad_model", "model_not_found"),
    ],
)
def test_its_word_of_success_is_not_enough(scenario, reason):
    """Three of these say SUCCESS and exit 0."""
    outcome, _ = run(scenario)
    assert isinstance(outcome, Failed)
    assert outcome.reason == reason


def test_a_refused_tool_is_named():
    """A person has to know what to allow."""
    assert run("denied")[1].denied == ("run_command",)


def test_a_used_up_quota_ends_when_it_says():
    """The wait is told in words, in the CLI's own error field."""
    wait = timedelta(minutes=34, seconds=13)
    limit = RateLimit(
        kind="usage", status="rejected", resets_at=READ_AT + wait, retry_after=wait.total_seconds()
    )
    ended = run("quota")[0]
    assert (ended.limit, bool(ended.detail)) == (limit, True)


def test_a_quota_told_by_the_exit_code_alone_is_a_limit_too():
    """The stream may be lost with a full disk; the code is not."""
    assert isinstance(make("agy").outcome(RunTotals(), 3, None), RateLimited)


def test_the_stand_in_takes_the_next_word_for_the_prompt():
    """The trap that the coder's one-word form avoids is in the stand-in."""
    done = run_agy("success", "-p", "--output-format", "stream-json")
    assert done.returncode == 2
    assert run_agy("success").stdout == ""
