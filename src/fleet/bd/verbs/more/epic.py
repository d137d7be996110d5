"""bd epic: how far the children of epics are, and closing those that are done."""

from fleet.bd.command import Call, Verb
from fleet.bd.output.json_shapes import issue
from fleet.bd.pflag import Flag
from fleet.queue.sql import dependencies, edit_task
from fleet.queue.sql.dependencies import Epic


def _status(call: Call) -> int:
    only = call.line.switch("eligible-only")
    epics = [epic for epic in dependencies.epics(call.queue) if epic.eligible or not only]
    if call.json:
        call.put([_shape(epic) for epic in epics])
    elif not epics:
        call.say("No open epics found")
    for epic in () if call.json else epics:
        percent = 100 * epic.closed // epic.children
        call.say(f"{'✓' if epic.eligible else '○'} {epic.task.id} {epic.task.title}")
        call.say(f"   Progress: {epic.closed}/{epic.children} children closed ({percent}%)")
        if epic.eligible:
            call.say("   Eligible for closure")
        call.say()
    return 0


def _close_eligible(call: Call) -> int:
    reason = call.line.text("reason", "All children completed")
    if call.line.switch("dry-run"):
        return _preview(call, [e for e in dependencies.epics(call.queue) if e.eligible], reason)
    with call.queue.db.writing():
        epics = [epic for epic in dependencies.epics(call.queue) if epic.eligible]
        for epic in epics:
            edit_task.close(call.queue, epic.task.id, reason=reason, actor=call.actor, force=True)
    if call.json:
        ids = [epic.task.id for epic in epics]
        call.put({"closed": ids, "count": len(ids), "reason": reason})
    elif epics:
        call.say("\n".join(f"  - {epic.task.id}" for epic in epics))
        call.say(f'✓ Closed {len(epics)} epic(s) with reason "{reason}"')
    else:
        call.say("No epics eligible for closure")
    return 0


def _preview(call: Call, epics: list[Epic], reason: str) -> int:
    if call.json:
        call.put([_shape(epic) for epic in epics])
    elif epics:
        call.say(f'Would close {len(epics)} epic(s) with reason "{reason}":')
        call.say("\n".join(f"  - {epic.task.id}: {epic.task.title}" for epic in epics))
    else:
        call.say("No epics eligible for closure")
    return 0


def _shape(epic: Epic) -> dict[str, object]:
    return {
        "epic": issue(epic.task),
        "total_children": epic.children,
        "closed_children": epic.closed,
        "eligible_for_close": epic.eligible,
    }


def _epic(call: Call) -> int:
    from fleet.bd.help import help_for

    call.say(help_for(EPIC))
    return 0


EPIC = Verb(run=_epic, usage="bd epic [status|close-eligible]", about="Epic management commands")
STATUS = Verb(
    run=_status,
    usage="bd epic status [flags]",
    about="Show epic completion status",
    flags=(Flag("eligible-only", "switch", help="Show only epics eligible for closure"),),
)
CLOSE_ELIGIBLE = Verb(
    run=_close_eligible,
    usage="bd epic close-eligible [flags]",
    about="Close epics where all children are complete",
    flags=(
        Flag("dry-run", "switch", help="Preview what would be closed"),
        Flag("reason", short="r", help="Close reason (default: All children completed)"),
    ),
    writes=True,
)
