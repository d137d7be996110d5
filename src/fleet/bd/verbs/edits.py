"""Commands that are one edit of tasks with a sentence of their own: assign, priority, note, defer,
undefer, unclaim, label add, label remove. `label list` is their reading neighbour.
"""

from collections.abc import Callable, Sequence

from msgspec import UNSET, Struct

from fleet.bd.arguments import values
from fleet.bd.command import Call, Failure, Reply, Verb
from fleet.bd.output.json_shapes import issue
from fleet.bd.pflag import Flag
from fleet.errors import FleetError, Refused
from fleet.queue.sql.actor_claims import same_actor
from fleet.queue.sql.edit_task import Change, Stale, edit
from fleet.queue.sql.task_row import take
from fleet.schemas import Task


class _Edit(Struct, frozen=True, kw_only=True):
    """What one of these commands changes, and how the command says so."""

    ids: Sequence[str]
    change: Change
    #: The text for one changed task.
    said: str
    #: Refuses a task that the change makes no sense for; called while the task is locked.
    check: Callable[[Task], None] = lambda _: None


def _edited(call: Call, wanted: _Edit) -> list[Task]:
    """The tasks after the change, all of them or none."""
    tasks: list[Task] = []
    with call.queue.db.writing():
        for word in wanted.ids:
            task_id = call.resolve(word)
            wanted.check(take(call.queue, task_id))
            tasks.append(edit(call.queue, task_id, wanted.change, actor=call.actor).after)
    return tasks


def _sentences(wanted: _Edit, tasks: Sequence[Task]) -> str:
    return "\n".join(f"{wanted.said}: {task.id} {task.title}" for task in tasks)


def _one(edit_of: Callable[[Call], _Edit]) -> Callable[[Call], Reply]:
    """A command about one task, whose JSON is the task."""

    def run(call: Call) -> Reply:
        wanted = edit_of(call)
        tasks = _edited(call, wanted)
        return call.confirmed(_sentences(wanted, tasks), issue(tasks[0]))

    return run


def _assign(call: Call) -> _Edit:
    word, assignee = values.exactly(call, 2)
    change = Change(assignee=assignee, force=call.line.switch("force"))
    said = f"Assigned to {assignee}" if assignee else "Unassigned"
    return _Edit(ids=[word], change=change, said=said)


def _priority(call: Call) -> _Edit:
    word, text = values.exactly(call, 2)
    level = values.priority(text)
    return _Edit(ids=[word], change=Change(fields={"priority": level}), said=f"Priority P{level}")


def _note(call: Call) -> _Edit:
    word, *rest = values.ids(call)
    text = values.spoken_text(call, rest)
    return _Edit(ids=[word], change=Change(append_notes=text), said="Note added")


def _defer(call: Call) -> Reply:
    until = values.moment(call, "until")
    if until is not None and until <= call.now:
        call.warn("Warning: --until names a moment in the past; the task is ready now")
    change = Change(
        status="deferred",
        defer_until=UNSET if until is None else until,
        append_notes=call.line.text("reason"),
    )
    wanted = _Edit(ids=values.ids(call), change=change, said="Deferred")
    tasks = _edited(call, wanted)
    return call.confirmed(_sentences(wanted, tasks), [issue(task) for task in tasks])


def _undefer(call: Call) -> Reply:
    ids = [call.resolve(word) for word in values.ids(call)]
    change = Change(status="open", defer_until=None, if_status="deferred")
    return _each(call, ids, _Edit(ids=ids, change=change, said="Open again"))


def _unclaim(call: Call) -> Reply:
    line = call.line
    if line.has("if-assignee") and (line.switch("force") or not line.text("if-assignee")):
        raise Failure("--if-assignee needs a name, and no --force beside it")
    free = line.switch("force") or line.has("if-assignee")

    def check(task: Task) -> None:
        if not task.assignee or task.status not in ("open", "in_progress", "hooked"):
            raise Refused(f"{task.id} is {task.status} and not claimed")
        if not free and not same_actor(task.assignee, call.actor):
            raise Refused(
                f"{task.id} is held by {task.assignee}; use --force only if that claim is abandoned"
            )

    change = Change(
        status="open",
        assignee="",
        fields={"started_at": None},
        comment=line.text("reason"),
        force=free,
        if_assignee=line.text("if-assignee") if line.has("if-assignee") else None,
    )
    return _each(
        call, values.ids(call), _Edit(ids=(), change=change, said="Unclaimed", check=check)
    )


def _each(call: Call, words: Sequence[str], wanted: _Edit) -> Reply:
    """Each task by itself; what fails is told on standard error, and is a failure of the command
    unless the task only was in another status already.
    """
    tasks: list[Task] = []
    failed = False
    for word in words:
        try:
            tasks += _edited(
                call, _Edit(ids=[word], change=wanted.change, said="", check=wanted.check)
            )
        except FleetError as error:
            call.warn(f"{word}: {error.message}")
            failed = failed or not (isinstance(error, Stale) and call.name == "undefer")
    value = [issue(task) for task in tasks] if tasks else UNSET
    return call.confirmed(_sentences(wanted, tasks), value, code=int(failed))


def _relabel(call: Call) -> Reply:
    """All words but the last are ids; the last holds the labels, by comma."""
    *words, last = values.ids(call, 2)
    labels = values.labels_of(call, last)
    adds = call.name == "label add"
    if adds and any(label.startswith("provides:") for label in labels):
        raise Failure("labels that start with 'provides:' are reserved")
    status = "added" if adds else "removed"
    change = Change(add_labels=labels) if adds else Change(remove_labels=labels)
    wanted = _Edit(ids=words, change=change, said=f"Labels {status} ({', '.join(labels)})")
    tasks = _edited(call, wanted)
    rows = [
        {"issue_id": task.id, "label": label, "status": status}
        for task in tasks
        for label in labels
    ]
    return call.confirmed(_sentences(wanted, tasks), rows)


def _label_list(call: Call) -> Reply:
    (word,) = values.exactly(call, 1)
    task = call.task(word)
    return Reply(value=list(task.labels), text="\n".join(task.labels) or f"{task.id} has no labels")


ASSIGN = Verb(
    run=_one(_assign),
    usage="bd assign <id> <name> [flags]",
    about="Assign an issue; an empty name unassigns it",
    flags=(Flag("force", "switch", help="Take over another actor's work in progress"),),
    writes=True,
)
PRIORITY = Verb(
    run=_one(_priority),
    usage="bd priority <id> <n>",
    about="Set the priority of an issue",
    writes=True,
)
NOTE = Verb(
    run=_one(_note),
    usage="bd note <id> [text...] [flags]",
    about="Append a note to an issue",
    flags=values.TEXT_FLAGS,
    writes=True,
)
DEFER = Verb(
    run=_defer,
    usage="bd defer [id...] [flags]",
    about="Defer one or more issues for later",
    flags=(
        Flag("until", help="Defer until a time (e.g., +1h, tomorrow, next monday)"),
        Flag("reason", help="Why (appended to notes)"),
    ),
    writes=True,
)
UNDEFER = Verb(
    run=_undefer,
    usage="bd undefer [id...]",
    about="Undefer one or more issues (restore to open)",
    writes=True,
)
UNCLAIM = Verb(
    run=_unclaim,
    usage="bd unclaim [id...] [flags]",
    about="Release claimed issues",
    flags=(
        Flag("force", "switch", help="Release the issue even if a different actor holds it"),
        Flag("if-assignee", help="Only release while this assignee holds the issue"),
        Flag("reason", short="r", help="Reason for unclaiming (becomes a comment)"),
    ),
    writes=True,
)
LABEL_ADD = Verb(
    run=_relabel,
    usage="bd label add [issue-id...] [label[,label...]]",
    about="Add one or more labels to one or more issues",
    writes=True,
)
LABEL_REMOVE = Verb(
    run=_relabel,
    usage="bd label remove [issue-id...] [label[,label...]]",
    about="Remove one or more labels from one or more issues",
    writes=True,
)
LABEL_LIST = Verb(
    run=_label_list, usage="bd label list [issue-id]", about="List labels for an issue"
)
