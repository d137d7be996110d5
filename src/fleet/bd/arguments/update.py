"""What an `update` line asks for, as a Change."""

from typing import Any

from msgspec import UNSET

from fleet.bd.arguments import values
from fleet.bd.command import Call, Failure
from fleet.errors import NotFound
from fleet.queue.sql.edit_task import Change

#: Flags whose text replaces a field as it stands.
_TEXTS = {
    "title": "title", "acceptance": "acceptance_criteria", "notes": "notes", "spec-id": "spec_id",
}  # fmt: skip


def change_of(call: Call) -> Change:
    """What the line asks for, whichever tasks are named."""
    line = call.line
    _refuse_mixtures(call)
    return Change(
        fields=_fields(call),
        status=values.status(line.text("status")) if line.has("status") else None,
        assignee=line.text("assignee") if line.has("assignee") else None,
        defer_until=values.moment(call, "defer") if line.has("defer") else UNSET,
        append_notes=line.text("append-notes"),
        add_labels=line.list("add-label"),
        remove_labels=line.list("remove-label"),
        set_labels=line.list("set-labels") if line.has("set-labels") else None,
        merge_metadata=_metadata(call),
        unset_metadata=_unset_metadata(call),
        parent=_parent(call),
        claim=line.switch("claim"),
        force=line.switch("force"),
        session=line.text("session") or call.env.get("CLAUDE_SESSION_ID", ""),
        if_assignee=line.text("if-assignee") if line.has("if-assignee") else None,
        if_status=values.status(line.text("if-status")) if line.has("if-status") else None,
        if_fence=line.number("if-fence", 0) if line.has("if-fence") else None,
    )


def changes_nothing(call: Call, change: Change) -> bool:
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
        raise Failure("--notes and --append-notes cannot be given together")
    if line.has("metadata") and (line.has("set-metadata") or line.has("unset-metadata")):
        raise Failure("--metadata cannot be combined with --set-metadata or --unset-metadata")
    guarded = line.has("if-assignee") or line.has("if-status") or line.has("if-fence")
    if line.switch("claim") and guarded:
        raise Failure("--claim is a guard of its own: it takes no --if-* flag")


def _fields(call: Call) -> dict[str, Any]:
    line = call.line
    fields: dict[str, Any] = {
        name: line.text(flag) for flag, name in _TEXTS.items() if line.has(flag)
    }
    if line.has("title") and not line.text("title").strip():
        raise Failure("title cannot be empty")
    if line.has("priority"):
        fields["priority"] = values.priority(line.text("priority"))
    if line.has("type"):
        fields["issue_type"] = values.known_type(line.text("type"))
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
            raise Failure("--metadata must be a JSON object")
        return merged  # pyright: ignore[reportUnknownVariableType] - any object
    pairs: dict[str, Any] = {}
    for word in filter(None, call.line.list("set-metadata")):
        key, equals, text = word.partition("=")
        if not equals:
            raise Failure(f'invalid --set-metadata: expected key=value, got "{word}"')
        values.check_metadata_key(key)
        pairs[key] = values.scalar(text)
    return pairs or None


def _unset_metadata(call: Call) -> tuple[str, ...]:
    keys = tuple(key for key in call.line.list("unset-metadata") if key)
    for key in keys:
        values.check_metadata_key(key)
    return keys


def _parent(call: Call) -> str | None:
    word = call.line.text("parent")
    if not word:
        return "" if call.line.has("parent") else None
    try:
        return call.resolve(word)
    except NotFound:
        raise Failure(f"parent issue {word} not found") from None
