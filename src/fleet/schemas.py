"""The words of fleet as frozen values. Pure: no I/O, no clock, no process.

`docs/glossary.md` says what each word means; the names here are those words.
"""

import re
from datetime import datetime, timedelta
from typing import Any, Literal

from msgspec import Struct, field

from fleet.errors import BadInput

Status = Literal["open", "in_progress", "blocked", "deferred", "closed", "pinned", "hooked"]
STATUSES: tuple[Status, ...] = (
    "open", "in_progress", "blocked", "deferred", "closed", "pinned", "hooked",
)  # fmt: skip

#: Dependency types that keep a task from being ready while their target is open.
BLOCKING = ("blocks", "conditional-blocks")

#: How long a claim without a supervisor's lease is taken to be alive after its last sign of life.
CLAIM_LASTS = timedelta(minutes=5)

#: Types that are containers or machinery: `bd ready` and the supervisor never offer them as work.
NOT_WORK = ("merge-request", "gate", "molecule", "message", "agent", "role", "rig")

_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")


def check_id(task_id: str) -> str:
    """The id itself, if it can be one; ids become file names, so nothing else may pass."""
    if not _ID.fullmatch(task_id) or ".." in task_id:
        raise BadInput(
            f"{task_id[:80]!r} is not a task id",
            hint="An id is letters, digits, '.', '_' and '-', like fleet-a1b.",
        )
    return task_id


class Dependency(Struct, frozen=True, kw_only=True):
    """`task_id` depends on `depends_on_id`."""

    task_id: str
    depends_on_id: str
    type: str = "blocks"
    created_at: datetime
    created_by: str = ""
    metadata: str = "{}"
    thread_id: str = ""


class Comment(Struct, frozen=True, kw_only=True):
    id: str
    task_id: str
    author: str
    text: str
    created_at: datetime


class Settings(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What fleet itself knows of a task beyond the tracker's fields: the content of task.json."""

    #: The directory that the agent runs in. None: the task was made without fleet.
    cwd: str | None = None
    #: The coder that this task insists on; None inherits the configured one.
    coder: str | None = None
    #: The model that this task insists on; None inherits the configured one.
    model: str | None = None


class Task(Struct, frozen=True, kw_only=True):
    """What the user asked for: a tracker issue, and where and with what to work on it."""

    id: str
    title: str
    status: Status = "open"
    priority: int = 2
    issue_type: str = "task"
    created_at: datetime
    updated_at: datetime
    description: str = ""
    design: str = ""
    acceptance_criteria: str = ""
    notes: str = ""
    spec_id: str = ""
    assignee: str = ""
    owner: str = ""
    created_by: str = ""
    estimated_minutes: int | None = None
    started_at: datetime | None = None
    closed_at: datetime | None = None
    close_reason: str = ""
    due_at: datetime | None = None
    #: Set by a person: not ready before this moment.
    defer_until: datetime | None = None
    #: Set by the supervisor (back-off, a rate limit): not claimed before this moment.
    not_before: datetime | None = None
    external_ref: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    #: Tracker fields that fleet does not use and keeps whole for export.
    extra: dict[str, Any] = field(default_factory=dict[str, Any])
    labels: tuple[str, ...] = ()
    #: The ownership counter: it grows by one with each claim and fences every later write.
    fence: int = 0
    lease_owner: str | None = None
    lease_until: datetime | None = None
    heartbeat_at: datetime | None = None
    cwd: str | None = None
    coder: str | None = None
    model: str | None = None


class Lease(Struct, frozen=True, kw_only=True):
    """The fenced right of one supervisor to run one task."""

    task: Task
    owner: str
    fence: int
    until: datetime


class Closed(Struct, frozen=True, kw_only=True, tag=True):
    """The work is done and was verified."""

    reason: str


class Released(Struct, frozen=True, kw_only=True, tag=True):
    """Back to the queue, perhaps not before a moment."""

    note: str = ""
    not_before: datetime | None = None


class Blocked(Struct, frozen=True, kw_only=True, tag=True):
    """Nothing more happens until a person acts; `note` says what is needed."""

    note: str


#: What a lease ends in. One settle, one of these.
Settlement = Closed | Released | Blocked

Wish = Literal["stop", "retry", "answer", "tell"]


class Request(Struct, frozen=True, kw_only=True):
    """What a person wants of the supervisor for one task, kept until it is carried out."""

    id: str
    task_id: str
    wish: Wish
    text: str = ""
    asked_by: str = ""
    asked_at: datetime


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
    #: A line of a shape that this fleet does not know: the CLI has changed.
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
    #: The vendor is short of machines, whatever our account has left.
    "overload",
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
    """One limit of an account, as its CLI reported it."""

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
    text: str = ""


class Event(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One normalised line of an agent's stream.

    `kind`, `raw`, `ts` and `usage` are all that a coder has to fill. The rest says in types
    what fleet can use: a coder sets what its CLI tells, and leaves out what it does not.
    """

    kind: str
    raw: Any = None
    #: When it was read. A coder may leave it out; whoever reads the stream knows.
    ts: datetime | None = None
    #: The CLI's own token record, as it came.
    usage: dict[str, Any] | None = None
    text: str = ""
    session_id: str | None = None
    model: str | None = None
    #: The version of the CLI.
    version: str | None = None
    #: The model's answer that this line is a part of: an answer may come in several lines.
    message_id: str | None = None
    calls: tuple[ToolCall, ...] = ()
    results: tuple[ToolResult, ...] = ()
    #: What `usage` says in fleet's words, and what it counts: one answer of the model, the run
    #: so far, or the whole session with the runs before this one.
    tokens: Usage | None = None
    tokens_of: Literal["answer", "run", "session"] = "answer"
    #: How full the agent's own context is (a subagent's does not count), and how much it holds.
    context_tokens: int | None = None
    context_window: int | None = None
    cost_usd: float | None = None
    turns: int | None = None
    limits: tuple[RateLimit, ...] = ()
    #: Tools that were refused for want of permission.
    denied: tuple[str, ...] = ()
    #: The CLI says that its work is over, and how.
    terminal: Literal["success", "error"] | None = None
    reason: str | None = None

    @property
    def limit(self) -> RateLimit | None:
        """The limit that presses most."""
        return max(self.limits, key=_pressure, default=None)


def _pressure(limit: RateLimit) -> tuple[bool, float]:
    return limit.status == "rejected", limit.used_percent or 0.0


class Finished(Struct, frozen=True, kw_only=True, tag=True):
    """The agent came to its own end. Whether the task is done is another question."""

    text: str = ""
    #: Tools that it wanted and was refused.
    denied: tuple[str, ...] = ()


class Failed(Struct, frozen=True, kw_only=True, tag=True):
    """The run broke."""

    reason: Reason
    #: The CLI's own words, for a person.
    detail: str = ""

    @property
    def is_account(self) -> bool:
        """Any other task would fail in the same way on this account."""
        return self.reason in ("auth", "billing")


class RateLimited(Struct, frozen=True, kw_only=True, tag=True):
    """The vendor refused to go on."""

    limit: RateLimit


class ContextFull(Struct, frozen=True, kw_only=True, tag=True):
    """The model's context has no room left."""

    tokens: int | None = None
    window: int | None = None


class NeedsHuman(Struct, frozen=True, kw_only=True, tag=True):
    """The agent asked a question and left."""

    question: str = ""


class Stalled(Struct, frozen=True, kw_only=True, tag=True):
    """Nothing moved for too long."""

    silent_seconds: float


class LimitExceeded(Struct, frozen=True, kw_only=True, tag=True):
    """The run used up what it was given."""

    limit: Literal["time", "turns", "tokens", "cost", "output"]
    detail: str = ""


class Stopped(Struct, frozen=True, kw_only=True, tag=True):
    """A person, or a supervisor that shut down, ended it."""

    by: str


class Lost(Struct, frozen=True, kw_only=True, tag=True):
    """It is gone, and nothing says how it ended."""

    why: str = ""


#: How a run ended.
Outcome = (
    Finished
    | Failed
    | RateLimited
    | ContextFull
    | NeedsHuman
    | Stalled
    | LimitExceeded
    | Stopped
    | Lost
)
