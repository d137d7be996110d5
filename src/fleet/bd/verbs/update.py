"""`bd update`: change tasks, each separately; each failure is told separately, too."""

import msgspec

from fleet.bd.arguments import values
from fleet.bd.arguments.update import change_of, changes_nothing
from fleet.bd.command import Call, Failure, Reply, Verb
from fleet.bd.output.json_shapes import Shape, issue
from fleet.bd.pflag import Flag
from fleet.errors import BadInput, NotFound, Refused
from fleet.queue.sql.edit_task import Edit, Stale, edit

#: The exit code when only guards failed: another write was first, trying again is no use.
GUARD_FAILED = 13


def _update(call: Call) -> Reply:
    if not call.words:
        raise Failure("no issue ID provided")
    change = change_of(call)
    if changes_nothing(call, change):
        return Reply(text="No updates specified")
    values.warn_of_spaces(call, (*change.add_labels, *(change.set_labels or ())))
    updated: list[Edit] = []
    failed: list[Shape] = []
    for word in call.words:
        try:
            updated.append(edit(call.queue, call.resolve(word), change, actor=call.actor))
        except (Refused, NotFound, BadInput) as error:
            shape: Shape = {"id": word, "error": error.message}
            failed.append({**shape, "guard_mismatch": True} if isinstance(error, Stale) else shape)
    if failed:
        _tell_failures(call, failed)
    stale = failed and all("guard_mismatch" in shape for shape in failed)
    return call.confirmed(
        "\n".join(f"Updated {done.after.id}: {done.after.title}" for done in updated),
        [issue(done.after) for done in updated] if updated else msgspec.UNSET,
        code=GUARD_FAILED if stale else int(bool(failed)),
    )


def _tell_failures(call: Call, failed: list[Shape]) -> None:
    """One line each on standard error; under --json one object for machines, as the last line."""
    if not call.json:
        for shape in failed:
            call.warn(f"Error updating {shape['id']}: {shape['error']}")
        return
    count = f"{len(failed)} of {len(call.words)} issues failed to update"
    body: Shape = {"error": count, "failed": failed}
    wrapped = {"data": body} if call.envelope else body
    call.warn(msgspec.json.encode({**wrapped, "schema_version": 1}).decode())


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
    ),
)
