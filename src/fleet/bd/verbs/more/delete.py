"""bd delete: a preview, and with --force the real thing."""

from collections.abc import Sequence
from pathlib import Path

from fleet.bd.arguments.positional import readable, reason
from fleet.bd.command import Call, Failure, Verb
from fleet.bd.command import encoded as json_text
from fleet.bd.pflag import Flag
from fleet.errors import FleetError, NotFound, Refused
from fleet.queue.sql.tracker import delete_tasks
from fleet.queue.sql.tracker.delete_tasks import Removal


def _delete(call: Call) -> int:
    line = call.line
    words = (*call.words, *_listed(call))
    if not words:
        raise Failure(
            "no issue IDs provided\nUsage:\n  bd delete <issue-id> [issue-id...] [flags]",
            channel="err",
        )
    ids = _whole_ids(call, words)
    cascade = line.switch("cascade")
    if line.switch("force") and not line.switch("dry-run"):
        done = delete_tasks.remove(call.queue, ids, cascade=cascade, orphan=True)
        return _deleted(call, ids, done)
    return _preview(call, ids, cascade=cascade)


def _whole_ids(call: Call, words: Sequence[str]) -> list[str]:
    """The ids that the words mean; if one means none, nothing is deleted."""
    ids: dict[str, None] = {}
    missing: list[str] = []
    for word in words:
        try:
            ids[call.resolve(word)] = None
        except NotFound:
            missing.append(word)
        except FleetError as error:
            raise Failure(error.message, channel="err") from None
    if missing and len(words) == 1:
        raise Failure(f"issue {missing[0]} not found", channel="err")
    if missing:
        raise Failure(f"issues not found: {', '.join(missing)}", channel="err")
    return list(ids)


def _listed(call: Call) -> list[str]:
    """The ids of --from-file, one a line."""
    name = call.line.text("from-file")
    if not name:
        return []
    try:
        text = readable(Path(name).read_bytes().decode(errors="surrogateescape"), name)
    except OSError as error:
        raise Failure(f"reading file: open {name}: {reason(error)}") from None
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def _deleted(call: Call, ids: Sequence[str], done: Removal) -> int:
    single = len(ids) == 1 and not call.line.switch("cascade")
    if call.json:
        body: dict[str, object] = {
            "deleted": ids[0] if single else list(ids),
            "dependencies_removed": len(done.links),
            "references_updated": len(done.mentions),
        }
        if not single:
            body |= {
                "deleted_count": len(done.tasks),
                "labels_removed": done.labels,
                "events_removed": 0,
                "orphaned_issues": list(done.orphans) or None,
            }
        call.put(body)
    elif single:
        call.say(f"✓ Deleted {ids[0]}")
        call.say(f"  Removed {len(done.links)} dependency link(s)")
        call.say(f"  Updated text references in {len(done.mentions)} issue(s)")
    else:
        call.say(f"✓ Deleted {len(done.tasks)} issue(s)")
        call.say(f"  Removed {len(done.links)} dependency link(s)")
        call.say(f"  Removed {done.labels} label(s)")
        call.say("  Removed 0 event(s)")
        call.say(f"  Updated text references in {len(done.mentions)} issue(s)")
    return 0


def _preview(call: Call, ids: Sequence[str], *, cascade: bool) -> int:
    head = {"cascade": cascade, "dry_run": call.line.switch("dry-run"), "issue_ids": list(ids)}
    orphan = call.line.switch("force")
    try:
        would = delete_tasks.plan(call.queue, ids, cascade=cascade, orphan=orphan)
    except Refused as refused:
        return _refused(call, ids, refused, {**head, "preview": True})
    if call.json:
        call.put(
            {
                **head,
                "preview": True,
                "would_delete": len(would.tasks),
                "would_orphan": len(would.orphans),
                "would_remove_dependencies": len(would.links),
                "would_remove_events": 0,
                "would_remove_labels": would.labels,
            }
        )
    else:
        call.say(_preview_text(call, ids, would))
    return 0


def _refused(call: Call, ids: Sequence[str], refused: Refused, head: dict[str, object]) -> int:
    """Bd tells of this twice, on both channels."""
    if call.json:
        call.put({**head, "error": refused.message})
        envelope = call.env.get("BD_JSON_ENVELOPE") == "1"
        call.warn(json_text({"error": refused.message}, envelope=envelope))
        return 1
    tasks = [call.queue.get(task_id) for task_id in ids]
    call.say(f"\n⚠️  DELETE PREVIEW\n\nIssues to delete ({len(ids)}):")
    call.say("\n".join(f"  {task.id}: {task.title}" for task in tasks))
    call.say(f"\n{refused.message}")
    before = "previewing deletion: " if len(ids) == 1 else ""
    call.warn(f"Error: {before}{refused.message}")
    return 1


def _preview_text(call: Call, ids: Sequence[str], would: Removal) -> str:
    cascade, dry = call.line.switch("cascade"), call.line.switch("dry-run")
    single = len(ids) == 1 and not cascade
    asked = [task for task in would.tasks if task.id in ids]
    parts = [
        "\n⚠️  DELETE PREVIEW\n",
        "Issue to delete:" if single else f"Issues to delete ({len(ids)}):",
        *(f"  {task.id}: {task.title}" for task in asked),
    ]
    if cascade:
        parts.append("\n⚠ Cascade mode enabled - will also delete all dependent issues")
    if single and would.links:
        parts.append(f"\nDependency links to remove: {len(would.links)}")
        parts += [f"  {task_id} → {target} ({kind})" for task_id, target, kind in would.links]
        parts.append("\nConnected issues where text references will be updated:")
        mentions = [f"  {task_id}" for task_id in would.mentions]
        parts += mentions or ["  (none have text references)"]
    if dry or not single:
        parts.append(f"\nWould delete: {len(would.tasks)} issues")
        parts.append(
            f"Would remove: {len(would.links)} dependencies, {would.labels} labels, 0 events"
        )
    if dry:
        return "\n".join([*parts, "\n(Dry-run mode - no changes made)"])
    how = f"bd delete {' '.join(ids)}{' --cascade' if cascade else ''} --force"
    proceed = "To proceed with cascade deletion, run: " if cascade else "To proceed, run: "
    parts += ["\nThis operation cannot be undone!", proceed + how]
    return "\n".join([*parts, ""] if single else parts)


DELETE = Verb(
    run=_delete,
    usage="bd delete <issue-id> [issue-id...] [flags]",
    about="Delete one or more issues and clean up references",
    flags=(
        Flag("force", "switch", "f", help="Actually delete (without it: a preview)"),
        Flag("cascade", "switch", help="Recursively delete all dependent issues"),
        Flag("dry-run", "switch", help="Preview what would be deleted"),
        Flag("from-file", help="Read issue IDs from file (one per line)"),
    ),
    writes=True,
)
