"""What an `update` line asks for, as a Change."""

from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from fleet.bd.arguments import values
from fleet.bd.command import Call, Failure
from fleet.errors import BadInput, FleetError, NotFound
from fleet.queue.sql.edit_task import Change

#: Flags whose text replaces a field as it stands.
_TEXTS = {
    "title": "title", "acceptance": "acceptance_criteria", "notes": "notes", "spec-id": "spec_id",
}  # fmt: skip


def change_of(call: Call) -> Change:
    """What the line asks for, whichever tasks it names."""
    line = call.line
    _refuse_mixtures(call)
    return Change(
        fields=_fields(call),
        status=values.new_status(line.text("status")) if line.has("status") else None,
        assignee=line.text("assignee") if line.has("assignee") else None,
        defer_until=values.moment(call, "defer", channel="out") if line.has("defer") else UNSET,
        append_notes=line.text("append-notes"),
        add_labels=line.list("add-label"),
        remove_labels=line.list("remove-label"),
        set_labels=line.list("set-labels") if line.has("set-labels") else None,
        merge_metadata=_metadata(call),
        unset_metadata=tuple(key for key in line.list("unset-metadata") if key),
        parent=line.text("parent") if line.has("parent") else None,
        claim=line.switch("claim"),
        force=line.switch("force"),
        session=line.text("session") or call.env.get("CLAUDE_SESSION_ID", ""),
        if_assignee=line.text("if-assignee") if line.has("if-assignee") else None,
        if_status=values.new_status(line.text("if-status"), "if-status")
        if line.has("if-status")
        else None,
        if_fence=line.number("if-fence", 0) if line.has("if-fence") else None,
    )


def changes_nothing(call: Call, change: Change) -> bool:
    """Is there nothing on the line but conditions? An empty or a wrong change is one, too."""
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
        raise Failure("cannot specify both --notes and --append-notes")
    if line.has("metadata") and (line.has("set-metadata") or line.has("unset-metadata")):
        raise Failure("cannot combine --metadata with --set-metadata or --unset-metadata")
    guarded = line.has("if-assignee") or line.has("if-status") or line.has("if-fence")
    if line.switch("claim") and guarded:
        raise Failure(
            "cannot combine --if-assignee/--if-status with --claim"
            " (--claim is already an atomic compare-and-set)"
        )


def _fields(call: Call) -> dict[str, Any]:
    line = call.line
    fields: dict[str, Any] = {
        name: line.text(flag) for flag, name in _TEXTS.items() if line.has(flag)
    }
    if line.has("title") and not line.text("title").strip():
        raise Failure("title cannot be empty")
    if line.has("priority"):
        fields["priority"] = values.priority(line.text("priority"), channel="out")
    if line.has("type"):
        fields["issue_type"] = values.issue_type(line.text("type"))
    if line.has("external-ref"):
        fields["external_ref"] = line.text("external-ref") or None
    if line.has("due"):
        fields["due_at"] = values.moment(call, "due", channel="out")
    if line.has("estimate"):
        fields["estimated_minutes"] = values.minutes(call, channel="out")
    if (design := values.design(call)) is not None:
        fields["design"] = design
    if (description := values.description(call, channel="out")) is not None:
        fields["description"] = description
    return fields


def _metadata(call: Call) -> Any:
    line = call.line
    if line.has("metadata"):
        return values.metadata(call, channel="out")
    pairs: dict[str, Any] = {}
    for word in line.list("set-metadata"):
        key, equals, text = word.partition("=")
        if word and not equals:
            raise Failure(f'invalid --set-metadata: expected key=value, got "{word}"')
        if word:
            pairs[key] = values.scalar(text)
    return pairs or None


def checked(call: Call, change: Change) -> Change:
    """Check what bd checks for each task by itself, and find the parent that was meant."""
    kind = change.fields.get("issue_type", "task")
    if kind not in values.TYPES:
        raise BadInput(f"validation failed: invalid issue type {kind}")
    if call.line.has("metadata") and not isinstance(change.merge_metadata, dict):
        raise BadInput("validation failed: metadata merge must be a JSON object")
    keys = (*(change.merge_metadata or ()), *change.unset_metadata)
    for key in () if call.line.has("metadata") else keys:
        if wrong := values.bad_key(key):
            raise BadInput(f"validation failed: {wrong}")
    if not change.parent:
        return change
    try:
        return replace(change, parent=call.resolve(change.parent))
    except FleetError:
        raise NotFound(f"issue {change.parent} not found") from None
