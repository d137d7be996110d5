"""`bd close`, `supersede`, `duplicate` and `delete`."""

from collections.abc import Sequence
from typing import Any

from fleet.bd.arguments import values
from fleet.bd.command import Call, Reply, Verb
from fleet.bd.output.json_shapes import Shape, issue
from fleet.bd.pflag import Flag, ignored
from fleet.bd.verbs.edits import each
from fleet.errors import BadInput, NotFound
from fleet.queue.sql import edit_task
from fleet.queue.sql.tracker import delete_tasks
from fleet.queue.sql.tracker.delete_tasks import Removal
from fleet.queue.sql.tracker.related import freed_by
from fleet.queue.sql.tracker.search import READY_WORK, WORK_TYPES, Search
from fleet.schemas import Task

_REASONS = ("reason", "resolution", "message", "comment")


def _close(call: Call) -> Reply:
    words, reasons = _words(call)
    if not words:
        raise BadInput("no issue ID provided")
    if len(reasons) not in (1, len(words)):
        raise BadInput(f"{len(reasons)} reasons for {len(words)} issues: give one, or one for each")
    ids = [call.resolve(word) for word in words]
    given = reasons if len(reasons) > 1 else [*reasons] * len(ids)
    pairs = zip(ids, given, strict=True)
    closed, refused = each(pairs, lambda pair: _closed(call, pair[0], pair[1] or "Closed"))
    for _, error in refused:
        call.warn(error.message)
    if not closed:
        return Reply(code=1)
    return _reply(call, closed)


def _words(call: Call) -> tuple[Sequence[str], Sequence[str]]:
    """The ids and the reasons. `bd done ID text` takes its last word as the reason."""
    line, words = call.line, call.words
    given = [reason for name in _REASONS for reason in line.list(name)]
    if line.has("reason-file"):
        if given:
            raise BadInput("--reason and --reason-file cannot be given together")
        given = [values.read_text(call, line.text("reason-file"))]
    if call.name == "done" and len(words) > 1 and not given:
        return words[:-1], [words[-1]]
    return words, given or ["Closed"]


def _closed(call: Call, task_id: str, reason: str) -> Task:
    return edit_task.close(
        call.queue,
        task_id,
        reason=reason,
        actor=call.actor,
        force=call.line.switch("force"),
        session=call.line.text("session") or call.env.get("CLAUDE_SESSION_ID", ""),
    )


def _reply(call: Call, closed: Sequence[Task]) -> Reply:
    """The closed tasks, with what --suggest-next and --claim-next find."""
    texts = [f"Closed {task.id}: {task.title} ({task.close_reason})" for task in closed]
    more: dict[str, Any] = {}
    if call.line.switch("suggest-next"):
        freed = freed_by(call.queue, [task.id for task in closed])
        texts += [f"Unblocked {task.id}: {task.title}" for task in freed]
        more |= {"unblocked": [issue(task) for task in freed]} if freed else {}
    if call.line.switch("claim-next"):
        ready = Search(where=(*READY_WORK, WORK_TYPES), order="fifo")
        task = edit_task.claim_next(call.queue, ready, actor=call.actor)
        texts.append(f"Claimed {task.id}: {task.title}" if task else "No ready issue to claim")
        more |= {"claimed": issue(task)} if task else {}
    rows = [issue(task) for task in closed]
    return call.confirmed("\n".join(texts), {"closed": rows, **more} if more else rows)


def _delete(call: Call) -> Reply:
    line, ids = call.line, _whole_ids(call)
    cascade = line.switch("cascade")
    if not line.switch("force") or line.switch("dry-run"):
        orphan = line.switch("force")
        return _preview(
            call, ids, delete_tasks.plan(call.queue, ids, cascade=cascade, orphan=orphan)
        )
    done = delete_tasks.remove(call.queue, ids, cascade=cascade, orphan=True)
    return call.confirmed(f"Deleted {_listed(done)}", _shape(ids, done, cascade=cascade))


def _whole_ids(call: Call) -> list[str]:
    """The ids that the words mean; if one means none, nothing is deleted."""
    ids: dict[str, None] = {}
    missing: list[str] = []
    for word in _named(call):
        try:
            ids[call.resolve(word)] = None
        except NotFound:
            missing.append(word)
    if missing:
        raise BadInput(f"issues not found: {', '.join(missing)}")
    return list(ids)


def _named(call: Call) -> Sequence[str]:
    """The words of the line, and the lines of --from-file that are no comments."""
    if not call.line.has("from-file"):
        return values.ids(call)
    lines = values.read_text(call, call.line.text("from-file")).splitlines()
    listed = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    if not (call.words or listed):
        raise BadInput("no issue IDs provided")
    return (*call.words, *listed)


def _shape(ids: Sequence[str], done: Removal, *, cascade: bool) -> Shape:
    single = len(ids) == 1 and not cascade
    body: Shape = {
        "deleted": ids[0] if single else list(ids),
        "dependencies_removed": len(done.edges),
        "references_updated": len(done.mentions),
    }
    if single:
        return body
    return body | {
        "deleted_count": len(done.tasks),
        "labels_removed": done.labels,
        "events_removed": 0,
        "orphaned_issues": list(done.orphans) or None,
    }


def _preview(call: Call, ids: Sequence[str], would: Removal) -> Reply:
    line = call.line
    return Reply(
        value={
            "cascade": line.switch("cascade"),
            "dry_run": line.switch("dry-run"),
            "issue_ids": list(ids),
            "preview": True,
            "would_delete": len(would.tasks),
            "would_orphan": len(would.orphans),
            "would_remove_dependencies": len(would.edges),
            "would_remove_events": 0,
            "would_remove_labels": would.labels,
        },
        text=f"Would delete {_listed(would)}\nNothing was deleted: --force deletes for good.",
    )


def _listed(removal: Removal) -> str:
    tasks = "\n".join(f"  {task.id}: {task.title}" for task in removal.tasks)
    edges = f"  with {len(removal.edges)} dependencies" if removal.edges else ""
    return f"{len(removal.tasks)} issue(s):\n{tasks}" + (f"\n{edges}" if edges else "")


def _replaced(call: Call, flag: str, kind: str, was: str) -> Reply:
    """Close a task that another one stands for, and connect the two."""
    (word,) = values.exactly(call, 1)
    if not call.line.text(flag):
        raise BadInput(f'required flag(s) "{flag}" not set')
    old, new = call.resolve(word), call.resolve(call.line.text(flag))
    if old == new:
        raise BadInput(f"cannot mark an issue as {was} itself")
    with call.queue.db.writing():
        call.queue.depend(old, new, kind, by=call.actor)
        edit_task.close(call.queue, old, reason="", actor=call.actor, force=True)
    names = {"supersedes": ("superseded", "replacement"), "duplicates": ("duplicate", "canonical")}
    value = dict(zip(names[kind], (old, new), strict=True))
    return call.confirmed(f"Marked {old} as {was} {new} (closed)", {**value, "status": "closed"})


SUPERSEDE = Verb(
    run=lambda call: _replaced(call, "with", "supersedes", "superseded by"),
    usage="bd supersede <id> --with <new>",
    about="Close an issue that a newer one replaces",
    flags=(Flag("with", help="The replacement (required)"),),
    writes=True,
)
DUPLICATE = Verb(
    run=lambda call: _replaced(call, "of", "duplicates", "duplicate of"),
    usage="bd duplicate <id> --of <canonical>",
    about="Close an issue that another one repeats",
    flags=(Flag("of", help="The issue that stays (required)"),),
    writes=True,
)
CLOSE = Verb(
    run=_close,
    usage="bd close [id...] [flags]",
    about="Close one or more issues",
    writes=True,
    flags=(
        Flag("reason", "array", "r", help="Reason for closing; one for all ids, or one for each"),
        Flag("resolution", "array", help="Alias for --reason"),
        Flag("message", "array", "m", help="Alias for --reason"),
        Flag("comment", "array", help="Alias for --reason"),
        Flag("reason-file", help="Read close reason from a file (- for standard input)"),
        Flag("force", "switch", "f", help="Close despite blockers, children, pins and holders"),
        Flag("suggest-next", "switch", help="Show newly unblocked issues after closing"),
        Flag("claim-next", "switch", help="Claim the next ready issue after closing"),
        Flag("session", help="Agent session id to record"),
        *ignored("no-auto", why="nothing is claimed unless --claim-next says so"),
    ),
)
DELETE = Verb(
    run=_delete,
    usage="bd delete <issue-id> [issue-id...] [flags]",
    about="Delete one or more issues and clean up references",
    flags=(
        Flag("force", "switch", "f", help="Actually delete (without it: a preview)"),
        Flag("cascade", "switch", help="Recursively delete all dependent issues"),
        Flag("from-file", help="Read issue IDs from a file, one a line"),
        Flag("dry-run", "switch", help="Preview what would be deleted"),
    ),
    writes=True,
)
