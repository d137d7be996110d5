"""What fleet makes of every recorded run of `codex exec`, and of its rollout files."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec import structs

from fleet.coders.codex import CodexCoder
from fleet.coders.stream.run_totals import RunTotals, TokenTotals
from fleet.schemas import ContextFull, Failed, Finished, RateLimit, RateLimited, Usage
from tests.streams import READ_AT, lines, recorded, replay


def done(text="Done. All good.", *, calls=0):
    return Finished(text=text), {"calls": calls, "exit": 0}


def broke(reason, *, calls=0, exit=1, signal=None, started=True):  # noqa: A002
    return Failed(reason=reason), {
        "calls": calls, "exit": exit, "signal": signal, "started": started,
    }  # fmt: skip


def outage(*, calls=0, exit=1):  # noqa: A002
    limit = RateLimit(kind="outage", status="rejected")
    return RateLimited(limit=limit), {"calls": calls, "exit": exit}


def killed(signal, *, calls=0, started=True):
    return broke("killed", calls=calls, exit=None, signal=signal, started=started)


HELLO = "The tool said hello. Finished."
USED_UP = RateLimit(
    kind="five_hour",
    status="rejected",
    resets_at=datetime(2026, 11, 15, 19, 21, 51, tzinfo=UTC),
    used_percent=100.0,
)

CASES = {
    "400_invalid": broke("bad_request"),
    "401": broke("auth"),
    "429_insufficient_quota": broke("billing"),
    "429_rate_limit": (
        RateLimited(limit=RateLimit(kind="throttle", status="rejected")),
        {"exit": 1},
    ),
    "429_usage_limit_reached": (RateLimited(limit=USED_UP), {"exit": 1}),
    "500": outage(),
    "500_retries0": outage(),
    "503": outage(),
    "autocompact": done("finished after compaction", calls=7),
    "bg_child": done("left a background process", calls=1),
    "codex_api_key_env": done(),
    "cut_mid_stream": outage(),
    "isolation_chatgptA": done("ok with codex rate headers"),
    "isolation_keyA": done(),
    "isolation_keyB": done(),
    "known_model": done(HELLO, calls=1),
    "no_perm_flags": done("wrote file"),
    "not_git_repo": done(),
    "openai_api_key_env": done(),
    "rate_headers_ok": done("ok with codex rate headers"),
    "resume_after_sigterm": done(),
    "resume_last": done(),
    "resume_unknown": broke("never_started", started=False),
    "sandbox_readonly_write": done("wrote file"),
    "sandbox_ws_net": done("net tried", calls=1),
    "sandbox_ws_write_outside": done("wrote outside", calls=1),
    "sigint_during_model": broke("no_ending"),
    "sigint_during_tool": broke("no_ending", calls=1),
    "sigkill_during_tool": killed(9, calls=1),
    "sigterm_during_model": killed(15),
    "sigterm_during_tool": killed(15, calls=1),
    "sse_failed_context": (ContextFull(), {"exit": 1}),
    "stall_after_headers": killed(9),
    "stall_before_headers": killed(9),
    "stall_idle5s": outage(),
    "stall_mid_stream": killed(9),
    "stdin_open_pipe": killed(9, started=False),
    "stdin_plus_argv": done(),
    "stdin_prompt": done(),
    "text": done(),
    "text_plugins_off": done(),
    "tool": done(HELLO, calls=1),
    "tool_env": done("env listed", calls=1),
    "tool_yield": done("slept", calls=1),
}


def test_every_recording_is_in_the_table():
    """A recording without an expectation proves nothing."""
    assert sorted(CASES) == recorded("codex")


@pytest.mark.parametrize("name", CASES)
def test_a_recorded_run_ends_as_it_did(name):
    """Outcome, tools, session and unknown lines of each recorded run are as they were."""
    expected, facts = CASES[name]
    reading = replay(CodexCoder(), "codex", name)
    outcome = CodexCoder().outcome(reading, facts["exit"], facts.get("signal"))

    if isinstance(expected, Failed):
        assert isinstance(outcome, Failed)
        assert outcome.reason == expected.reason
    elif isinstance(expected, RateLimited):
        assert outcome == structs.replace(expected, detail=reading.error)
        assert reading.error
    else:
        assert outcome == expected
    assert reading.tools.count == facts.get("calls", 0)
    assert (reading.kinds["unknown"], reading.kinds["bad"]) == (0, 0)
    assert len(reading.session_id) == (36 if facts.get("started", True) else 0)


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ('{"error": {"message": "x", "code": "context_length_exceeded"}}', "prompt_too_long"),
        (
            (
                'unexpected status 400 Bad Request: {"error": {"code": "context_length_exceeded"}},'
                " url: http://127.0.0.1:1/v1/responses"
            ),
            "prompt_too_long",
        ),
        ('{"type": "error", "error": {"code": "rate_limit_exceeded"}}', "rate_limit"),
        ('{"error": {"type": "insufficient_quota"}}', "billing"),
        ("Missing environment variable: `MY_KEY`.", "no_key"),
        ('{"error": {"message": "something is invalid"}}', "bad_request"),
        ("{ not JSON at all", "bad_request"),
    ],
)
def test_the_vendors_own_code_in_a_message_is_the_reason(message, reason):
    """A full context came as a body of status 400, and was taken for a bad request."""
    line = json.dumps({"type": "turn.failed", "error": {"message": message}})
    assert CodexCoder().read(line, READ_AT).reason == reason


def test_cached_input_is_not_counted_twice():
    """Codex counts cached tokens as input; fleet counts each token once."""
    reading = replay(CodexCoder(), "codex", "tool")
    assert reading.tokens.usage == Usage(input=2400, cache_read=10_000, output=84)


def test_a_resumed_run_has_its_own_tokens():
    """The CLI counts a session on; what was used before belongs to the run before."""
    reading = RunTotals(tokens=TokenTotals(before=Usage(input=2400, cache_read=10_000, output=84)))
    for line in lines("codex", "resume_last"):
        reading.add(CodexCoder().read(line, READ_AT))
    assert reading.tokens.usage == Usage(input=1200, cache_read=5000, output=42)
    assert reading.tokens.session_usage.total == 18_726


def test_the_rollout_tells_of_context_and_of_both_windows():
    """What stdout leaves out is in the session's own record."""
    reading = replay(CodexCoder(), "codex", "rate_headers_ok")
    assert (reading.tokens.context_tokens, reading.tokens.context_window) == (6242, 258_400)
    assert reading.limits["five_hour"].used_percent == 42.0
    assert reading.limits["weekly"].used_percent == 13.0
    assert reading.limits["weekly"].resets_at == datetime(2026, 11, 20, 18, 22, 21, tzinfo=UTC)


def test_without_the_rollout_a_full_window_is_still_a_limit():
    """The rollout may lie where fleet cannot read; the words name the end of the window."""
    reading = RunTotals()
    for line in lines("codex", "429_usage_limit_reached"):
        reading.add(CodexCoder().read(line, READ_AT))
    limit = CodexCoder().outcome(reading, 1, None).limit
    assert (limit.kind, limit.status) == ("usage", "rejected")
    assert f"{limit.resets_at.astimezone():%H:%M}" == "19:21"


def test_reconnecting_is_no_error():
    """Five tries to reconnect are five retries; only the end is an end."""
    reading = RunTotals()
    for line in lines("codex", "401")[:-2]:
        reading.add(CodexCoder().read(line, READ_AT))
    assert (reading.kinds["retry"], reading.terminal, reading.reason) == (5, None, "")


@pytest.mark.parametrize(
    ("info", "reason"),
    [
        ('"context_window_exceeded"', "prompt_too_long"),
        ('"server_overloaded"', "overloaded"),
        ('"model_not_found"', "model_not_found"),
        ('"usage_limit_exceeded"', "rate_limit"),
        ('{"http_connection_failed": {"http_status_code": 401}}', "auth"),
        ('{"response_too_many_failed_attempts": {"http_status_code": 429}}', "rate_limit"),
        ('"something_new"', "unknown"),
        ("17", "unknown"),
    ],
)
def test_the_rollout_types_what_stdout_only_says(info, reason):
    """The typed error of the rollout decides, whatever the words beside it are."""
    payload = (
        f'{{"type": "task_complete", "error": {{"message": "x", "codex_error_info": {info}}}}}'
    )
    event = CodexCoder().normalize_second(f'{{"type": "event_msg", "payload": {payload}}}')
    assert event.reason == reason


def test_a_declined_command_is_a_denial():
    """What the CLI's own reviewer turned down was wanted and refused."""
    item = '{"id": "item_2", "type": "command_execution", "command": "x", "status": "declined"}'
    event = CodexCoder().normalize_event(f'{{"type": "item.completed", "item": {item}}}')
    assert event.denied == ("shell",)
    assert event.results[0].is_error


def test_the_rollout_is_found_below_the_accounts_home(tmp_path):
    """Each login has its sessions in a home of its own; odd letters in its path do no harm."""
    home = tmp_path / "a[b]*"
    record = home / "sessions/2026/11/15/rollout-2026-11-15T18-00-00-abc.jsonl"
    record.parent.mkdir(parents=True)
    record.touch()

    directory, pattern = CodexCoder().second_stream("abc", {"CODEX_HOME": str(home)})
    assert list(directory.glob(pattern)) == [record]
    directory, _ = CodexCoder().second_stream("abc", {"HOME": "/h"})
    assert directory == Path("/h/.codex")
