"""Codex's two streams in fleet's words: `exec --json` on stdout, and the session's rollout file.

Stdout tells what the agent does; only the rollout tells of context, limits and typed errors.
Errors are read from the CLI's own error fields, never from what an agent said or printed.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from fleet.coders.stream import json_line
from fleet.coders.stream.json_line import JsonObject, at, count, number, record, text
from fleet.schemas import Event, LimitKind, RateLimit, Reason, ToolCall, ToolResult, Usage

#: The item types that are work, and what fleet calls the tool.
_TOOLS: Mapping[str, str] = {
    "command_execution": "shell",
    "file_change": "edit",
    "mcp_tool_call": "mcp",
    "dynamic_tool_call": "tool",
    "collab_tool_call": "agent",
    "collab_agent_tool_call": "agent",
    "web_search": "web_search",
    "image_view": "image_view",
}
_QUIET_ITEMS = frozenset(
    {
        "todo_list",
        "error",  # a warning about the set-up; a failure is `turn.failed`
        "context_compaction",
        "sub_agent_activity",
        "entered_review_mode",
        "exited_review_mode",
    }
)
_FAILED = frozenset({"failed", "declined", "error"})

#: Where codex in a box asks for a new login, and no one answers: fleet renews it outside.
RENEWED_OUTSIDE = "http://127.0.0.1:9/renewed-by-fleet"

#: How the CLI's own error messages begin.
_MESSAGES: tuple[tuple[str, Reason], ...] = (
    (f"error sending request for url ({RENEWED_OUTSIDE}", "auth"),
    ("Your access token could not be refreshed", "auth"),
    ("You've hit your usage limit", "rate_limit"),
    ("exceeded retry limit, last status: 429", "rate_limit"),
    ("Quota exceeded", "billing"),
    ("To use Codex with your ChatGPT plan", "billing"),
    ("Selected model is at capacity", "overloaded"),
    ("Codex ran out of room", "prompt_too_long"),
    ("unexpected status 401", "auth"),
    ("unexpected status 403", "auth"),
    ("unexpected status 429", "rate_limit"),
    ("unexpected status 4", "bad_request"),
    ("Missing environment variable", "no_key"),
    ("{", "bad_request"),  # the body of a 400, as it came
    ("unexpected status 5", "api_error"),
    ("We're currently experiencing high demand", "api_error"),
    ("stream disconnected", "api_error"),
)

#: The vendor's error codes and types, in the JSON of a message.
_CODES: Mapping[str, Reason] = {
    "context_length_exceeded": "prompt_too_long",
    "rate_limit_exceeded": "rate_limit",
    "usage_limit_reached": "rate_limit",
    "insufficient_quota": "billing",
    "server_error": "api_error",
    "server_is_overloaded": "overloaded",
    "slow_down": "overloaded",
    "invalid_api_key": "auth",
}

#: The rollout's typed errors.
_INFOS: Mapping[str, Reason] = {
    "usage_limit_exceeded": "rate_limit",
    "rate_limit_exceeded": "rate_limit",
    "server_overloaded": "overloaded",
    "policy_capacity_unavailable": "overloaded",
    "context_window_exceeded": "prompt_too_long",
    "session_budget_exceeded": "budget",
    "model_not_found": "model_not_found",
    "unauthorized": "auth",
    "bad_request": "bad_request",
    "invalid_prompt": "bad_request",
    "cyber_policy": "refusal",
    "bio_policy": "refusal",
    "misalignment_policy_violation": "refusal",
    "internal_server_error": "api_error",
    "http_connection_failed": "api_error",
    "response_stream_connection_failed": "api_error",
    "response_stream_disconnected": "api_error",
    "response_too_many_failed_attempts": "api_error",
}
_STATUSES: Mapping[int, Reason] = {401: "auth", 403: "auth", 429: "rate_limit"}

_WINDOWS: Mapping[int, LimitKind] = {300: "five_hour", 10_080: "weekly"}
_WARN_AT = 80.0


def event(raw_line: str) -> Event:
    """One line of `codex exec --json`."""
    line = json_line.decode(raw_line)
    if line is None:
        return json_line.bad(raw_line)
    match text(line, "type"):
        case "thread.started":
            return Event(
                kind="session_started", raw=line, session_id=text(line, "thread_id") or None
            )
        case "turn.started":
            return Event(kind="other", raw=line)
        case "item.started" | "item.updated" | "item.completed":
            return _item(line)
        case "turn.completed":
            usage = record(line, "usage")
            return Event(
                kind="session_ended",
                raw=line,
                usage=usage or None,
                tokens=_usage(usage),
                tokens_of="session",
                terminal="success",
            )
        case "turn.failed":
            return _failed(line, text(line, "error", "message"))
        case "error":
            return _error(line, text(line, "message"))
        case _:
            return Event(kind="unknown", raw=line)


def _item(line: JsonObject) -> Event:
    item = record(line, "item")
    kind = text(item, "type")
    done = text(line, "type") == "item.completed"
    if kind in _TOOLS:
        return _tool(line, item, done=done)
    if kind == "agent_message" and done:
        return Event(kind="assistant_text", raw=line, text=json_line.capped(text(item, "text")))
    if kind == "reasoning" and done:
        return Event(kind="thinking", raw=line, text=json_line.capped(text(item, "text")))
    known = kind in _QUIET_ITEMS or kind in ("agent_message", "reasoning")
    words = json_line.capped(text(item, "message"))
    return Event(kind="other" if known else "unknown", raw=line, text=words)


def _tool(line: JsonObject, item: JsonObject, *, done: bool) -> Event:
    """A tool's start or end. An end names the call too: some items have no start of their own."""
    kind = text(item, "type")
    name = _TOOLS[kind]
    if kind == "mcp_tool_call":
        name = f"mcp__{text(item, 'server')}__{text(item, 'tool')}"
    call = ToolCall(id=text(item, "id"), name=name, input=_input(item))
    if not done:
        return Event(kind="tool_use", raw=line, calls=(call,))
    code = number(item, "exit_code")
    status = text(item, "status")
    output = text(item, "aggregated_output") or text(item, "error", "message")
    declined = status == "declined"
    result = ToolResult(
        id=call.id,
        is_error=status in _FAILED or bool(code),
        denied=declined,
        text=json_line.capped(output),
    )
    denied = (name,) if declined else ()
    return Event(kind="tool_result", raw=line, calls=(call,), results=(result,), denied=denied)


def _input(item: JsonObject) -> dict[str, Any]:
    keep = ("command", "changes", "arguments", "query", "path", "prompt")
    return {name: item[name] for name in keep if item.get(name) is not None}


def _usage(usage: JsonObject) -> Usage:
    cached = count(usage, "cached_input_tokens")
    return Usage(
        input=max(0, count(usage, "input_tokens") - cached),
        cache_read=cached,
        cache_write=count(usage, "cache_write_input_tokens"),
        output=count(usage, "output_tokens"),
    )


def _failed(line: JsonObject, message: str) -> Event:
    reason = _reason(message)
    return Event(
        kind="session_ended",
        raw=line,
        text=json_line.capped(message),
        limits=_refused(reason, message),
        terminal="error",
        reason=reason,
    )


def _error(line: JsonObject, message: str) -> Event:
    if message.startswith("Reconnecting..."):
        return Event(kind="retry", raw=line, text=json_line.capped(message))
    reason = _reason(message)
    kind = "rate_limit" if reason == "rate_limit" else "error"
    return Event(kind=kind, raw=line, text=json_line.capped(message), reason=reason or "unknown")


def _reason(message: str) -> Reason | None:
    if (reason := _by_code(message)) is not None:
        return reason
    plain = message.replace("\u2019", "'")
    return next((reason for start, reason in _MESSAGES if plain.startswith(start)), None)


def _by_code(message: str) -> Reason | None:
    """The reason that the vendor's error code tells, where the message holds JSON."""
    _, brace, rest = message.partition("{")
    end = rest.rfind("}") + 1
    body = json_line.decode(brace + rest[:end]) if brace and end else None
    error = record(body or {}, "error") or body or {}
    return _CODES.get(text(error, "code")) or _CODES.get(text(error, "type"))


def _refused(reason: Reason | None, message: str) -> tuple[RateLimit, ...]:
    if reason == "billing":
        return (RateLimit(kind="credit", status="rejected"),)
    if reason == "overloaded":
        return (RateLimit(kind="overload", status="rejected"),)
    if reason == "rate_limit":
        kind = "usage" if "usage limit" in message else "throttle"
        return (RateLimit(kind=kind, status="rejected"),)
    return ()


def rollout_event(raw_line: str) -> Event | None:
    """One line of the rollout file; what stdout tells as well is left to stdout."""
    line = json_line.decode(raw_line)
    if line is None:
        return json_line.bad(raw_line)
    payload = record(line, "payload")
    when = _when(line)
    match text(line, "type"), text(payload, "type"):
        case "session_meta", _:
            return Event(kind="other", ts=when, version=text(payload, "cli_version") or None)
        case "turn_context", _:
            return Event(kind="other", ts=when, model=text(payload, "model") or None)
        case "token_usage_record", _:
            turn = record(payload, "turn_token_usage")
            return Event(
                kind="usage",
                raw=line,
                ts=when,
                message_id=text(payload, "response_id") or None,
                tokens=_usage(turn),
                tokens_of="run",
            )
        case "event_msg", "token_count":
            return _token_count(line, payload, when)
        case "event_msg", "task_complete" if record(payload, "error"):
            return _typed_error(line, record(payload, "error"), when)
        case ("event_msg", "context_compacted") | ("compacted", _):
            return Event(kind="compaction", raw=line, ts=when)
        case _:
            return None


def _when(line: JsonObject) -> datetime | None:
    try:
        return datetime.fromisoformat(text(line, "timestamp"))
    except ValueError:
        return None


def _token_count(line: JsonObject, payload: JsonObject, when: datetime | None) -> Event:
    info = record(payload, "info")
    last = record(info, "last_token_usage")
    windows = (record(payload, "rate_limits", name) for name in ("primary", "secondary"))
    return Event(
        kind="usage",
        raw=line,
        ts=when,
        usage=last or None,
        tokens=_usage(record(info, "total_token_usage")) if info else None,
        tokens_of="session",
        context_tokens=count(last, "total_tokens") or None,
        context_window=count(info, "model_context_window") or None,
        limits=tuple(_window(window) for window in windows if window),
    )


def _window(window: JsonObject) -> RateLimit:
    used = number(window, "used_percent")
    return RateLimit(
        kind=_WINDOWS.get(count(window, "window_minutes"), "usage"),
        status="warning" if (used or 0) >= _WARN_AT else "allowed",
        resets_at=json_line.moment(window, "resets_at"),
        used_percent=used,
    )


def _typed_error(line: JsonObject, error: JsonObject, when: datetime | None) -> Event:
    message = text(error, "message")
    info = at(error, "codex_error_info")
    # A plain word, or the word as the one key of what more there is to say.
    name = info if isinstance(info, str) else next(iter(record(error, "codex_error_info")), "")
    status = count(error, "codex_error_info", name, "http_status_code")
    reason = _INFOS.get(name)
    if _reason(message) == "billing":  # the same word stands for a full window and for no money
        reason = "billing"
    reason = _STATUSES.get(status) or reason or _reason(message)
    return Event(
        kind="error",
        raw=line,
        ts=when,
        text=json_line.capped(message),
        limits=_refused(reason, message),
        reason=reason or "unknown",
    )
