"""What a `create` line asks for, as a Draft: every flag read, every name on it resolved."""

import re
from typing import Any

import msgspec

from fleet.bd.actor import owner
from fleet.bd.arguments import values
from fleet.bd.command import Call, Failure
from fleet.errors import FleetError, NotFound
from fleet.queue.protocol import Draft
from fleet.schemas import Dependency

_ID = re.compile(r"[A-Za-z0-9_]+(-[A-Za-z0-9_]+)+(\.[0-9]+)*")


def draft_of(call: Call) -> Draft:
    """What a `create` line asks for; a word on it that means nothing refuses all of it."""
    title = _title(call)
    line = call.line
    parent = _parent(call)
    if parent is not None and line.has("id"):
        raise Failure("cannot specify both --id and --parent flags", channel="err")
    depends_on, blocks = _edges(call)
    notes = [text for text in (line.text("notes"), line.text("append-notes")) if text]
    return Draft(
        title=title,
        description=_description(call),
        priority=values.priority(line.text("priority", "2"), channel="err"),
        issue_type=_type(call, "validation failed: validation failed for issue : "),
        labels=line.list("labels"),
        depends_on=depends_on,
        blocks=blocks,
        parent=parent,
        inherit_labels=not line.switch("no-inherit-labels"),
        assignee=line.text("assignee"),
        owner=owner(call.env),
        created_by=call.actor,
        design=values.design(call) or "",
        acceptance_criteria=line.text("acceptance"),
        notes="\n".join(notes),
        spec_id=line.text("spec-id"),
        external_ref=line.text("external-ref") or None,
        estimated_minutes=values.minutes(call, channel="err"),
        due_at=values.moment(call, "due", channel="err"),
        defer_until=values.moment(call, "defer", channel="err"),
        metadata=_with_settings(call, _metadata(call)),
        id=_own_id(call),
    )


def quick_draft(call: Call) -> Draft:
    """What a `q` line asks for: bd records no author with these."""
    return Draft(
        title=" ".join(call.words),
        priority=values.priority(call.line.text("priority", "2"), channel="err"),
        issue_type=_type(call, "validation failed for issue : "),
        labels=call.line.list("labels"),
        parent=_parent(call),
        metadata=_with_settings(call, {}),
    )


def _title(call: Call) -> str:
    line = call.line
    word = call.words[0] if call.words else None
    if word is None and not line.has("title"):
        raise Failure("title required (or use --file to create from markdown)", channel="err")
    if word is None:
        word = line.text("title")
    elif word.startswith("-"):
        raise Failure(
            f"title \"{word}\" looks like a flag (starts with '-').\n"
            "  Run 'bd create --help' for available options.\n"
            f'  To use this title anyway, pass it explicitly: bd create --title="{word}"',
            channel="err",
        )
    elif line.has("title") and line.text("title") != word:
        raise Failure(
            "cannot specify different titles as both positional argument and --title flag\n"
            f'  Positional: "{word}"\n  --title:    "{line.text("title")}"',
            channel="err",
        )
    if not word.strip():
        raise Failure("title cannot be empty or whitespace-only", channel="err")
    return word


def _description(call: Call) -> str:
    parts = [values.description(call, channel="err") or ""]
    for flag, heading in (("skills", "Required Skills"), ("context", "Context")):
        if call.line.text(flag):
            parts.append(f"## {heading}\n{call.line.text(flag)}")
    return "\n\n".join(part for part in parts if part)


def _type(call: Call, wrong: str) -> str:
    word = call.line.text("type", "task")
    kind = values.issue_type(word)
    if kind not in values.TYPES:
        raise Failure(f"{wrong}invalid issue type: {word}")
    return kind


def _metadata(call: Call) -> dict[str, Any]:
    if not call.line.has("metadata"):
        return {}
    given = values.metadata(call, channel="err")
    if not isinstance(given, dict):
        raise Failure("invalid JSON in --metadata: must be a JSON object", channel="err")
    return msgspec.convert(given, dict[str, Any])


def _with_settings(call: Call, metadata: dict[str, Any]) -> dict[str, Any]:
    """What the caller gave, and beside it what fleet knows: where to work and with what."""
    if call.settings is None:
        return metadata
    given = metadata.get("fleet")
    own: dict[str, Any] = msgspec.to_builtins(call.settings)
    beside = msgspec.convert(given, dict[str, Any]) if isinstance(given, dict) else {}
    return {**metadata, "fleet": {**beside, **own}} if own or beside else metadata


def _parent(call: Call) -> str | None:
    word = call.line.text("parent")
    if not word:
        return None
    try:
        return call.resolve(word)
    except NotFound:
        raise Failure(f"parent issue {word} not found", channel="err") from None


def _own_id(call: Call) -> str | None:
    word = call.line.text("id")
    if not word:
        return None
    prefix = call.queue.db.rows(call.queue.sql["meta"], {"key": "prefix"})[0][0]
    if not _ID.fullmatch(word):
        raise Failure(
            f"invalid ID format '{word}' (expected format: prefix-hash or prefix-hash.number,"
            " e.g., 'bd-a3f8e9' or 'bd-a3f8e9.1')",
            channel="err",
        )
    if not word.startswith(f"{prefix}-") and not call.line.switch("force"):
        raise Failure(
            f"prefix mismatch: database uses '{prefix}-' but ID '{word}' doesn't match"
            " (use --force to override)",
            channel="err",
        )
    if call.queue.db.rows(call.queue.sql["exists"], {"id": word}):
        raise Failure(f"{word} already exists; use bd update, or bd import for upsert semantics")
    return word


def _edges(call: Call) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...]]:
    """What the new task depends on, and what shall wait for it: `blocks:x` is the other way."""
    depends_on: dict[str, str] = {}
    blocks: dict[str, None] = {}
    for word in call.line.list("deps"):
        kind, colon, target = word.partition(":")
        kind, target = (kind.strip(), target.strip()) if colon else ("blocked-by", word)
        if kind not in values.EDGE_TYPES:
            raise Failure(
                f'unknown dependency type "{kind}"; valid types: {", ".join(values.EDGE_TYPES)}'
            )
        task_id = _target(call, target)
        if kind == "blocks":
            blocks[task_id] = None
            continue
        kind = "blocks" if kind in ("blocked-by", "depends-on") else kind
        if depends_on.setdefault(task_id, kind) != kind:
            raise Failure(
                f'--deps cannot attach both "{depends_on[task_id]}" and "{kind}" to the same'
                f' target "{task_id}": a target can only carry one dependency type at a time.'
                " Pick one type, or open a separate issue for the second relationship"
            )
    return tuple((kind, target) for target, kind in depends_on.items()), tuple(blocks)


def _target(call: Call, word: str) -> str:
    try:
        return call.resolve(word)
    except FleetError as error:
        raise Failure(f'resolving --deps target "{word}": {error.message}') from None


def gate_of(call: Call) -> Dependency | None:
    """The edge of --waits-for; its task is not there yet."""
    word = call.line.text("waits-for")
    if not word:
        return None
    kind = call.line.text("waits-for-gate", "all-children")
    if kind not in ("all-children", "any-children"):
        raise Failure(
            f'invalid --waits-for-gate value "{kind}" (valid: all-children, any-children)',
            channel="err",
        )
    return Dependency(
        task_id="",
        depends_on_id=call.resolve(word),
        type="waits-for",
        created_at=call.now,
        created_by=call.actor,
        metadata=f'{{"gate": "{kind}"}}',
    )
