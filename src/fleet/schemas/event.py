"""What an agent's stream tells: events, and the figures and limits in them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal, cast

from msgspec import Struct, field

EventKind = Literal[
    "session_started",
    "assistant_text",
    "thinking",
    "tool_use",
    "tool_result",
    "rate_limit",
    "rate_limit_info",
    "context_pressure",
    "retry",
    "compaction",
    "usage",
    "error",
    "result",
    "session_ended",
    "other",
    #: A line of an unknown shape: the CLI has changed.
    "unknown",
    #: A line that cannot be read at all.
    "bad",
]

#: Why a run or a request went wrong. Never taken from text that an agent wrote.
Reason = Literal[
    "rate_limit",
    "overloaded",
    "prompt_too_long",
    "max_turns",
    "budget",
    "auth",
    #: The access token of a box has ended or was refused, and its login was good: fleet renews it.
    "stale_login",
    #: The agent used another login or key than the one that was meant.
    "wrong_account",
    #: The CLI looks for its key in a variable or a file that is not there.
    "no_key",
    "billing",
    "model_not_found",
    "bad_request",
    "api_error",
    "max_output",
    "refusal",
    "denied",
    "empty",
    "timeout",
    "aborted",
    "session_not_found",
    #: The CLI asked at its start whether it may work in the directory, which only a person can
    #: answer.
    "untrusted",
    #: The CLI wanted a terminal, or typed input.
    "no_terminal",
    "never_started",
    "no_ending",
    "exit_code",
    "killed",
    "unknown",
]

LimitKind = Literal[
    "five_hour",
    "weekly",
    "weekly_opus",
    "weekly_sonnet",
    #: Paid use beyond the plan.
    "overage",
    #: Too many requests or tokens a minute: over in seconds or minutes.
    "throttle",
    #: The vendor is short of machines, whatever the account has left.
    "overload",
    #: The vendor's service fails or cannot be reached.
    "outage",
    #: Money or prepaid credit is gone: no reset, a person has to pay.
    "credit",
    #: A window of a length that the CLI did not tell.
    "usage",
]

LimitStatus = Literal["allowed", "warning", "rejected"]


class Usage(Struct, frozen=True, kw_only=True):
    """Tokens, counted once each: `input` is what no cache served."""

    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    output: int = 0

    @property
    def total(self) -> int:
        return self.input + self.cache_read + self.cache_write + self.output

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            input=self.input + other.input,
            cache_read=self.cache_read + other.cache_read,
            cache_write=self.cache_write + other.cache_write,
            output=self.output + other.output,
        )

    def since(self, before: "Usage") -> "Usage":
        """What a growing count gained since `before`; one that began anew counts whole."""
        if before.total > self.total:
            return self
        return Usage(
            input=max(0, self.input - before.input),
            cache_read=max(0, self.cache_read - before.cache_read),
            cache_write=max(0, self.cache_write - before.cache_write),
            output=max(0, self.output - before.output),
        )


class RateLimit(Struct, frozen=True, kw_only=True):
    """One limit of an account, as the CLI reported it."""

    kind: LimitKind
    status: LimitStatus = "allowed"
    resets_at: datetime | None = None
    #: Seconds from the event on, where the CLI gives no point in time.
    retry_after: float | None = None
    used_percent: float | None = None


class ToolCall(Struct, frozen=True, kw_only=True):
    """A tool that the agent asked for."""

    id: str
    name: str
    input: dict[str, Any] = field(default_factory=dict[str, Any])


class ToolResult(Struct, frozen=True, kw_only=True):
    """What a tool gave back; `text` is cut to a length that can be kept."""

    id: str
    is_error: bool = False
    #: The call was refused for want of permission, and did nothing.
    denied: bool = False
    text: str = ""


class Event(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One normalised line of an agent's stream.

    `kind`, `raw`, `ts` and `usage` are all that a coder has to fill. The rest says in types
    what fleet can use: a coder sets what its CLI tells, and leaves out what it does not.
    """

    kind: str
    raw: Any = None
    #: When the line was read. A coder may leave this out; the reader of the stream fills it in.
    ts: datetime | None = None
    #: The CLI's own token record, as it came.
    usage: dict[str, Any] | None = None
    text: str = ""
    session_id: str | None = None
    model: str | None = None
    #: The version of the CLI.
    version: str | None = None
    #: What the CLI says it is logged in by: the name of a key's variable, or `none` for a login.
    key_source: str | None = None
    #: The model's answer that this line is a part of: an answer may come in several lines.
    message_id: str | None = None
    calls: tuple[ToolCall, ...] = ()
    results: tuple[ToolResult, ...] = ()
    #: What `usage` says in fleet's words, and what it counts: one answer of the model, an answer
    #: that has only begun (its output is not counted yet), the run so far, or the whole session
    #: with the runs before this one.
    tokens: Usage | None = None
    tokens_of: Literal["answer", "begun", "run", "session"] = "answer"
    #: How full the agent's own context is (a subagent's does not count), and how much it holds;
    #: where the CLI tells of several models, how much that of each holds.
    context_tokens: int | None = None
    context_window: int | None = None
    context_windows: dict[str, int] | None = None
    cost_usd: float | None = None
    turns: int | None = None
    limits: tuple[RateLimit, ...] = ()
    #: Tools that were refused for want of permission; and the calls, where the CLI names them.
    denied: tuple[str, ...] = ()
    denied_calls: tuple[ToolCall, ...] = ()
    #: What the agent has at its start (`mcp:NAME`, `tool:NAME`), and servers that it should have
    #: and could not reach. None: this line does not tell.
    offers: tuple[str, ...] | None = None
    missing: tuple[str, ...] = ()
    #: The CLI says that its work is over, and how.
    terminal: Literal["success", "error"] | None = None
    reason: str | None = None


#: Keys of a tool's input that tell most of a call, best first.
_TELLING = (
    "command", "CommandLine", "file_path", "path", "pattern", "query", "url", "question", "text",
    "title", "description",
)  # fmt: skip
#: Characters of a step that are kept.
LONGEST_STEP = 240


def step_line(event: Event) -> str:
    """One step of an agent on one line; empty: the event tells of none. Pure."""
    if event.calls:
        return "; ".join(call_line(call.name, call.input) for call in event.calls)[:LONGEST_STEP]
    return head_line(event.text)[:LONGEST_STEP] if event.kind == "assistant_text" else ""


def call_line(name: str, given: Mapping[str, Any]) -> str:
    """A call as `Bash: make test`."""
    inner = given.get("arguments")  # so codex has what was handed to a server's tool
    handed = cast("Mapping[str, Any]", inner) if isinstance(inner, dict) else given
    telling = next((handed[key] for key in _TELLING if handed.get(key)), "")
    words = head_line(str(telling))
    name = name.removeprefix("mcp__fleet__")
    return f"{name}: {words}" if words else name


def head_line(text: str) -> str:
    """The first line that is not empty."""
    return text.strip().partition("\n")[0]
