"""bd assign, priority, defer, undefer: who does it, how soon, and when not."""

import re
from datetime import UTC

from msgspec import UNSET

from fleet.bd.arguments.natural_time import read_time
from fleet.bd.arguments.positional import at_least, exactly, found
from fleet.bd.command import Call, Failure, Verb
from fleet.bd.output.json_shapes import issue
from fleet.bd.pflag import Flag
from fleet.errors import FleetError
from fleet.queue.sql.edit_task import Change, Stale, edit
from fleet.schemas import Task


def _assign(call: Call) -> int:
    word, assignee = exactly(call, 2)
    task = found(call, word)
    change = Change(assignee=assignee, force=call.line.switch("force"))
    after = edit(call.queue, task.id, change, actor=call.actor).after
    if call.json:
        call.put(issue(after))
    elif assignee:
        call.say(f"✓ Assigned {task.id} — {task.title} to {assignee}")
    else:
        call.say(f"✓ Unassigned {task.id} — {task.title}")
    return 0


def _priority(call: Call) -> int:
    word, level = exactly(call, 2)
    if not re.fullmatch(r"[Pp]?[0-4]", level):
        raise Failure(
            f'invalid priority "{level}" (expected 0-4 or P0-P4, not words like high/medium/low)'
        )
    task = found(call, word)
    change = Change(fields={"priority": int(level[-1])})
    after = edit(call.queue, task.id, change, actor=call.actor).after
    if call.json:
        call.put(issue(after))
    else:
        call.say(f"✓ Set priority of {task.id} — {task.title} to P{after.priority}")
    return 0


def _defer(call: Call) -> int:
    at_least(call, 1)
    now = call.queue.db.now()
    text = call.line.text("until")
    until = read_time(text, now) if text else None
    if text and until is None:
        call.warn(
            f'Error: invalid --until format "{text}".'
            " Examples: +1h, tomorrow, next monday, 2025-01-15"
        )
        return 1
    ids = _all_or_none(call)
    if ids is None:
        return 1
    until = until.replace(microsecond=0) if until else None
    if until is not None and until <= now:
        call.warn(
            f'! Defer date "{until.astimezone(UTC):%Y-%m-%d %H:%M}" is in the past.'
            " Issue will appear in bd ready immediately."
        )
        call.warn("  Did you mean a future date? Use --until=+1h or --until=tomorrow")
    change = Change(
        status="deferred",
        defer_until=UNSET if until is None else until,
        append_notes=call.line.text("reason"),
    )
    with call.queue.db.writing():
        tasks = [edit(call.queue, one, change, actor=call.actor).after for one in ids]
    if call.json:
        call.put([issue(task) for task in tasks])
    for task in () if call.json else tasks:
        call.say(f"* Deferred {task.id}")
    return 0


def _undefer(call: Call) -> int:
    at_least(call, 1)
    ids = _all_or_none(call)
    if ids is None:
        return 1
    woken = [(task_id, _woken(call, task_id)) for task_id in ids]
    for task_id, task in woken:
        if task is None:
            status = call.queue.get(task_id).status
            call.warn(f"{task_id} is not deferred (status: {status})")
        elif not call.json:
            call.say(f"* Undeferred {task_id} (now open)")
    tasks = [task for _, task in woken if task is not None]
    if call.json and tasks:
        call.put([issue(task) for task in tasks])
    return 0


def _woken(call: Call, task_id: str) -> Task | None:
    change = Change(status="open", defer_until=None, if_status="deferred")
    try:
        return edit(call.queue, task_id, change, actor=call.actor).after
    except Stale:
        return None


def _all_or_none(call: Call) -> list[str] | None:
    """The ids that the words mean; one that means none ends the command, in plain text."""
    try:
        return [call.resolve(word) for word in call.words]
    except FleetError as error:
        call.warn(f"Error: {error.message}")
        return None


ASSIGN = Verb(
    run=_assign,
    usage="bd assign <id> <name> [flags]",
    about="Assign an issue to someone",
    flags=(Flag("force", "switch", help="Take over another actor's work in progress"),),
    writes=True,
)
PRIORITY = Verb(
    run=_priority,
    usage="bd priority <id> <n>",
    about="Set the priority of an issue",
    writes=True,
)
DEFER = Verb(
    run=_defer,
    usage="bd defer [id...] [flags]",
    about="Defer one or more issues for later",
    flags=(
        Flag("until", help="Defer until specific time (e.g., +1h, tomorrow, next monday)"),
        Flag("reason", help="Why it is deferred (appended to notes)"),
    ),
    writes=True,
)
UNDEFER = Verb(
    run=_undefer,
    usage="bd undefer [id...]",
    about="Undefer one or more issues (restore to open)",
    writes=True,
)
