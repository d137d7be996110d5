"""The words of fleet as frozen values. Pure: no I/O, no clock, no process.

`docs/glossary.md` says what each word means; the names here are those words.
"""
# What is imported here is what the package offers:
# ruff: noqa: F401
# pyright: reportUnusedImport=false

from fleet.schemas.account import Account, Step, Window
from fleet.schemas.budget import Budget, Price, Spend
from fleet.schemas.event import (
    Event,
    EventKind,
    LimitKind,
    LimitStatus,
    RateLimit,
    Reason,
    ToolCall,
    ToolResult,
    Usage,
)
from fleet.schemas.hosts.code_origin import CodeOrigin
from fleet.schemas.hosts.host import Decline, Host, HostState, Offer
from fleet.schemas.outcome import (
    ContextFull,
    Failed,
    Finished,
    LimitExceeded,
    Lost,
    NeedsHuman,
    Outcome,
    RateLimited,
    Rung,
    Stalled,
    Stopped,
    named,
)
from fleet.schemas.policy import (
    Context,
    LimitName,
    Limits,
    LimitWishes,
    Policy,
    Sandbox,
    SandboxLevel,
    Tripwire,
)
from fleet.schemas.receipt import (
    Base,
    BaseCheck,
    BegunMerge,
    Changes,
    Check,
    Command,
    CountedTests,
    Exam,
    FileChange,
    Finding,
    Misplaced,
    Receipt,
    Verdict,
    WorkElsewhere,
)
from fleet.schemas.task import (
    BLOCKING,
    CLAIM_LASTS,
    CUSTOM_STATUS,
    NOT_WORK,
    STATUSES,
    Blocked,
    Closed,
    Comment,
    Dependency,
    Edge,
    Lease,
    Released,
    Request,
    Settings,
    Settlement,
    Status,
    Task,
    Wish,
    bears_out,
    check_id,
    settings_in,
    settings_metadata,
)
