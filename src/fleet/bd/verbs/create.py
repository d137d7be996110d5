"""`bd create` and `bd q`: new tasks, all that the line asks for or none."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from fleet.bd.arguments import values
from fleet.bd.command import Call, Reply, Verb
from fleet.bd.output.json_shapes import issue
from fleet.bd.pflag import Flag, ignored
from fleet.errors import BadInput, FleetError
from fleet.queue.protocol import Draft
from fleet.queue.sql.edit_task import Change, edit
from fleet.schemas import Task, typed

_ID = re.compile(r"[A-Za-z0-9_]+(-[A-Za-z0-9_]+)+(\.[0-9]+)*")
#: What --validate looks for in a description, by the type of the task.
_SECTIONS: Mapping[str, Sequence[str]] = {
    "bug": ("Steps to Reproduce", "Acceptance Criteria"),
    "feature": ("Acceptance Criteria",),
    "task": ("Acceptance Criteria",),
    "story": ("Acceptance Criteria",),
    "epic": ("Success Criteria",),
    "decision": ("Decision", "Rationale", "Alternatives Considered"),
    "spike": ("Goal", "Findings"),
}
#: What a plan in a file says of each task itself, or what makes no sense for several tasks.
_SINGLE = (
    "title", "description", "body", "message", "body-file", "stdin", "labels", "parent",
    "priority", "type", "assignee", "design", "design-file", "acceptance", "notes",
    "append-notes", "external-ref", "spec-id", "id", "deps", "waits-for", "estimate", "due",
    "defer", "metadata", "status", "context", "skills",
)  # fmt: skip


def _create(call: Call) -> Reply:
    plans = [name for name in ("file", "graph") if call.line.has(name)]
    if not plans:
        return _create_one(call)
    given = [f"--{name}" for name in _SINGLE if call.line.has(name)]
    if len(plans) > 1 or call.words or given:
        beside = " ".join([*call.words, *given]) or "--graph"
        raise BadInput(f"--{plans[0]} cannot be combined with {beside}")
    from fleet.bd.verbs.create_many import create_from_file, create_graph

    text = values.read_text(call, call.line.text(plans[0]))
    return create_from_file(call, text) if plans == ["file"] else create_graph(call, text)


def _create_one(call: Call) -> Reply:
    draft = _draft_of(call)
    status = call.line.text("status")
    gate = _gate_of(call)
    with call.queue.writing(undo=call.line.switch("dry-run")):
        task = call.queue.add(draft)
        if gate is not None:
            target, kind = gate
            metadata = f'{{"gate": "{kind}"}}'
            call.queue.depend(task.id, target, "waits-for", by=call.actor, metadata=metadata)
        task = in_status(call, task, status)
    values.warn_of_spaces(call, draft.labels)
    if draft.defer_until is not None and draft.defer_until <= call.now:
        call.warn("Warning: --defer names a moment in the past; the task is ready now")
    if call.line.switch("dry-run"):
        return Reply(
            value={**issue(task), "id": draft.id or ""}, text=f"Would create: {task.title}"
        )
    return made(call, [task], value=issue(task))


def in_status(call: Call, task: Task, word: str) -> Task:
    """The task in the status that a word names; an empty word changes nothing."""
    if not word:
        return task
    status, custom = values.status(call, word)
    change = Change(status=status, custom_status=custom, force=True)
    return edit(call.queue, task.id, change, actor=call.actor)


def made(call: Call, tasks: Sequence[Task], *, value: object) -> Reply:
    if call.line.switch("silent"):
        return Reply(text="\n".join(task.id for task in tasks), value=value, created=tasks)
    text = "\n".join(f"Created {task.id}: {task.title}" for task in tasks)
    return call.confirmed(text, value, created=tasks)


def _quick(call: Call) -> Reply:
    task = call.queue.add(_quick_draft(call))
    return Reply(text=task.id, created=[task])


def _draft_of(call: Call) -> Draft:
    """The task that a `create` line asks for; a word that means nothing refuses the whole line."""
    line = call.line
    parent = values.parent(call)
    if parent is not None and line.has("id"):
        raise BadInput("--id and --parent cannot be given together")
    depends_on, blocks = edges_of(call, line.list("deps"))
    described, kind = _described(call), values.known_type(call.queue, line.text("type", "task"))
    if line.switch("validate"):
        _check_sections(kind, described)
    notes = [text for text in (line.text("notes"), line.text("append-notes")) if text]
    return Draft(
        title=_title(call),
        description=described,
        priority=values.priority(line.text("priority", "2")),
        issue_type=kind,
        labels=line.list("labels"),
        depends_on=depends_on,
        blocks=blocks,
        parent=parent,
        inherit_labels=not line.switch("no-inherit-labels"),
        assignee=line.text("assignee"),
        owner=call.owner,
        created_by=call.actor,
        design=values.design(call) or "",
        acceptance_criteria=line.text("acceptance"),
        notes="\n".join(notes),
        spec_id=line.text("spec-id"),
        external_ref=line.text("external-ref") or None,
        estimated_minutes=values.minutes(call),
        due_at=values.moment(call, "due"),
        defer_until=values.moment(call, "defer"),
        metadata=values.with_settings(_metadata(call), call.settings),
        id=_own_id(call),
    )


def _described(call: Call) -> str:
    """The description, with the sections that bd puts below."""
    below = (("## Required Skills", "skills"), ("## Context", "context"))
    texts = [f"{head}\n{call.line.text(name)}" for head, name in below if call.line.text(name)]
    return "\n\n".join(text for text in (values.description(call) or "", *texts) if text)


def _check_sections(kind: str, description: str) -> None:
    """Refuse a description that lacks a section which bd wants of this type of task."""
    missing = [
        f"## {section}"
        for section in _SECTIONS.get(kind, ())
        if section.lower() not in description.lower()
    ]
    if missing:
        raise BadInput(f"missing required sections for {kind}: {', '.join(missing)}")


def _quick_draft(call: Call) -> Draft:
    """The task that a `q` line asks for: bd records no author with these."""
    return Draft(
        title=" ".join(values.ids(call)),
        priority=values.priority(call.line.text("priority", "2")),
        issue_type=values.known_type(call.queue, call.line.text("type", "task")),
        labels=call.line.list("labels"),
        parent=values.parent(call),
        metadata=values.with_settings({}, call.settings),
    )


def _title(call: Call) -> str:
    line, word = call.line, values.at_most_one(call)
    if word.startswith("-"):
        raise BadInput(f'the title "{word}" looks like a flag; write --title="{word}" to use it')
    if word and line.has("title") and line.text("title") != word:
        raise BadInput("the title was given twice, with different texts")
    title = word or line.text("title")
    if not title.strip():
        raise BadInput("a title is required (or --file, or --graph)")
    return title


def _metadata(call: Call) -> dict[str, Any]:
    if not call.line.has("metadata"):
        return {}
    given = values.metadata(call)
    if not isinstance(given, dict):
        raise BadInput("invalid JSON in --metadata: must be a JSON object")
    return typed.convert(given, dict[str, Any])


def _own_id(call: Call) -> str | None:
    word = call.line.text("id")
    if not word:
        return None
    if not _ID.fullmatch(word):
        raise BadInput(f"invalid id '{word}': write it like fleet-a3f or fleet-a3f.1")
    prefix = call.queue.prefix
    if not word.startswith(f"{prefix}-") and not call.line.switch("force"):
        raise BadInput(f"the id '{word}' does not start with '{prefix}-' (--force accepts it)")
    if call.queue.exists(word):
        raise BadInput(f"{word} already exists")
    return word


def edges_of(
    call: Call, words: tuple[str, ...]
) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...]]:
    """What a new task depends on, as (type, id), and the tasks that shall wait for the new one;
    written `id` and `type:id`, where `blocks:id` is the other way round.
    """
    depends_on: dict[str, str] = {}
    blocks: dict[str, None] = {}
    for word in words:
        kind, colon, target = word.partition(":")
        kind, target = (kind.strip(), target.strip()) if colon else ("blocked-by", word)
        meant = values.edge_type(kind)
        try:
            task_id = call.resolve(target)
        except FleetError as error:
            raise BadInput(f'dependency "{word}": {error.message}') from None
        if kind == "blocks":
            blocks[task_id] = None
        elif depends_on.setdefault(task_id, meant) != meant:
            raise BadInput(f'two types of dependency on "{task_id}": there can be one')
    return tuple((kind, target) for target, kind in depends_on.items()), tuple(blocks)


def _gate_of(call: Call) -> tuple[str, str] | None:
    """The task that --waits-for names, and which of its children are waited for."""
    word = call.line.text("waits-for")
    if not word:
        return None
    kind = call.line.text("waits-for-gate", "all-children")
    if kind not in ("all-children", "any-children"):
        raise BadInput(f'invalid --waits-for-gate "{kind}" (valid: all-children, any-children)')
    return call.resolve(word), kind


_SHARED = (
    Flag("labels", "list", "l", ("label",), help="Labels (comma-separated)"),
    Flag("parent", help="Parent issue id: the new one becomes its child"),
    Flag("priority", short="p", help="Priority (0-4 or P0-P4, 0=highest; default 2)"),
    Flag("type", short="t", help="Issue type: bug, feature, task (default), epic, chore, ..."),
)

CREATE = Verb(
    run=_create,
    usage="bd create [title] [flags]",
    about="Create a new issue, or several from a plan in a file",
    writes=True,
    flags=(
        Flag("title", help="Issue title (alternative to positional argument)"),
        *values.DESCRIPTION_FLAGS,
        *_SHARED,
        Flag("assignee", short="a", help="Assignee"),
        Flag("acceptance", help="Acceptance criteria"),
        Flag("context", help="Additional context, below the description"),
        Flag("skills", help="Required skills, below the description"),
        Flag("notes", help="Additional notes"),
        Flag("append-notes", help="More notes, on a line of their own"),
        Flag("external-ref", help="External reference (e.g., 'gh-9')"),
        Flag("spec-id", help="Link to specification document"),
        Flag("id", help="Explicit issue id"),
        Flag("force", "switch", help="Accept an id with another prefix"),
        Flag("no-inherit-labels", "switch", help="Don't inherit labels from parent issue"),
        Flag("deps", "list", help="Dependencies: 'id' or 'type:id'; 'blocks:id' is reversed"),
        Flag("waits-for", help="Wait for the children of this issue"),
        Flag("waits-for-gate", help="all-children (default) or any-children"),
        Flag("estimate", "number", "e", help="Time estimate in minutes"),
        Flag("due", help="Due date: +6h, +1d, tomorrow, next monday, 2025-01-15"),
        Flag("defer", help="Hide from bd ready until this date"),
        Flag("metadata", help="Custom metadata (JSON object, or @file.json)"),
        Flag("status", short="s", help="Initial status"),
        Flag("file", short="f", help="Create an issue for each `## Title` of a markdown file"),
        Flag("graph", help="Create the nodes and edges of a JSON file"),
        Flag("silent", "switch", help="Output only the issue id"),
        Flag("dry-run", "switch", help="Check everything and create nothing"),
        Flag("validate", "switch", help="Refuse a description without its type's sections"),
        *ignored("no-history", why="the queue keeps no history"),
    ),
)

QUICK = Verb(
    run=_quick,
    usage="bd q [title] [flags]",
    about="Create an issue and output only its id",
    flags=_SHARED,
    writes=True,
)
