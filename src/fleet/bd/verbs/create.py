"""`bd create` and `bd q`: a new task, or nothing at all."""

from datetime import UTC, datetime
from typing import Any

import msgspec

from fleet.bd.arguments import values
from fleet.bd.arguments.create import draft_of, gate_of, quick_draft
from fleet.bd.command import Call, Failure, Verb
from fleet.bd.output.json_shapes import issue
from fleet.bd.pflag import Flag
from fleet.errors import BadInput, Refused
from fleet.queue.protocol import Draft
from fleet.queue.sql.edit_task import Change, edit
from fleet.schemas import Task


def _create(call: Call) -> int:
    call.writes("create")
    call.lacks(
        "file", "graph", "validate", "repo", "ephemeral", "no-history", "storage-class",
        "mol-type", "wisp-type", "event-actor", "event-category", "event-payload", "event-target",
    )  # fmt: skip
    if len(call.words) > 1:
        raise Failure(f"accepts at most 1 arg(s), received {len(call.words)}", channel="err")
    draft = draft_of(call)
    status = values.new_status(call.line.text("status")) if call.line.has("status") else None
    if call.line.switch("dry-run"):
        return _preview(call, draft)
    gate = gate_of(call)
    with call.queue.db.writing():
        task = _add(call, draft)
        if gate is not None:
            call.queue.depend(msgspec.structs.replace(gate, task_id=task.id))
        if status is not None:
            change = Change(status=status, force=True)
            task = edit(call.queue, task.id, change, actor=call.actor).after
    values.warn_of_spaces(call, draft.labels)
    if not call.line.switch("silent"):
        _warn_of_the_past(call, draft.defer_until)
    _tell(call, task)
    return 0


def _tell(call: Call, task: Task) -> None:
    if call.json:
        call.put(issue(task))
    elif call.line.switch("silent"):
        call.say(task.id)
    else:
        call.tell(f"✓ Created issue: {task.id} — {task.title}")
        call.tell(f"  Priority: P{task.priority}\n  Status: {task.status}")


def _quick(call: Call) -> int:
    call.writes("q")
    if not call.words:
        raise Failure("requires at least 1 arg(s), only received 0", channel="err")
    call.say(_add(call, quick_draft(call)).id)
    return 0


def _add(call: Call, draft: Draft) -> Task:
    try:
        return call.queue.add(draft)
    except Refused as refused:
        raise Failure(f"validation failed: {refused.message}") from None
    except BadInput as error:
        where = "" if call.verb == "q" else "validation failed: "
        raise Failure(f"{where}validation failed for issue : {error.message}") from None


def _preview(call: Call, draft: Draft) -> int:
    if call.json:
        call.put(issue(Task(id="", title=draft.title, **_as_if(draft))))
        return 0
    call.say("⚠ [DRY RUN] Would create issue:")
    call.say(f"  ID: {draft.id or '(will be generated)'}\n  Title: {draft.title}")
    call.say(f"  Type: {draft.issue_type}\n  Priority: P{draft.priority}\n  Status: open")
    return 0


def _as_if(draft: Draft) -> dict[str, Any]:
    own = ("depends_on", "blocks", "parent", "inherit_labels", "id", "title")
    fields = {k: v for k, v in msgspec.structs.asdict(draft).items() if k not in own}
    never = datetime.min.replace(tzinfo=UTC)
    return {**fields, "created_at": never, "updated_at": never}


def _warn_of_the_past(call: Call, put_off: datetime | None) -> None:
    if put_off is not None and put_off <= call.now:
        local = put_off.astimezone().strftime("%Y-%m-%d %H:%M")
        call.warn(
            f'! Defer date "{local}" is in the past.'
            " Issue will appear in bd ready immediately.\n"
            "  Did you mean a future date? Use --defer=+1h or --defer=tomorrow"
        )


_SHARED = (
    Flag("labels", "list", "l", ("label",), help="Labels (comma-separated)"),
    Flag("parent", help="Parent issue id: the new one becomes its child"),
    Flag("priority", short="p", help="Priority (0-4 or P0-P4, 0=highest; default 2)"),
    Flag("type", short="t", help="Issue type: bug, feature, task (default), epic, chore, ..."),
)

CREATE = Verb(
    run=_create,
    usage="bd create [title] [flags]",
    about="Create a new issue",
    flags=(
        Flag("title", help="Issue title (alternative to positional argument)"),
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
        *_SHARED,
        Flag("assignee", short="a", help="Assignee"),
        Flag("design", help="Design notes"),
        Flag("design-file", help="Read design from a file (- for standard input)"),
        Flag("acceptance", help="Acceptance criteria"),
        Flag("notes", help="Additional notes"),
        Flag("append-notes", help="More notes, on a line of their own"),
        Flag("skills", help="Required skills, added to the description"),
        Flag("context", help="Additional context, added to the description"),
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
        Flag("silent", "switch", help="Output only the issue id"),
        Flag("dry-run", "switch", help="Show what would be created"),
        Flag("file", short="f", help="Not on this queue"),
        Flag("graph", help="Not on this queue"),
        Flag("validate", "switch", help="Not on this queue"),
        Flag("repo", help="Not on this queue"),
        Flag("ephemeral", "switch", help="Not on this queue"),
        Flag("no-history", "switch", help="Not on this queue"),
        Flag("storage-class", help="Not on this queue"),
        Flag("mol-type", help="Not on this queue"),
        Flag("wisp-type", help="Not on this queue"),
        Flag("event-actor", help="Not on this queue"),
        Flag("event-category", help="Not on this queue"),
        Flag("event-payload", help="Not on this queue"),
        Flag("event-target", help="Not on this queue"),
    ),
)

QUICK = Verb(
    run=_quick,
    usage="bd q [title] [flags]",
    about="Create an issue and output only its id",
    flags=_SHARED,
    channel="err",
)
