"""What fleet makes of every recorded run of Claude Code."""

import json
from datetime import UTC, datetime

import pytest

from fleet.coders.claude import ClaudeCoder, stream
from fleet.coders.stream.run_totals import RunTotals
from fleet.schemas import ContextFull, Failed, Finished, LimitExceeded, RateLimit, RateLimited
from tests.streams import lines, recorded, replay


def done(text="Done. All good.", *, calls=0, denied=(), errors=0, exit=0):  # noqa: A002
    return Finished(text=text, denied=denied), {"calls": calls, "errors": errors, "exit": exit}


def broke(reason, *, calls=0, errors=0, exit=1, signal=None, started=True):  # noqa: A002
    facts = {"calls": calls, "errors": errors, "exit": exit, "started": started, "signal": signal}
    return Failed(reason=reason), facts


def outage(*, calls=0, exit=1):  # noqa: A002
    limit = RateLimit(kind="outage", status="rejected")
    return RateLimited(limit=limit), {"calls": calls, "exit": exit}


def killed(signal=None, *, calls=0, errors=0):
    return broke("killed", calls=calls, errors=errors, exit=None if signal else 143, signal=signal)


def limited(minute, second, *, calls=0):
    resets = datetime(2026, 11, 15, 19, minute, second, tzinfo=UTC)
    limit = RateLimit(kind="five_hour", status="rejected", resets_at=resets)
    return RateLimited(limit=limit), {"calls": calls, "exit": 1}


HELLO = "The tool said hello. Finished."

CASES = {
    "400_credit": broke("billing"),
    "400_invalid": broke("bad_request"),
    "400_prompt_too_long": (ContextFull(), {"exit": 1}),
    "401_oauth": broke("auth"),
    "403_revoked_oauth": broke("auth"),
    "404_model": broke("model_not_found"),
    "429_plain_retryafter2": (
        RateLimited(limit=RateLimit(kind="throttle", status="rejected")),
        {"exit": 1},
    ),
    "429_rejected_midtool_oauth": limited(11, 38, calls=1),
    "429_rejected_oauth": limited(11, 36),
    "500_retries0": outage(),
    "append_system_prompt": done(),
    "argv_130k": done(),
    "argv_plus_stdin": done(),
    "ask_user_question": done("asked", calls=1, errors=1),
    "auth_token_and_key": done(),
    "autocompact": done("finished after compaction", calls=7),
    "autocompact_off": (ContextFull(tokens=181_300, window=200_000), {"calls": 6, "exit": 1}),
    "bg_child_after_exit": done("left a background process", calls=1),
    "bg_task_ceiling": done("started bg forever, ending my turn", calls=1),
    "budget": (LimitExceeded(limit="cost"), {"calls": 1, "exit": 1}),
    "coldstart_fresh_home": done(),
    "continue": done(),
    "cut_once": done("recovered after cut"),
    "expired_oauth_creds": done(),
    "hooks_429": limited(23, 6),
    "hooks_events_in_stream": done(HELLO, calls=1),
    "hooks_pretool_deny": done(HELLO, calls=1, errors=1, denied=("Bash",)),
    "hooks_stop_block": done(),
    "idle_resources": done(),
    "json_schema": done('{"status":"done","files":["a.py"]}'),
    "json_single": done(HELLO),
    "maxtok": broke("max_output"),
    "maxturns1": (LimitExceeded(limit="turns"), {"calls": 1, "exit": 1}),
    "mcp_child_sigkill": killed(9),
    "mcp_tool": done("mcp done", calls=1),
    "no_auth": broke("auth"),
    "no_persist": done(),
    "no_prompt_no_stdin": broke("never_started", started=False),
    "oauth_and_key": done(),
    "partial_messages": done(),
    "perm_acceptedits_bash": done(
        "gave up: permissions", calls=2, errors=2, denied=("Bash", "Bash")
    ),
    "perm_acceptedits_write": done("wrote with Write", calls=1),
    "perm_allowedtools": done("wrote file", calls=1, errors=1, denied=("Bash",)),
    "perm_auto": done("wrote file", calls=1),
    "perm_default_denied": done("wrote file", calls=1, errors=1, denied=("Bash",)),
    "perm_disallowed_under_bypass": done("tried rm", calls=1, errors=1, denied=("Bash",)),
    "perm_dontask": done("wrote file", calls=1, errors=1, denied=("Bash",)),
    "perm_plan": done("wrote file", calls=1, errors=1, denied=("Bash",)),
    "perm_prompt_tool_stdio": done("wrote file", calls=1),
    "refusal": broke("refusal"),
    "resume_429_first": limited(16, 53, calls=1),
    "resume_after_429": done(),
    "resume_after_sigkill_during_tool": done(),
    "resume_after_sigterm_during_model_stall": done(),
    "resume_fork": done(),
    "resume_other_cwd": broke("session_not_found", started=False),
    "resume_unknown": broke("session_not_found", started=False),
    "rl_warning_apikey": done("ok with warning"),
    "rl_warning_oauth": done("ok with warning"),
    "root_refusal": broke("never_started", started=False),
    "session_id_reuse": broke("never_started", started=False),
    "session_state_events": done(HELLO, calls=1),
    "sighup_during_tool": done("slept", calls=1, errors=1),
    "sigint_during_model_stall": broke("no_ending", exit=0),
    "sigkill_during_tool": killed(9, calls=1),
    "sigterm_during_model_stall": killed(),
    "sigterm_during_stream": killed(),
    "sigterm_during_tool": done("slept", calls=1, errors=1),
    "sigterm_hooks": killed(calls=1, errors=1),
    "sigterm_tool_then_slow": killed(calls=1, errors=1),
    "sjin_bad_json": broke("never_started", started=False),
    "sjin_interrupt_midtool": done("slept", calls=1, errors=1),
    "sjin_replay": done(),
    "sjin_steer_midtool": done("slept", calls=1),
    "sjin_two_turns": done(),
    "slash_compact": done("Not enough messages to compact."),
    "slash_usage": done("Total cost:"),
    "sse_error_event": done("Mock text"),
    "stall_after_headers": done("Mock text"),
    "stall_api_timeout_3s": outage(),
    "stall_before_headers": killed(9),
    "stall_mid_stream": done("Mock text"),
    "stall_watchdog_10s": killed(9),
    "stall_watchdog_10s_nofallback": killed(9),
    "stdin_11mb": broke("never_started", started=False),
    "stdin_200k": done(),
    "stdin_eof_midrun": killed(9, calls=1),
    "stdin_open_no_data": done(),
    "stdin_prompt": done(),
    "streamjson_without_verbose": broke("never_started", started=False),
    "text": done(),
    "tool": done(HELLO, calls=1),
    "tool_env": done("env listed", calls=1),
    "tool_env_oauth": done("env listed", calls=1),
    "tool_env_scrub": broke("never_started", started=False),
    "toolfail": done("The tool failed as expected.", calls=1, errors=1),
    "tools_restricted": done(HELLO, calls=1, errors=1),
    "xacct_resume_nocopy": broke("session_not_found", started=False),
}


def test_every_recording_is_in_the_table():
    """A recording without an expectation proves nothing."""
    assert sorted(CASES) == recorded("claude")


@pytest.mark.parametrize("name", CASES)
def test_a_recorded_run_ends_as_it_did(name):
    """Outcome, tools, session and unknown lines of each recorded run are as they were."""
    expected, facts = CASES[name]
    reading = replay(ClaudeCoder(), "claude", name)
    outcome = ClaudeCoder().outcome(reading, facts["exit"], facts.get("signal"))

    assert type(outcome) is type(expected)
    match expected:
        case Finished():
            assert outcome.text.startswith(expected.text)
            assert outcome.denied == expected.denied
        case Failed(reason=reason):
            assert outcome.reason == reason
        case LimitExceeded(limit=limit):
            assert outcome.limit == limit
            assert outcome.detail.startswith("Reached maximum")
        case RateLimited(limit=limit):
            assert outcome == RateLimited(limit=limit, detail=reading.error)
            assert reading.error
        case _:
            assert outcome == expected
    assert reading.tools.count == facts.get("calls", 0)
    assert reading.tools.failed == facts.get("errors", 0)
    assert (reading.kinds["unknown"], reading.kinds["bad"]) == (0, 0)
    if facts.get("started", True):
        assert len(reading.session_id) == 36
        assert reading.version == ("" if name == "json_single" else "2.1.197")


def test_tokens_cost_and_context_are_those_of_the_result():
    """The true output tokens stand in the result alone; each answer counts once."""
    reading = replay(ClaudeCoder(), "claude", "tool")
    used = reading.tokens.usage
    assert (used.input, used.cache_read, used.cache_write, used.output) == (2400, 10_000, 600, 84)
    assert reading.tokens.cost_usd == pytest.approx(0.01371)
    assert (reading.tokens.context_tokens, reading.tokens.context_window) == (6500, 200_000)
    assert (reading.tokens.turns, reading.model) == (2, "claude-sonnet-5")


def test_a_killed_run_still_has_the_tokens_that_its_answers_told():
    """Without a result the answers seen so far are what is known."""
    reading = replay(ClaudeCoder(), "claude", "sigkill_during_tool")
    assert reading.tokens.usage.total == 6501
    assert [call.name for call in reading.tools.open.values()] == ["Bash"]


def test_compaction_lowers_the_context_and_keeps_the_peak():
    """After compaction the context is small again, and the peak says how near the end it was."""
    reading = replay(ClaudeCoder(), "claude", "autocompact")
    assert (reading.tokens.context_peak, reading.tokens.context_tokens) == (181_300, 5300)
    assert reading.kinds["compaction"] == 1


def test_a_warning_tells_how_much_of_the_window_is_used():
    """A limit that only warns is known with its share and its end, and ends nothing."""
    reading = replay(ClaudeCoder(), "claude", "rl_warning_oauth")
    limit = reading.limits["five_hour"]
    assert (limit.status, limit.used_percent) == ("warning", 91.0)
    assert limit.resets_at == datetime(2026, 11, 15, 19, 11, 35, tzinfo=UTC)


def test_all_is_well_is_no_limit():
    """A bare `allowed` names no window and is not kept as one."""
    assert replay(ClaudeCoder(), "claude", "resume_after_429").limits == {}


def test_a_retry_is_counted_and_told_as_a_throttle():
    """The CLI's own retries show, before they are given up."""
    reading = replay(ClaudeCoder(), "claude", "429_plain_retryafter2")
    assert reading.kinds["retry"] == 10
    assert reading.limits["throttle"].status == "warning"


def test_no_credit_is_told_as_a_limit_without_an_end():
    """An account without money is refused until a person pays."""
    reading = replay(ClaudeCoder(), "claude", "400_credit")
    assert reading.limits["credit"] == RateLimit(kind="credit", status="rejected")


def test_a_tool_call_carries_its_input_and_its_result():
    """What was run, and what came back, stand in the events."""
    coder = ClaudeCoder()
    events = [coder.normalize_event(line) for line in lines("claude", "toolfail")]
    [call] = [call for event in events for call in event.calls]
    [result] = [result for event in events for result in event.results]
    assert (call.name, call.input["command"]) == ("Bash", "ls /nonexistent-dir")
    assert result.id == call.id
    assert result.is_error
    assert "No such file" in result.text


def test_servers_that_were_not_reached_are_told_from_those_that_were():
    """A run can be held to what it needs from its first line on."""
    reading = replay(ClaudeCoder(), "claude", "mcp_tool")
    assert reading.missing == ("mcp:broken",)
    assert {"mcp:probe", "tool:Bash", "tool:mcp__probe__ping"} <= set(reading.offers)
    assert "mcp:broken" not in reading.offers


def test_a_result_without_a_count_takes_nothing_away():
    """What its answers told stays known: noughts in their place are no count."""
    reading = RunTotals()
    usage = {"input_tokens": 100, "output_tokens": 10}
    answer = {"id": "m1", "model": "sonnet", "usage": usage, "content": []}
    for line in (
        {"type": "assistant", "message": answer},
        {"type": "result", "subtype": "success", "is_error": True, "usage": {}, "modelUsage": {}},
    ):
        reading.add(stream.event(json.dumps(line)))
    assert (reading.tokens.usage.input, reading.tokens.usage.output) == (100, 10)


@pytest.mark.parametrize("name", recorded("claude"))
def test_the_clis_own_words_are_no_model_and_an_uncounted_run_has_no_cost(name):
    """A slash command or an error is told by `<synthetic>`; a killed CLI counted nothing."""
    reading = replay(ClaudeCoder(), "claude", name)
    assert not reading.model.startswith("<")
    assert reading.tokens.partial == (reading.tokens.usage.total > 0 and reading.terminal is None)
    assert reading.tokens.cost_usd is None or not reading.tokens.partial
