"""The `[[event]]` rules of a TOML coder: which lines of JSON become which Event."""

import re
from functools import lru_cache
from typing import Any, Literal

from msgspec import Struct, field

from fleet.coders.stream import json_line
from fleet.coders.stream.json_line import JsonObject
from fleet.schemas import (
    Event,
    EventKind,
    LimitKind,
    RateLimit,
    Reason,
    ToolCall,
    ToolResult,
    Usage,
)

#: Conditions on a line: a path of dotted names, and the value there; `*` stands for any text.
When = dict[str, str | bool | int | float]


class ToolPaths(Struct, frozen=True, forbid_unknown_fields=True):
    """Paths to the parts of a tool call or of the result."""

    id: str
    name: str = ""
    input: str = ""
    text: str = ""
    error_when: When = field(default_factory=dict[str, str | bool | int | float])


class Counts(Struct, frozen=True, forbid_unknown_fields=True):
    """Paths to token counts; `input` leads to what no cache served."""

    input: str = ""
    cache_read: str = ""
    cache_write: str = ""
    output: str = ""


class EventRule(Struct, frozen=True, forbid_unknown_fields=True):
    """Lines that fulfil `when` become this event. The other fields are paths into the line."""

    when: When
    kind: EventKind = "other"
    text: str = ""
    session_id: str = ""
    model: str = ""
    version: str = ""
    usage: str = ""
    call: ToolPaths | None = None
    result: ToolPaths | None = None
    tokens: Counts | None = None
    tokens_of: Literal["answer", "run", "session"] = "answer"
    #: Paths whose numbers add up to how full the context is.
    context_tokens: tuple[str, ...] = ()
    context_window: str = ""
    cost_usd: str = ""
    #: A path to the name of a tool that was refused.
    denied: str = ""
    terminal: Literal["success", "error"] | None = None
    reason: Reason | None = None
    #: Which limit a `reason` of rate_limit is about; without, one that passes in minutes.
    limit: LimitKind | None = None


class RuleReader:
    """An event rule with conditions parsed once."""

    def __init__(self, rule: EventRule) -> None:
        self.rule = rule
        self._when = _conditions(rule.when)
        self._error_when = _conditions(rule.result.error_when) if rule.result else []

    def fits(self, line: JsonObject) -> bool:
        return _holds(self._when, line)

    def event(self, line: JsonObject) -> Event:
        rule = self.rule
        return Event(
            kind="session_ended" if rule.terminal and rule.kind == "other" else rule.kind,
            raw=line,
            usage=json_line.record(line, *_path(rule.usage)) or None if rule.usage else None,
            text=json_line.capped(_text(line, rule.text)),
            session_id=_text(line, rule.session_id) or None,
            model=_text(line, rule.model) or None,
            version=_text(line, rule.version) or None,
            calls=_calls(line, rule.call),
            results=self._results(line),
            tokens=_tokens(line, rule.tokens),
            tokens_of=rule.tokens_of,
            context_tokens=sum(json_line.count(line, *_path(p)) for p in rule.context_tokens)
            or None,
            context_window=_count(line, rule.context_window) or None,
            cost_usd=json_line.money(line, *_path(rule.cost_usd)) if rule.cost_usd else None,
            limits=_limits(rule.reason, rule.limit),
            denied=(_text(line, rule.denied),) if rule.denied else (),
            terminal=rule.terminal,
            reason=rule.reason,
        )

    def _results(self, line: JsonObject) -> tuple[ToolResult, ...]:
        part = self.rule.result
        if part is None:
            return ()
        failed = bool(self._error_when) and _holds(self._error_when, line)
        words = json_line.capped(_text(line, part.text))
        return (ToolResult(id=_text(line, part.id), is_error=failed, text=words),)


_Condition = tuple[tuple[str | int, ...], Any, re.Pattern[str] | None]


def _conditions(when: When) -> list[_Condition]:
    return [(_path(path), value, _pattern(value)) for path, value in when.items()]


def _pattern(value: Any) -> re.Pattern[str] | None:
    if not isinstance(value, str) or "*" not in value:
        return None
    return re.compile(".*".join(map(re.escape, value.split("*"))), re.DOTALL)


def _holds(conditions: list[_Condition], line: JsonObject) -> bool:
    return all(_is(json_line.at(line, *path), value, shape) for path, value, shape in conditions)


def _is(found: Any, value: Any, shape: re.Pattern[str] | None) -> bool:
    if shape is not None:
        return isinstance(found, str) and shape.fullmatch(found) is not None
    # In JSON `true` and 1 are two things, in Python they are equal.
    return isinstance(found, bool) == isinstance(value, bool) and found == value


@lru_cache(maxsize=1024)
def _path(dotted: str) -> tuple[str | int, ...]:
    return tuple(int(step) if step.isdecimal() else step for step in dotted.split("."))


def _text(line: JsonObject, dotted: str) -> str:
    return json_line.text(line, *_path(dotted)) if dotted else ""


def _count(line: JsonObject, dotted: str) -> int:
    return json_line.count(line, *_path(dotted)) if dotted else 0


def _calls(line: JsonObject, part: ToolPaths | None) -> tuple[ToolCall, ...]:
    if part is None:
        return ()
    given = json_line.record(line, *_path(part.input)) if part.input else {}
    return (ToolCall(id=_text(line, part.id), name=_text(line, part.name), input=given),)


def _tokens(line: JsonObject, counts: Counts | None) -> Usage | None:
    if counts is None:
        return None
    return Usage(
        input=_count(line, counts.input),
        cache_read=_count(line, counts.cache_read),
        cache_write=_count(line, counts.cache_write),
        output=_count(line, counts.output),
    )


def _limits(reason: Reason | None, kind: LimitKind | None) -> tuple[RateLimit, ...]:
    if reason == "rate_limit":
        return (RateLimit(kind=kind or "throttle", status="rejected"),)
    if reason == "billing":
        return (RateLimit(kind="credit", status="rejected"),)
    return ()
