"""The task and what the queue knows of tasks."""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Literal, cast, get_args

from msgspec import Struct, field, structs, to_builtins

from fleet.errors import BadInput
from fleet.schemas.budget import Budget
from fleet.schemas.hosts.code_origin import CodeOrigin
from fleet.schemas.policy import Context, LimitWishes, SandboxLevel, WorkIn
from fleet.schemas.waits import PutOff, SetAside, ToLand, Waits, words

Status = Literal["open", "in_progress", "blocked", "deferred", "closed", "pinned", "hooked"]
STATUSES: tuple[Status, ...] = get_args(Status)

#: In `Task.extra`: the name to show in place of the status.
CUSTOM_STATUS = "custom_status"

#: Dependency types that keep a task from being ready while their target is open.
BLOCKING = ("blocks", "conditional-blocks")

#: How long a claim without a supervisor's lease is taken to be alive after its last sign of life.
CLAIM_LASTS = timedelta(minutes=5)

#: Types that are containers or machinery: `bd ready` and the supervisor never offer them as work.
NOT_WORK = ("merge-request", "gate", "molecule", "message", "agent", "role", "rig")

_ID = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}"


def check_id(task_id: str) -> str:
    """The id, if valid; ids become file names, so nothing else may pass."""
    if not re.fullmatch(_ID, task_id) or ".." in task_id:
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


class Edge(Struct, frozen=True, order=True):
    """The bare fact of a dependency, as every queue can tell it."""

    task_id: str
    depends_on_id: str
    type: str


class Comment(Struct, frozen=True, kw_only=True):
    """What was said about a task in the tracker, by a person or an agent."""

    id: str
    task_id: str
    author: str
    text: str
    created_at: datetime


class Settings(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What fleet knows of a task beyond the tracker's fields: the content of task.json."""

    #: The directory that the agent runs in. None: the task was made without fleet.
    cwd: str | None = None
    #: The coder that this task insists on; None inherits the configured one.
    coder: str | None = None
    #: The model that this task insists on; None inherits the configured one.
    model: str | None = None
    #: The account that this task insists on, and where it goes when there is no room, as a chain
    #: of steps; None inherits.
    account: str | None = None
    fallback: str | None = None
    #: What a claim must have to show; None inherits.
    expect: str | None = None
    #: Commands that must succeed before the task is closed, and the files that they need as
    #: they were at the start. None inherits; an empty list wants none.
    verify: tuple[str, ...] | None = None
    pins: tuple[str, ...] | None = None
    #: Where files may be changed; None inherits.
    scope: tuple[str, ...] | None = None
    #: Where the task works, in git; None inherits.
    work_in: WorkIn | None = None
    #: In settings of an earlier fleet, instead of `work_in`. `none`: in the directory, unless the
    #: task is boxed.
    isolation: Literal["none", "clone", "worktree"] | None = None
    #: The branch that the directory had when the task was made; empty: none was checked out;
    #: None: the directory is in no repository.
    branch: str | None = None
    #: The box that the task insists on; a level below the configured one changes nothing.
    sandbox: SandboxLevel | None = None
    #: What the CLI loads before the task; None inherits.
    context: Context | None = None
    #: The commit that the clone is made from; None: the commit of the task's directory.
    commit: str | None = None
    #: What the agent must have from its start on; None inherits.
    needs: tuple[str, ...] | None = None
    #: The host that the task insists on, by its name; None: any host that fits.
    host: str | None = None
    #: The id of the host that `cwd` is a directory of, on a queue that hosts share.
    made_on: str | None = None
    #: Where other hosts get the code from; None: only the host that made the task has it.
    repository: CodeOrigin | None = None
    limits: LimitWishes | None = None
    #: How many steps a task that an agent made is away from a task that a person made.
    depth: int = 0
    #: The task of a person that all these steps lead back to; None: this is such a task.
    root: str | None = None
    #: What the whole task may spend, over all its runs; None inherits.
    budget: Budget | None = None

    def __post_init__(self) -> None:
        if self.isolation in ("clone", "worktree"):
            structs.force_setattr(self, "isolation", None)
            structs.force_setattr(self, "work_in", self.work_in or "clone")


def settings_in(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """A task's settings as the queue holds them, in the metadata; empty if there are none."""
    own = metadata.get("fleet")
    return cast("dict[str, Any]", own) if isinstance(own, dict) else {}


def settings_metadata(settings: Settings) -> dict[str, Any]:
    """The metadata that has a queue hold these settings with the task."""
    return {"fleet": to_builtins(settings)}


#: Fields of a task that are settings of fleet's own: a queue holds them in the metadata.
IN_METADATA = ("cwd", "coder", "model")


class Task(Struct, frozen=True, kw_only=True):
    """What the user asked for: a tracker issue, and where and with what to work."""

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
    #: How many runs and failed attempts there were over all hosts, and the host of the last run.
    #: Counted by queues that hosts can share.
    runs: int = 0
    attempts: int = 0
    last_host: str = ""
    #: Why the task is blocked or put off; None: it is neither, or an earlier fleet did it, or a
    #: client of bd.
    waits: Waits | None = None
    cwd: str | None = None
    coder: str | None = None
    model: str | None = None

    @property
    def waits_to_land(self) -> bool:
        """The task is blocked because accepted work is not on the branch yet."""
        return self.status == "blocked" and isinstance(self.waits, ToLand)

    @property
    def why_blocked(self) -> str:
        """Why the task is blocked, in words; empty: no reason is known."""
        return "" if self.waits is None else words(self.waits, self.id)

    @property
    def shown_status(self) -> str:
        """The status, or the name that a client of bd gave it (`bd config set status.custom`)."""
        return str(self.extra.get(CUSTOM_STATUS, self.status))


class Lease(Struct, frozen=True, kw_only=True):
    """The fenced right of one supervisor to run one task."""

    task: Task
    owner: str
    fence: int
    until: datetime


class Closed(Struct, frozen=True, kw_only=True, tag=True):
    """The work is done, by a claim that is checked or unchecked."""

    reason: str


class Released(Struct, frozen=True, kw_only=True, tag=True):
    """Back to the queue, perhaps not before a moment."""

    note: str = ""
    not_before: datetime | None = None
    #: What this host lacks for the task: it does not see the task again. Empty: nothing.
    declined: str = ""
    #: Why the task is put off to that moment.
    waits: PutOff | None = None


class Blocked(Struct, frozen=True, kw_only=True, tag=True):
    """Nothing more happens until a person acts, or the work has landed."""

    waits: Waits = SetAside()
    #: In records of an earlier fleet, instead of `waits`: `noted_waits` reads it.
    note: str = ""

    @property
    def to_land(self) -> bool:
        """The claim holds, and the task is closed once its work has landed."""
        return isinstance(self.waits, ToLand)


#: What a lease ends in: exactly one of these.
Settlement = Closed | Released | Blocked


def bears_out(settlement: Settlement) -> bool:
    """The run's claim holds: the task is closed, or will be once the work has landed. Pure."""
    return isinstance(settlement, Closed) or (
        isinstance(settlement, Blocked) and settlement.to_land
    )


Wish = Literal["stop", "tell", "answer"]


class Request(Struct, frozen=True, kw_only=True):
    """What a person wants of the supervisor for one task, kept until carried out."""

    id: str
    task_id: str
    wish: Wish
    text: str = ""
    asked_by: str = ""
    asked_at: datetime
