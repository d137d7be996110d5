"""Claude Code's JSON stream in fleet's words. Every value comes from a field of the CLI's own."""

from collections.abc import Mapping, Sequence

from fleet.coders.stream import json_line
from fleet.coders.stream.json_line import JsonObject, count, number, record, records, text
from fleet.schemas import (
    Event,
    LimitKind,
    LimitStatus,
    RateLimit,
    Reason,
    ToolCall,
    ToolResult,
    Usage,
)

_ERRORS: Mapping[str, Reason] = {
    "authentication_failed": "auth",
    "oauth_org_not_allowed": "auth",
    "billing_error": "billing",
    "rate_limit": "rate_limit",
    "overloaded": "overloaded",
    "invalid_request": "bad_request",
    "model_not_found": "model_not_found",
    "server_error": "api_error",
    "max_output_tokens": "max_output",
    "unknown": "api_error",
}

_TERMINAL: Mapping[str, Reason] = {
    "prompt_too_long": "prompt_too_long",
    "blocking_limit": "prompt_too_long",
    "rapid_refill_breaker": "prompt_too_long",
    "max_turns": "max_turns",
    "model_error": "api_error",
    "image_error": "bad_request",
    "aborted_streaming": "aborted",
    "aborted_tools": "aborted",
}

_STATUSES: Mapping[int, Reason] = {
    401: "auth",
    403: "auth",
    404: "model_not_found",
    429: "rate_limit",
    529: "overloaded",
}

_LIMITS: Mapping[str, LimitKind] = {
    "five_hour": "five_hour",
    "seven_day": "weekly",
    "seven_day_overage_included": "weekly",
    "seven_day_opus": "weekly_opus",
    "seven_day_sonnet": "weekly_sonnet",
    "overage": "overage",
}

#: The states of an MCP server that an agent cannot use.
_UNREACHED = frozenset({"failed", "needs-auth", "disabled"})

#: Lines that are known and carry nothing that fleet uses.
_QUIET_TYPES = frozenset(
    {
        "stream_event",
        "control_request",
        "control_response",
        "control_cancel_request",
        "keep_alive",
        "auth_status",
        "tool_progress",
        "tool_use_summary",
        "prompt_suggestion",
    }
)
_QUIET_SUBTYPES = frozenset(
    {
        "status",
        "task_started",
        "task_progress",
        "task_updated",
        "task_notification",
        "task_summary",
        "hook_started",
        "hook_progress",
        "hook_response",
        "stop_hook_summary",
        "model_fallback",
        "model_refusal_fallback",
        "model_consent_fallback",
        "notification",
        "informational",
        "session_state_changed",
        "local_command_output",
        "files_persisted",
        "plugin_install",
        "commands_changed",
        "memory_recall",
        "memory_saved",
        "post_turn_summary",
        "turn_duration",
        "thinking_tokens",
    }
)


def event(raw_line: str) -> Event:
    """One line of `--output-format stream-json`."""
    line = json_line.decode(raw_line)
    if line is None:
        return json_line.bad(raw_line)
    match text(line, "type"):
        case "system":
            return _system(line)
        case "assistant":
            return _assistant(line)
        case "user":
            return _user(line)
        case "result":
            return _result(line)
        case "rate_limit_event":
            return _rate_limit(line)
        case kind:
            return Event(kind="other" if kind in _QUIET_TYPES else "unknown", raw=line)


def _system(line: JsonObject) -> Event:
    match text(line, "subtype"):
        case "init":
            return Event(
                kind="session_started",
                raw=line,
                session_id=text(line, "session_id") or None,
                model=text(line, "model") or None,
                version=text(line, "claude_code_version") or None,
                key_source=text(line, "apiKeySource") or None,
                offers=_offers(line),
                missing=tuple(
                    f"mcp:{name}" for name, status in _servers(line) if status in _UNREACHED
                ),
            )
        case "api_retry":
            return _retry(line)
        case "compact_boundary":
            after = number(line, "compact_metadata", "post_tokens")
            return Event(
                kind="compaction", raw=line, context_tokens=None if after is None else int(after)
            )
        case "permission_denied":
            calls = _denied((line,))
            return Event(kind="other", raw=line, denied=_names(calls), denied_calls=calls)
        case "model_refusal_no_fallback":
            return Event(kind="error", raw=line, reason="refusal")
        case subtype:
            return Event(kind="other" if subtype in _QUIET_SUBTYPES else "unknown", raw=line)


def _servers(line: JsonObject) -> list[tuple[str, str]]:
    found = records(line, "mcp_servers")
    return [(text(server, "name"), text(server, "status")) for server in found]


def _offers(line: JsonObject) -> tuple[str, ...]:
    """What the session offers. A server that is still being reached counts: it may be there before
    it is needed.
    """
    servers = [f"mcp:{name}" for name, status in _servers(line) if status not in _UNREACHED]
    return (*servers, *(f"tool:{name}" for name in json_line.texts(line, "tools")))


def _retry(line: JsonObject) -> Event:
    status = count(line, "error_status")
    kinds: dict[int, LimitKind] = {429: "throttle", 529: "overload"}
    wait = number(line, "retry_delay_ms")
    limits: tuple[RateLimit, ...] = ()
    if status in kinds:
        seconds = None if wait is None else wait / 1000
        limits = (RateLimit(kind=kinds[status], status="warning", retry_after=seconds),)
    return Event(kind="retry", raw=line, limits=limits, text=text(line, "error"))


def _assistant(line: JsonObject) -> Event:
    message = record(line, "message")
    blocks = records(message, "content")
    words = "".join(text(block, "text") for block in blocks if text(block, "type") == "text")
    error = text(line, "error")
    if error:
        # The CLI's own message in the model's place.
        return _error(line, error, words)
    calls = tuple(
        ToolCall(id=text(block, "id"), name=text(block, "name"), input=record(block, "input"))
        for block in blocks
        if text(block, "type") == "tool_use"
    )
    usage = record(message, "usage")
    tokens = _usage(usage)
    own = not text(line, "parent_tool_use_id")
    return Event(
        kind="tool_use" if calls else "assistant_text" if words else "thinking",
        raw=line,
        usage=usage or None,
        text=json_line.capped(words),
        model=_model(message) if own else None,
        message_id=text(message, "id") or None,
        calls=calls,
        tokens=tokens if tokens.total else None,
        tokens_of="begun",
        context_tokens=tokens.total - tokens.output if own and tokens.total else None,
    )


def _model(message: JsonObject) -> str | None:
    """The model that answered. What the CLI says itself bears a name in brackets: no model's."""
    name = text(message, "model")
    return name if name and not name.startswith("<") else None


def _error(line: JsonObject, error: str, words: str) -> Event:
    reason = _ERRORS.get(error, "api_error")
    if error == "unknown" and words.startswith("API Error: 4"):
        reason = "bad_request"
    no_credit = RateLimit(kind="credit", status="rejected")
    return Event(
        kind="rate_limit" if error == "rate_limit" else "error",
        raw=line,
        text=json_line.capped(words),
        limits=(no_credit,) if reason == "billing" else (),
        reason=reason,
    )


def _usage(usage: JsonObject) -> Usage:
    return Usage(
        input=count(usage, "input_tokens"),
        cache_read=count(usage, "cache_read_input_tokens"),
        cache_write=count(usage, "cache_creation_input_tokens"),
        output=count(usage, "output_tokens"),
    )


def _user(line: JsonObject) -> Event:
    results = tuple(
        ToolResult(
            id=text(block, "tool_use_id"),
            is_error=block.get("is_error") is True,
            denied=_is_refusal(block),
            text=json_line.capped(_content(block)),
        )
        for block in records(line, "message", "content")
        if text(block, "type") == "tool_result"
    )
    return Event(kind="tool_result" if results else "other", raw=line, results=results)


def _is_refusal(block: JsonObject) -> bool:
    """The CLI refused the call; a command that ran and failed begins with an exit code."""
    words = _content(block)
    return block.get("is_error") is True and (
        words.startswith(("This command requires approval", "Permission to use "))
        or "For security, Claude Code may only" in words[:300]
    )


def _denied(denials: Sequence[JsonObject]) -> tuple[ToolCall, ...]:
    return tuple(
        ToolCall(
            id=text(each, "tool_use_id"),
            name=text(each, "tool_name"),
            input=record(each, "tool_input"),
        )
        for each in denials
    )


def _names(calls: Sequence[ToolCall]) -> tuple[str, ...]:
    return tuple(call.name for call in calls)


def _content(block: JsonObject) -> str:
    parts = [text(part, "text") for part in records(block, "content")]
    return text(block, "content") or "\n".join(part for part in parts if part)


def _rate_limit(line: JsonObject) -> Event:
    info = record(line, "rate_limit_info")
    told = text(info, "status")
    used = number(info, "utilization")
    statuses: dict[str, LimitStatus] = {
        "allowed": "allowed",
        "allowed_warning": "warning",
        # Refused by the plan and paid for beyond it: the run goes on.
        "rejected": "warning" if info.get("isUsingOverage") is True else "rejected",
    }
    if told not in statuses:
        return Event(kind="unknown", raw=line)
    status = statuses[told]
    kind = _LIMITS.get(text(info, "rateLimitType"), "usage")
    limit = RateLimit(
        kind=kind,
        status=status,
        resets_at=json_line.moment(info, "resetsAt"),
        used_percent=None if used is None else used * 100,
    )
    refused = status == "rejected"
    # Without a window, a time or a share the line says only that nothing is wrong.
    says_something = refused or limit.resets_at or used is not None or "rateLimitType" in info
    return Event(
        kind="rate_limit" if refused else "rate_limit_info",
        raw=line,
        limits=(limit,) if says_something else (),
        reason="rate_limit" if refused else None,
    )


def _result(line: JsonObject) -> Event:
    failed = text(line, "subtype") != "success" or line.get("is_error") is not False
    models = record(line, "modelUsage")
    windows = {name: count(models, name, "contextWindow") for name in models}
    words = text(line, "result") or "; ".join(json_line.texts(line, "errors"))
    tokens = _run_usage(models) if models else _usage(record(line, "usage"))
    denied = _denied(records(line, "permission_denials"))
    return Event(
        kind="session_ended",
        raw=line,
        usage=record(line, "usage") or None,
        text=json_line.capped(words),
        session_id=text(line, "session_id") or None,
        tokens=tokens if tokens.total else None,  # all zero: the CLI did not count
        tokens_of="run",
        context_windows={name: window for name, window in windows.items() if window} or None,
        cost_usd=json_line.money(line, "total_cost_usd"),
        turns=count(line, "num_turns"),
        denied=_names(denied),
        denied_calls=denied,
        terminal="error" if failed else "success",
        reason=_failure(line) if failed else None,
    )


def _run_usage(models: JsonObject) -> Usage:
    """All models of the run, subagents too; `usage` of the same line is the last turn's alone."""
    whole = Usage()
    for name in models:
        whole += Usage(
            input=count(models, name, "inputTokens"),
            cache_read=count(models, name, "cacheReadInputTokens"),
            cache_write=count(models, name, "cacheCreationInputTokens"),
            output=count(models, name, "outputTokens"),
        )
    return whole


def _failure(line: JsonObject) -> Reason | None:
    """Why the run failed, as far as this line tells; an earlier line may have told more."""
    if text(line, "subtype") == "error_max_budget_usd":
        return "budget"
    if text(line, "subtype") == "error_max_turns":
        return "max_turns"
    if text(line, "stop_reason") == "refusal":
        return "refusal"
    if any(words.startswith("No conversation found") for words in json_line.texts(line, "errors")):
        return "session_not_found"
    status = count(line, "api_error_status")
    by_status = _STATUSES.get(status) or ("api_error" if status >= 500 else None)
    return _TERMINAL.get(text(line, "terminal_reason")) or by_status
