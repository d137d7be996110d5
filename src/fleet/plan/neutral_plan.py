"""The neutral plan, `fleet.plan/1`, what a reader of a spec makes it from, and how a reader says
that a file is wrong. Pure.
"""

from msgspec import Struct, field

from fleet.errors import BadInput

FORMAT = "fleet.plan/1"
#: Problems of one file that are told at once.
_MOST_SHOWN = 10


class SpecFile(Struct, frozen=True, kw_only=True):
    """One file of a spec, read."""

    #: How it is called in errors, and in what agents are told.
    name: str
    text: str


class SpecText(Struct, frozen=True, kw_only=True):
    """The files of a spec: those with tasks, and what lies beside them."""

    #: What the spec is called: the feature's directory, or the file without its ending.
    title: str
    files: tuple[SpecFile, ...]
    #: Documents that belong to the spec and hold no tasks.
    beside: tuple[SpecFile, ...] = ()
    #: Which of several lists in one file is meant; task-master calls it a tag.
    tag: str = ""

    @property
    def main(self) -> SpecFile:
        return self.files[0]

    @property
    def to_read(self) -> tuple[str, ...]:
        """The sentence that names these documents to an agent; none: nothing lies beside."""
        names = ", ".join(each.name for each in self.beside)
        return (f"Read beside it: {names}.",) if names else ()

    def document(self, name: str) -> SpecFile | None:
        """A document beside the tasks, by file name."""
        return next((each for each in self.beside if each.name.endswith(name)), None)


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


def refuse(problems: list[str], *, hint: str = "") -> None:
    """Raise BadInput with these problems, each a line that begins with the place; none: go on."""
    if not problems:
        return
    more = len(problems) - _MOST_SHOWN
    shown = problems[:_MOST_SHOWN] + ([f"… and {more} more"] if more > 0 else [])
    raise BadInput("\n".join(shown), hint=hint)
