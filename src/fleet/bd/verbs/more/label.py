"""bd label and bd tag."""

from collections.abc import Sequence

from fleet.bd.arguments.positional import at_least, exactly, found
from fleet.bd.command import Call, Failure, Verb
from fleet.bd.output.json_shapes import issue
from fleet.errors import FleetError
from fleet.queue.sql.edit_task import Change, edit
from fleet.queue.sql.tracker.counts import grouped
from fleet.queue.sql.tracker.search import Search, search

#: What counting by label calls the tasks that have none.
_NO_LABEL = "(no labels)"


def _add(call: Call) -> int:
    ids, labels = _ids_and_labels(call)
    for label in labels:
        refuse_reserved(label)
    change_all(call, ids, Change(add_labels=labels))
    _tell(call, ids, labels, "added", "Added", "to")
    for label in labels:
        if " " in label:
            call.warn(f'⚠ Stored "{label}" as ONE label — it contains a space.')
            call.warn(
                "  If you meant several labels, separate them with commas"
                f" ({label.replace(' ', ',')}) or repeat the flag."
            )
    return 0


def _remove(call: Call) -> int:
    ids, labels = _ids_and_labels(call)
    change_all(call, ids, Change(remove_labels=labels))
    _tell(call, ids, labels, "removed", "Removed", "from")
    return 0


def change_all(call: Call, ids: Sequence[str], change: Change) -> None:
    """The same change to several tasks, all of them or none."""
    with call.queue.db.writing():
        for task_id in ids:
            edit(call.queue, task_id, change, actor=call.actor)


def _ids_and_labels(call: Call) -> tuple[list[str], list[str]]:
    """All words but the last are ids; the last holds the labels, by comma."""
    *words, last = at_least(call, 2)
    labels = [label.strip() for label in last.split(",") if label.strip()]
    if not labels:
        raise Failure("label cannot be empty")
    return [_one(call, word, many=len(words) > 1) for word in words], labels


def _one(call: Call, word: str, *, many: bool) -> str:
    try:
        return call.resolve(word)
    except FleetError as error:
        how = (
            " (to add multiple labels, pass one comma-separated argument:"
            " bd label add <issue-id> label1,label2)"
        )
        said = f'resolving issue ID "{word}": {error.message}'
        raise Failure(said + (how if many else "")) from None


def refuse_reserved(label: str) -> None:
    if label.startswith("provides:"):
        raise Failure(
            "'provides:' labels are reserved for cross-project capabilities."
            f" Hint: use 'bd ship {label.removeprefix('provides:')}' instead"
        )


def _tell(
    call: Call, ids: Sequence[str], labels: Sequence[str], status: str, done: str, where: str
) -> None:
    if call.json:
        call.put(
            [
                {"issue_id": task_id, "label": label, "status": status}
                for task_id in ids
                for label in labels
            ]
        )
        return
    word = "label" if len(labels) == 1 else "labels"
    quoted = ", ".join(f"'{label}'" for label in labels)
    for task_id in ids:
        call.say(f"✓ {done} {word} {quoted} {where} {task_id}")


def _list(call: Call) -> int:
    (word,) = exactly(call, 1)
    task = found(call, word)
    if call.json:
        call.put(list(task.labels))
    elif task.labels:
        lines = [f"  - {label}" for label in task.labels]
        call.say("\n".join([f"\n🏷 Labels for {task.id}:", *lines, ""]))
    else:
        call.say(f"\n{task.id} has no labels")
    return 0


def _list_all(call: Call) -> int:
    counts = [one for one in grouped(call.queue, Search(), "label") if one[0] != _NO_LABEL]
    if call.json:
        call.put([{"label": label, "count": count} for label, count in counts])
    elif counts:
        width = max(len(label) for label, _ in counts)
        call.say(f"\n🏷 All labels ({len(counts)} unique):")
        for label, count in counts:
            call.say(f"  {label:<{width}}  ({count} issues)")
        call.say()
    else:
        call.say("\nNo labels found in database")
    return 0


def _propagate(call: Call) -> int:
    word, label = exactly(call, 2)
    parent = found(call, word, f"resolving parent {word}")
    refuse_reserved(label)
    if not label.strip():
        raise Failure("label cannot be empty")
    children = [task.id for task in search(call.queue, Search(parent=parent.id))]
    change_all(call, children, Change(add_labels=(label,)))
    if call.json:
        ids = [{"issue_id": task_id} for task_id in children]
        call.put([{**body, "label": label, "status": "propagated"} for body in ids])
    for task_id in () if call.json else children:
        call.say(f"✓ Propagated label '{label}' to {task_id}")
    return 0


def _tag(call: Call) -> int:
    word, label = exactly(call, 2)
    task = found(call, word)
    labels = [one.strip() for one in label.split(",") if one.strip()]
    if not labels:
        raise Failure("label cannot be empty")
    for one in labels:
        refuse_reserved(one)
    change_all(call, [task.id], Change(add_labels=labels))
    if call.json:
        call.put(issue(call.queue.get(task.id)))
    else:
        call.say(f'✓ Added label "{label}" to {task.id} — {task.title}')
    return 0


def _label(call: Call) -> int:
    from fleet.bd.help import help_for

    call.say(help_for(LABEL))
    return 0


LABEL = Verb(
    run=_label, usage="bd label [add|remove|list|list-all|propagate]", about="Manage issue labels"
)
ADD = Verb(
    run=_add,
    usage="bd label add [issue-id...] [label[,label...]]",
    about="Add one or more labels to one or more issues",
    writes=True,
)
REMOVE = Verb(
    run=_remove,
    usage="bd label remove [issue-id...] [label[,label...]]",
    about="Remove one or more labels from one or more issues",
    writes=True,
)
LIST = Verb(run=_list, usage="bd label list [issue-id]", about="List labels for an issue")
LIST_ALL = Verb(
    run=_list_all, usage="bd label list-all", about="List all unique labels in the database"
)
PROPAGATE = Verb(
    run=_propagate,
    usage="bd label propagate [parent-id] [label]",
    about="Put a label on all children of an issue",
    writes=True,
)
TAG = Verb(
    run=_tag,
    usage="bd tag <id> <label>",
    about="Add a label to an issue",
    writes=True,
)
