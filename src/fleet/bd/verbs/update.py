"""`bd update`: change tasks, each separately; each failure is told separately, too."""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import UNSET

from fleet.bd.arguments import values
from fleet.bd.command import Call, Reply, Verb
from fleet.bd.output.json_shapes import Shape, issue
from fleet.bd.pflag import Flag, ignored
from fleet.bd.verbs.edits import each
from fleet.errors import BadInput, FleetError
from fleet.queue.sql.edit_task import Change, Stale, edit

#: The exit code when only guards failed: another write was first, trying again is no use.
GUARD_FAILED = 13
#: Flags whose text replaces a field as it stands.
_TEXTS = {
    "title": "title", "acceptance": "acceptance_criteria", "notes": "notes", "spec-id": "spec_id",
}  # fmt: skip


def _update(call: Call) -> Reply:
    if not call.words:
        raise BadInput("no issue ID provided")
    change = _change_of(call)
    if _changes_nothing(call, change):
        return Reply(text="No updates specified")
    values.warn_of_spaces(call, (*change.add_labels, *(change.set_labels or ())))
    updated, failed = each(
        call.words,
        lambda word: edit(call.queue, call.resolve(word), change, actor=call.actor),
    )
    if failed:
        _tell_failures(call, failed)
    stale = failed and all(isinstance(error, Stale) for _, error in failed)
    return call.confirmed(
        "\n".join(f"Updated {task.id}: {task.title}" for task in updated),
        [issue(task) for task in updated] if updated else UNSET,
        code=GUARD_FAILED if stale else int(bool(failed)),
    )


def _tell_failures(call: Call, failed: Sequence[tuple[str, FleetError]]) -> None:
    """One line each on standard error; under --json one object for machines, as the last line."""
    if not call.json:
        for word, error in failed:
            call.warn(f"Error updating {word}: {error.message}")
        return
    count = f"{len(failed)} of {len(call.words)} issues failed to update"
    shapes: list[Shape] = [
        {"id": word, "error": error.message}
        | ({"guard_mismatch": True} if isinstance(error, Stale) else {})
        for word, error in failed
    ]
    body: Shape = {"error": count, "failed": shapes}
    wrapped = {"data": body} if call.envelope else body
    call.warn(msgspec.json.encode({**wrapped, "schema_version": 1}).decode())


def _change_of(call: Call) -> Change:
    """What the line asks for, whichever tasks are named."""
    line = call.line
    _refuse_mixtures(call)
    status, custom = values.status(call, line.text("status")) if line.has("status") else (None, "")
    return Change(
        fields=_fields(call),
        status=status,
        custom_status=custom,
        assignee=line.text("assignee") if line.has("assignee") else None,
        defer_until=values.moment(call, "defer") if line.has("defer") else UNSET,
        append_notes=line.text("append-notes"),
        add_labels=line.list("add-label"),
        remove_labels=line.list("remove-label"),
        set_labels=line.list("set-labels") if line.has("set-labels") else None,
        merge_metadata=_metadata(call),
        unset_metadata=_unset_metadata(call),
        parent=values.parent(call) or ("" if line.has("parent") else None),
        claim=line.switch("claim"),
        force=line.switch("force"),
        session=line.text("session") or call.env.get("CLAUDE_SESSION_ID", ""),
        if_assignee=line.text("if-assignee") if line.has("if-assignee") else None,
        if_status=values.status(call, line.text("if-status"))[0] if line.has("if-status") else None,
        if_fence=line.number("if-fence", 0) if line.has("if-fence") else None,
    )


def _changes_nothing(call: Call, change: Change) -> bool:
    """Nothing but conditions stands on the line."""
    if call.line.has("append-notes") or call.line.has("metadata"):
        return False
    conditions = Change(
        force=change.force,
        session=change.session,
        if_assignee=change.if_assignee,
        if_status=change.if_status,
        if_fence=change.if_fence,
    )
    return change == conditions


def _refuse_mixtures(call: Call) -> None:
    line = call.line
    if line.has("notes") and line.has("append-notes"):
        raise BadInput("--notes and --append-notes cannot be given together")
    if line.has("metadata") and (line.has("set-metadata") or line.has("unset-metadata")):
        raise BadInput("--metadata cannot be combined with --set-metadata or --unset-metadata")
    guarded = line.has("if-assignee") or line.has("if-status") or line.has("if-fence")
    if line.switch("claim") and guarded:
        raise BadInput("--claim is a guard of its own: it takes no --if-* flag")


def _fields(call: Call) -> dict[str, Any]:
    line = call.line
    fields: dict[str, Any] = {
        name: line.text(flag) for flag, name in _TEXTS.items() if line.has(flag)
    }
    if line.has("title") and not line.text("title").strip():
        raise BadInput("title cannot be empty")
    if line.has("priority"):
        fields["priority"] = values.priority(line.text("priority"))
    if line.has("type"):
        fields["issue_type"] = values.known_type(call.queue, line.text("type"))
    if line.has("external-ref"):
        fields["external_ref"] = line.text("external-ref") or None
    if line.has("due"):
        fields["due_at"] = values.moment(call, "due")
    if line.has("estimate"):
        fields["estimated_minutes"] = values.minutes(call)
    if (design := values.design(call)) is not None:
        fields["design"] = design
    if (description := values.description(call)) is not None:
        fields["description"] = description
    return fields


def _metadata(call: Call) -> Any:
    if call.line.has("metadata"):
        merged = values.metadata(call)
        if not isinstance(merged, dict):
            raise BadInput("--metadata must be a JSON object")
        return merged  # pyright: ignore[reportUnknownVariableType] - any object
    pairs: dict[str, Any] = {}
    for word in filter(None, call.line.list("set-metadata")):
        key, equals, text = word.partition("=")
        if not equals:
            raise BadInput(f'invalid --set-metadata: expected key=value, got "{word}"')
        values.check_metadata_key(key)
        pairs[key] = values.scalar(text)
    return pairs or None


def _unset_metadata(call: Call) -> tuple[str, ...]:
    keys = tuple(key for key in call.line.list("unset-metadata") if key)
    for key in keys:
        values.check_metadata_key(key)
    return keys


UPDATE = Verb(
    run=_update,
    usage="bd update [id...] [flags]",
    about="Update one or more issues",
    writes=True,
    flags=(
        Flag("status", short="s", help="New status"),
        Flag("claim", "switch", help="Claim the issue: you become its assignee, at work on it"),
        Flag("title", help="New title"),
        Flag("priority", short="p", help="Priority (0-4 or P0-P4)"),
        Flag("type", short="t", help="New type"),
        Flag("assignee", short="a", help="Assignee (empty to clear)"),
        *values.DESCRIPTION_FLAGS,
        Flag("acceptance", help="Acceptance criteria"),
        Flag("notes", help="Notes (replaces existing notes)"),
        Flag("append-notes", help="Append to existing notes, on a line of their own"),
        Flag("external-ref", help="External reference (e.g., 'gh-9')"),
        Flag("spec-id", help="Link to specification document"),
        Flag("estimate", "number", "e", help="Time estimate in minutes"),
        Flag("due", help="Due date (empty to clear)"),
        Flag("defer", help="Defer until date (empty to clear)"),
        Flag("add-label", "list", help="Add labels (repeatable)"),
        Flag("remove-label", "list", help="Remove labels (repeatable)"),
        Flag("set-labels", "list", help="Replace all labels"),
        Flag("metadata", help="Merge custom metadata (JSON object, or @file.json)"),
        Flag("set-metadata", "array", help="Set metadata key=value (repeatable)"),
        Flag("unset-metadata", "array", help="Remove metadata key (repeatable)"),
        Flag("parent", help="New parent issue id (empty to remove)"),
        Flag("force", "switch", help="Take over a live claim; close despite blockers"),
        Flag("if-assignee", help="Only if the assignee is this one; else exit code 13"),
        Flag("if-status", help="Only if the status is this one; else exit code 13"),
        Flag("if-fence", "number", help="Only if claim_fence is this number; else exit code 13"),
        Flag("session", help="Agent session id to record when closing"),
        *ignored("persistent", "history", "no-history", why="every issue is kept, as it is now"),
    ),
)
