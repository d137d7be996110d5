"""Antigravity's JSON stream in fleet's words.

The CLI calls a run that timed out or was refused a tool a SUCCESS, with exit 0. So a success here
needs an answer and tokens that were spent on it.
"""

import re
from collections.abc import Mapping

from fleet.coders.stream import json_line
from fleet.coders.stream.json_line import JsonObject, at, count, record, records, text
from fleet.schemas import Event, RateLimit, Reason, ToolCall, ToolResult, Usage

#: How the CLI's own `error` field names a failure. It has no codes.
_ERRORS: tuple[tuple[str, Reason], ...] = (
    (r"\bquota\b|\brate limit", "rate_limit"),
    (r"not signed in|not logged in|sign in|unauthenticated|authentication", "auth"),
    (
        r"\bmodel\b.*(not found|unknown|unsupported|invalid)|(unknown|invalid) model",
        "model_not_found",
    ),
    (r"context (window|length)|prompt is too long", "prompt_too_long"),
    (r"timed? ?out", "timeout"),
    (r"overloaded|at capacity|unavailable", "overloaded"),
)
_WAIT = re.compile(r"[Rr]esets? in ((?:\d+[dhms])+)")
_UNITS: Mapping[str, int] = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}

_QUIET_STEPS = frozenset({"user_input", "checkpoint", "subagent", "system"})


def event(raw_line: str) -> Event:
    """One line of `--output-format stream-json`."""
    line = json_line.decode(raw_line)
    if line is None:
        return json_line.bad(raw_line)
    match text(line, "event"):
        case "init":
            return Event(
                kind="session_started",
                raw=line,
                session_id=_session(line),
                model=text(line, "init", "model") or None,
                offers=tuple(f"tool:{name}" for name in json_line.texts(line, "init", "tools"))
                or None,
            )
        case "step_update":
            return _step(line, record(line, "step_update"))
        case "result":
            return _result(line, record(line, "result"))
        case _:
            return Event(kind="unknown", raw=line)


def _session(line: JsonObject) -> str | None:
    return text(line, "conversation_id") or text(line, "init", "conversation_id") or None


def _step(line: JsonObject, step: JsonObject) -> Event:
    kind = text(step, "step_type")
    if kind == "tool":
        return _tool(line, step)
    words = text(step, "text_delta")
    if kind == "agent_response":
        tokens = _usage(record(step, "usage"))
        return Event(
            kind="assistant_text" if words else "other",
            raw=line,
            text=json_line.capped(words),
            context_tokens=tokens.total - tokens.output if tokens.total else None,
        )
    return Event(kind="other" if kind in _QUIET_STEPS else "unknown", raw=line)


def _tool(line: JsonObject, step: JsonObject) -> Event:
    info = record(step, "tool_info")
    call = ToolCall(
        id=str(at(step, "step_index")),
        name=text(step, "tool_name") or text(info, "name"),
        input=record(info, "parameters"),
    )
    state = text(step, "state")
    if state not in ("DONE", "ERROR"):
        return Event(kind="tool_use", raw=line, calls=(call,))
    words = text(info, "error") or text(info, "output")
    failed = state == "ERROR" or bool(text(info, "error"))
    result = ToolResult(id=call.id, is_error=failed, text=json_line.capped(words))
    return Event(kind="tool_result", raw=line, calls=(call,), results=(result,))


def _usage(usage: JsonObject) -> Usage:
    cached = count(usage, "cache_read_tokens")
    return Usage(
        input=max(0, count(usage, "input_tokens") - cached),
        cache_read=cached,
        output=count(usage, "output_tokens") + count(usage, "thinking_tokens"),
    )


def _result(line: JsonObject, result: JsonObject) -> Event:
    answer, error = text(result, "response").strip(), text(result, "error")
    denied = _denied(result)
    tokens = _usage(record(result, "usage"))
    reason: Reason | None = None
    if text(result, "status") != "SUCCESS":
        reason = _reason(error)
    elif denied and not answer:
        reason = "denied"
    elif not tokens.total:
        reason = "timeout"
    elif not answer:
        reason = "empty"
    failed = reason is not None or text(result, "status") != "SUCCESS"
    return Event(
        kind="session_ended",
        raw=line,
        usage=record(result, "usage") or None,
        text=json_line.capped(error or answer),
        session_id=text(result, "conversation_id") or None,
        tokens=tokens if tokens.total else None,
        tokens_of="run",
        turns=count(result, "num_turns"),
        limits=_limits(reason, error),
        denied=denied,
        terminal="error" if failed else "success",
        reason=reason,
    )


def _denied(result: JsonObject) -> tuple[str, ...]:
    named = [
        text(action, "tool_name") or text(action, "name") or text(action, "action")
        for action in records(result, "denied_actions")
    ]
    return (*json_line.texts(result, "denied_actions"), *(name or "tool" for name in named))


def _reason(error: str) -> Reason | None:
    words = json_line.capped(error).lower()
    for shape, reason in _ERRORS:
        if re.search(shape, words):
            return reason
    return None


def _limits(reason: Reason | None, error: str) -> tuple[RateLimit, ...]:
    if reason != "rate_limit":
        return ()
    return (RateLimit(kind="usage", status="rejected", retry_after=_wait(error)),)


def _wait(error: str) -> float | None:
    """Seconds, from words such as 34m13s."""
    found = _WAIT.search(error)
    if found is None:
        return None
    parts = re.findall(r"(\d{1,6})([dhms])", found[1])
    return float(sum(int(number) * _UNITS[unit] for number, unit in parts))
