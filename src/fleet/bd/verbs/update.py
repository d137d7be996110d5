"""`bd update`: change tasks, each by itself; what fails is said for each."""

from typing import TYPE_CHECKING

from fleet.bd.arguments import values
from fleet.bd.arguments.update import change_of, changes_nothing, checked
from fleet.bd.command import Call, Failure, Verb
from fleet.bd.output.json_shapes import Shape, issue
from fleet.bd.pflag import Flag
from fleet.bd.verbs.close import NO_ID
from fleet.errors import BadInput, NotFound, Refused
from fleet.queue.sql.edit_task import Change, Edit, Held, Stale, edit

if TYPE_CHECKING:
    from fleet.schemas import Task

#: The exit code when nothing failed but guards: somebody else was first, trying again is no use.
GUARD_FAILED = 13


def _update(call: Call) -> int:
    call.writes("update")
    call.lacks("await-id", "ephemeral", "persistent", "no-history", "history")
    if not call.words:
        raise Failure(NO_ID)
    change = change_of(call)
    if changes_nothing(call, change):
        call.say("No updates specified")
        return 0
    updated: list[Task] = []
    failed: list[Shape] = []
    for word in call.words:
        try:
            done = _apply(call, word, change)
        except _Failed as failure:
            failed.append(failure.shape)
            continue
        updated.append(done.after)
        _tell(call, done)
    if updated and call.json:
        call.put([issue(task) for task in updated])
    values.warn_of_spaces(call, (*change.add_labels, *(change.set_labels or ())))
    return _ending(call, failed)


class _Failed(Exception):
    """One task could not be changed; it was said to the person, this is for the machine."""

    def __init__(self, shape: Shape) -> None:
        super().__init__(shape["error"])
        self.shape = shape


def _apply(call: Call, word: str, change: Change) -> Edit:
    try:
        task_id = call.resolve(word)
    except (NotFound, BadInput) as error:
        call.warn(f"Error resolving {word}: {error.message}")
        raise _Failed({"id": word, "error": f"resolving issue: {error.message}"}) from None
    try:
        return edit(call.queue, task_id, checked(call, change), actor=call.actor)
    except Held as held:
        call.warn(held.message)
        raise _Failed({"id": task_id, "error": held.message}) from None
    except (Refused, NotFound, BadInput) as error:
        call.warn(f"Error updating {task_id}: {error.message}")
        shape: Shape = {"id": task_id, "error": f"updating issue: {error.message}"}
        if isinstance(error, Stale):
            shape["guard_mismatch"] = True
        raise _Failed(shape) from None


def _tell(call: Call, done: Edit) -> None:
    before, after = done.before, done.after
    replaced = call.line.has("notes") and before.notes and before.notes != after.notes
    if replaced:
        call.warn(
            f"warning: {after.id}: --notes replaced existing notes"
            " (use --append-notes to preserve history)"
        )
    if not call.json:
        call.tell(f"✓ Updated issue: {after.id} — {after.title}")


def _ending(call: Call, failed: list[Shape]) -> int:
    if not failed:
        return 0
    message = f"{len(failed)} of {len(call.words)} issues failed to update"
    if call.json:
        call.put_failed(message, failed)
    else:
        call.warn(f"Error: {message}")
        for shape in failed:
            call.warn(f"  {shape['id']}: {shape['error']}")
    return GUARD_FAILED if all("guard_mismatch" in shape for shape in failed) else 1


UPDATE = Verb(
    run=_update,
    usage="bd update [id...] [flags]",
    about="Update one or more issues",
    flags=(
        Flag("status", short="s", help="New status"),
        Flag("claim", "switch", help="Claim the issue: you become its assignee, at work on it"),
        Flag("title", help="New title"),
        Flag("priority", short="p", help="Priority (0-4 or P0-P4)"),
        Flag("type", short="t", help="New type"),
        Flag("assignee", short="a", help="Assignee (empty to clear)"),
        Flag("description", short="d", help="Issue description (- reads standard input)"),
        Flag("body", help="Alias for --description"),
        Flag("message", short="m", help="Alias for --description"),
        Flag(
            "body-file",
            aliases=("description-file",),
            help="Read description from a file (- for standard input)",
        ),
        Flag("stdin", "switch", help="Read description from standard input"),
        Flag("allow-empty-description", "switch", help="Allow an empty file as description"),
        Flag("design", help="Design notes"),
        Flag("design-file", help="Read design from a file (- for standard input)"),
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
        Flag("await-id", help="Not on this queue"),
        Flag("ephemeral", "switch", help="Not on this queue"),
        Flag("persistent", "switch", help="Not on this queue"),
        Flag("history", "switch", help="Not on this queue"),
        Flag("no-history", "switch", help="Not on this queue"),
    ),
)
