"""Commands that are one edit of tasks with a sentence of their own: assign, priority, note, defer,
undefer, reopen, unclaim, label add, label remove. `label list` is their reading neighbour.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TypeVar

from msgspec import UNSET

from fleet.bd.arguments import values
from fleet.bd.command import Call, Reply, Verb
from fleet.bd.output.json_shapes import issue
from fleet.bd.pflag import Flag
from fleet.errors import BadInput, FleetError, NotFound, Refused
from fleet.queue.sql.edit_task import Change, Stale, edit, heartbeat, same_actor, take
from fleet.schemas import Task

T = TypeVar("T")


def each(
    items: Iterable[T], act: Callable[[T], Task]
) -> tuple[list[Task], list[tuple[T, FleetError]]]:
    """The tasks that `act` changed, and what was refused: one refusal keeps no other back."""
    tasks: list[Task] = []
    refused: list[tuple[T, FleetError]] = []
    for item in items:
        try:
            tasks.append(act(item))
        except (Refused, NotFound, BadInput) as error:
            refused.append((item, error))
    return tasks, refused


def _edited(
    call: Call, words: Sequence[str], change: Change, check: Callable[[Task], None] | None = None
) -> list[Task]:
    """The tasks after the change, all or none; `check` may refuse a locked task."""
    tasks: list[Task] = []
    with call.queue.db.writing():
        for word in words:
            task_id = call.resolve(word)
            if check is not None:
                check(take(call.queue, task_id))
            tasks.append(edit(call.queue, task_id, change, actor=call.actor))
    return tasks


def _sentences(done: str, tasks: Sequence[Task]) -> str:
    return "\n".join(f"{done}: {task.id} {task.title}" for task in tasks)


def _one(call: Call, word: str, change: Change, done: str) -> Reply:
    """The reply of a command about one task, whose JSON is the task."""
    tasks = _edited(call, [word], change)
    return call.confirmed(_sentences(done, tasks), issue(tasks[0]))


def _assign(call: Call) -> Reply:
    word, assignee = values.exactly(call, 2)
    change = Change(assignee=assignee, force=call.line.switch("force"))
    return _one(call, word, change, f"Assigned to {assignee}" if assignee else "Unassigned")


def _priority(call: Call) -> Reply:
    word, text = values.exactly(call, 2)
    level = values.priority(text)
    return _one(call, word, Change(fields={"priority": level}), f"Priority P{level}")


def _note(call: Call) -> Reply:
    word, *rest = values.ids(call)
    return _one(call, word, Change(append_notes=values.spoken_text(call, rest)), "Note added")


def _defer(call: Call) -> Reply:
    until = values.moment(call, "until")
    if until is not None and until <= call.now:
        call.warn("Warning: --until names a moment in the past; the task is ready now")
    reason = call.line.text("reason")
    if call.line.has("reason") and not reason.strip():
        raise BadInput("reason cannot be empty")
    change = Change(
        status="deferred",
        defer_until=UNSET if until is None else until,
        append_notes=reason,
    )
    tasks = _edited(call, values.ids(call), change)
    return call.confirmed(_sentences("Deferred", tasks), [issue(task) for task in tasks])


def _undefer(call: Call) -> Reply:
    ids = [call.resolve(word) for word in values.ids(call)]
    change = Change(status="open", defer_until=None, if_status="deferred")

    def check(task: Task) -> None:
        if task.status != "deferred":
            raise Stale(f"{task.id} is not deferred (status: {task.status})")

    return _separately(call, ids, change, partial(_sentences, "Open again"), check)


def _reopen(call: Call) -> Reply:
    reason = call.line.text("reason")
    change = Change(status="open", defer_until=None, comment=reason, if_status="closed")

    def check(task: Task) -> None:
        if task.status != "closed":
            raise Stale(f"{task.id} is already {task.status}")

    def reopened(tasks: Sequence[Task]) -> str:
        return "\n".join(f"Reopened {task.id}: {task.title}" for task in tasks)

    return _separately(call, values.ids(call), change, reopened, check)


def _unclaim(call: Call) -> Reply:
    line = call.line
    if line.has("if-assignee") and (line.switch("force") or not line.text("if-assignee")):
        raise BadInput("--if-assignee needs a name, and no --force beside it")
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
    return _separately(call, values.ids(call), change, partial(_sentences, "Unclaimed"), check)


def _heartbeat(call: Call) -> Reply:
    (word,) = values.exactly(call, 1)
    try:
        task = heartbeat(call.queue, call.resolve(word), actor=call.actor)
    except (Refused, NotFound) as error:
        raise BadInput(f"heartbeat {word}: {error.message}") from None
    value = {"id": task.id, "status": "heartbeat", "owner": task.assignee}
    return call.confirmed(_sentences("Claim renewed", [task]), value)


def _separately(
    call: Call,
    words: Sequence[str],
    change: Change,
    done: Callable[[Sequence[Task]], str],
    check: Callable[[Task], None] | None = None,
) -> Reply:
    """Change each task by itself, and say what is `done`; what fails is told on standard error, and
    is a failure of the command unless the task only was in another status already.
    """
    tasks, refused = each(words, lambda word: _edited(call, [word], change, check)[0])
    failed = False
    for word, error in refused:
        if change.if_status and isinstance(error, Stale):
            call.warn(error.message)
        else:
            failed = True
            call.warn(f"{word}: {error.message}")
    value = [issue(task) for task in tasks] if tasks else UNSET
    return call.confirmed(done(tasks), value, code=int(failed))


def _relabel(call: Call) -> Reply:
    """All words but the last are ids; the last holds the labels, by comma."""
    *words, last = values.ids(call, 2)
    labels = values.labels_of(call, last)
    adds = call.name == "label add"
    if adds and any(label.startswith("provides:") for label in labels):
        raise BadInput("labels that start with 'provides:' are reserved")
    status = "added" if adds else "removed"
    change = Change(add_labels=labels) if adds else Change(remove_labels=labels)
    tasks = _edited(call, words, change)
    rows = [
        {"issue_id": task.id, "label": label, "status": status}
        for task in tasks
        for label in labels
    ]
    return call.confirmed(_sentences(f"Labels {status} ({', '.join(labels)})", tasks), rows)


def _label_list(call: Call) -> Reply:
    (word,) = values.exactly(call, 1)
    task = call.task(word)
    return Reply(value=list(task.labels), text="\n".join(task.labels) or f"{task.id} has no labels")


ASSIGN = Verb(
    run=_assign,
    usage="bd assign <id> <name> [flags]",
    about="Assign an issue; an empty name unassigns it",
    flags=(Flag("force", "switch", help="Take over another actor's work in progress"),),
    writes=True,
)
PRIORITY = Verb(
    run=_priority,
    usage="bd priority <id> <n>",
    about="Set the priority of an issue",
    writes=True,
)
NOTE = Verb(
    run=_note,
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
REOPEN = Verb(
    run=_reopen,
    usage="bd reopen [id...] [flags]",
    about="Reopen one or more closed issues",
    flags=(Flag("reason", short="r", help="Reason for reopening, kept as a comment"),),
    writes=True,
)
HEARTBEAT = Verb(
    run=_heartbeat,
    usage="bd heartbeat <id>",
    about="Renew your claim of an issue in progress",
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
