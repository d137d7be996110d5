"""The neutral plan, `fleet.plan/1`: what every reader of a spec ends in. Pure."""

from msgspec import Struct, field

FORMAT = "fleet.plan/1"


class PlannedTask(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One `[[task]]` of a plan. A task that others name as their parent is a group of them."""

    #: What the plan itself calls the task: it stays the same when the text changes.
    key: str = ""
    title: str = ""
    #: What the agent is told; complete, as the agent sees no other task.
    body: str = ""
    #: Keys of the tasks that must be done before.
    after: tuple[str, ...] = ()
    #: The key of the group that the task belongs to.
    parent: str = ""
    #: Files that the task is about to change; a claim, which is shown and not enforced.
    files: tuple[str, ...] = ()
    #: Settings of the task; None inherits. `verify` holds proposals until a person applies them.
    scope: tuple[str, ...] | None = None
    verify: tuple[str, ...] = ()
    pins: tuple[str, ...] | None = None
    expect: str | None = None
    coder: str | None = None
    model: str | None = None
    priority: int = 2
    labels: tuple[str, ...] = ()
    #: Ticked in the spec: nothing is left to do.
    done: bool = False
    #: Other tasks do not wait for it.
    optional: bool = False
    #: Where the task stands, `tasks.md:12`, for errors.
    place: str = ""


class Plan(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A whole plan: an epic, and tasks."""

    format: str = FORMAT
    title: str = ""
    #: What the whole is for.
    body: str = ""
    #: Commands that check the whole; proposals, too.
    verify: tuple[str, ...] = ()
    tasks: tuple[PlannedTask, ...] = field(default=(), name="task")
