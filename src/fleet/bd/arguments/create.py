"""What a `create` line asks for, as Drafts: every flag read, every name resolved."""

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

#: What a new task depends on, as (type, id), and the tasks that shall wait for the new one.
Edges = tuple[tuple[tuple[str, str], ...], tuple[str, ...]]


def draft_of(call: Call) -> Draft:
    """The task that a `create` line asks for; a word that means nothing refuses the whole line."""
    line = call.line
    parent = parent_of(call)
    if parent is not None and line.has("id"):
        raise Failure("--id and --parent cannot be given together")
    depends_on, blocks = edges_of(call, line.list("deps"))
    notes = [text for text in (line.text("notes"), line.text("append-notes")) if text]
    return Draft(
        title=_title(call),
        description=_described(call),
        priority=values.priority(line.text("priority", "2")),
        issue_type=values.known_type(line.text("type", "task")),
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
        estimated_minutes=values.minutes(call),
        due_at=values.moment(call, "due"),
        defer_until=values.moment(call, "defer"),
        metadata=with_settings(call, _metadata(call)),
        id=_own_id(call),
    )


def _described(call: Call) -> str:
    """The description, with the sections that bd puts below."""
    below = (("## Required Skills", "skills"), ("## Context", "context"))
    texts = [f"{head}\n{call.line.text(name)}" for head, name in below if call.line.text(name)]
    return "\n\n".join(text for text in (values.description(call) or "", *texts) if text)


def quick_draft(call: Call) -> Draft:
    """The task that a `q` line asks for: bd records no author with these."""
    return Draft(
        title=" ".join(values.ids(call)),
        priority=values.priority(call.line.text("priority", "2")),
        issue_type=values.known_type(call.line.text("type", "task")),
        labels=call.line.list("labels"),
        parent=parent_of(call),
        metadata=with_settings(call, {}),
    )


def _title(call: Call) -> str:
    line, word = call.line, values.at_most_one(call)
    if word.startswith("-"):
        raise Failure(f'the title "{word}" looks like a flag; write --title="{word}" to use it')
    if word and line.has("title") and line.text("title") != word:
        raise Failure("the title was given twice, with different texts")
    title = word or line.text("title")
    if not title.strip():
        raise Failure("a title is required (or --file, or --graph)")
    return title


def _metadata(call: Call) -> dict[str, Any]:
    if not call.line.has("metadata"):
        return {}
    given = values.metadata(call)
    if not isinstance(given, dict):
        raise Failure("invalid JSON in --metadata: must be a JSON object")
    return msgspec.convert(given, dict[str, Any])


def with_settings(call: Call, metadata: dict[str, Any]) -> dict[str, Any]:
    """A task's metadata with fleet's own settings: where the task runs, and with what."""
    if call.settings is None:
        return metadata
    given = metadata.get("fleet")
    own: dict[str, Any] = msgspec.to_builtins(call.settings)
    beside = msgspec.convert(given, dict[str, Any]) if isinstance(given, dict) else {}
    return {**metadata, "fleet": {**beside, **own}} if own or beside else metadata


def parent_of(call: Call) -> str | None:
    word = call.line.text("parent")
    if not word:
        return None
    try:
        return call.resolve(word)
    except NotFound:
        raise Failure(f"parent issue {word} not found") from None


def _own_id(call: Call) -> str | None:
    word = call.line.text("id")
    if not word:
        return None
    if not _ID.fullmatch(word):
        raise Failure(f"invalid id '{word}': write it like fleet-a3f or fleet-a3f.1")
    prefix = call.queue.prefix
    if not word.startswith(f"{prefix}-") and not call.line.switch("force"):
        raise Failure(f"the id '{word}' does not start with '{prefix}-' (--force accepts it)")
    if call.queue.exists(word):
        raise Failure(f"{word} already exists")
    return word


def edges_of(call: Call, words: tuple[str, ...]) -> Edges:
    """Dependencies like `id` and `type:id`; `blocks:id` is the other way round."""
    depends_on: dict[str, str] = {}
    blocks: dict[str, None] = {}
    for word in words:
        kind, colon, target = word.partition(":")
        kind, target = (kind.strip(), target.strip()) if colon else ("blocked-by", word)
        meant = values.edge_type(kind)
        try:
            task_id = call.resolve(target)
        except FleetError as error:
            raise Failure(f'dependency "{word}": {error.message}') from None
        if kind == "blocks":
            blocks[task_id] = None
        elif depends_on.setdefault(task_id, meant) != meant:
            raise Failure(f'two types of dependency on "{task_id}": there can be one')
    return tuple((kind, target) for target, kind in depends_on.items()), tuple(blocks)


def gate_of(call: Call) -> Dependency | None:
    """The edge of --waits-for, whose task is not there yet."""
    word = call.line.text("waits-for")
    if not word:
        return None
    kind = call.line.text("waits-for-gate", "all-children")
    if kind not in ("all-children", "any-children"):
        raise Failure(f'invalid --waits-for-gate "{kind}" (valid: all-children, any-children)')
    return Dependency(
        task_id="",
        depends_on_id=call.resolve(word),
        type="waits-for",
        created_at=call.now,
        created_by=call.actor,
        metadata=f'{{"gate": "{kind}"}}',
    )
