"""bd heartbeat, unclaim, reclaim: keeping a claim, giving it up, freeing forgotten ones."""

import re
from datetime import timedelta

from fleet.bd.arguments.positional import at_least, exactly, found
from fleet.bd.command import Call, Failure, Verb
from fleet.bd.output.json_shapes import issue
from fleet.bd.pflag import Flag
from fleet.errors import FleetError
from fleet.queue.sql.tracker.release_claims import beat, reclaim, release
from fleet.schemas import Task

_DURATION = re.compile(r"(\d+(?:\.\d+)?|\.\d+)(ns|us|µs|ms|s|m|h)")
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600}
_GRACE = timedelta(minutes=10)


def _heartbeat(call: Call) -> int:
    (word,) = exactly(call, 1)
    task = found(call, word)
    try:
        beat(call.queue, task.id, call.actor)
    except FleetError as error:
        raise Failure(f"heartbeat {task.id}: {error.message}") from None
    if call.json:
        call.put({"id": task.id, "status": "heartbeat", "owner": call.actor})
    else:
        call.say(f"✓ Heartbeat {task.id} — {task.title} (lease refreshed)")
    return 0


def _unclaim(call: Call) -> int:
    at_least(call, 1)
    force, only_if = call.line.switch("force"), call.line.has("if-assignee")
    if force and only_if:
        raise Failure(
            "if any flags in the group [force if-assignee] are set none of the others can be;"
            " [force if-assignee] were all set",
            channel="err",
        )
    if only_if and not call.line.text("if-assignee"):
        raise Failure(
            "--if-assignee requires a non-empty assignee;"
            " it releases the issue only while that assignee still holds it"
        )
    freed: list[Task] = []
    for word in call.words:
        task = _unclaimed(call, word)
        if task is not None:
            freed.append(task)
    if call.json and freed:
        call.put([issue(task) for task in freed])
    return 0 if len(freed) == len(call.words) else 1


def _unclaimed(call: Call, word: str) -> Task | None:
    try:
        task_id = call.resolve(word)
    except FleetError as error:
        call.warn(f"Error resolving {word}: {error.message}")
        return None
    reason = call.line.text("reason")
    try:
        task = release(
            call.queue,
            task_id,
            actor=call.actor,
            force=call.line.switch("force"),
            only_if=call.line.text("if-assignee") or None,
            reason=reason,
        )
    except FleetError as error:
        call.warn(f"Error unclaiming {task_id}: {error.message}")
        return None
    if not call.json:
        call.say(f"✓ Unclaimed {task_id}" + (f": {reason}" if reason else ""))
    return task


def _reclaim(call: Call) -> int:
    grace = _duration(call.line.text("older-than")) if call.line.has("older-than") else _GRACE
    if grace < timedelta(0):
        raise Failure("--older-than must not be negative")
    line = call.line
    ids, holders = set(line.list("id")), set(line.list("assignee"))
    all_of, any_of = set(line.list("label")), set(line.list("label-any"))
    none_of = set(line.list("exclude-label"))

    def wanted(task: Task) -> bool:
        labels = set(task.labels)
        return (
            (not ids or task.id in ids)
            and (not holders or task.assignee in holders)
            and all_of <= labels
            and (not any_of or bool(any_of & labels))
            and not none_of & labels
        )

    freed = reclaim(call.queue, quiet_for=grace, wanted=wanted, force=line.switch("force"))
    if call.json:
        listed = [{"id": task.id, "previous_owner": task.assignee} for task in freed]
        scoped = bool(ids or holders or all_of or any_of or none_of)
        call.put({"reclaimed": listed or None, "count": len(freed), "scoped": scoped})
    elif freed:
        call.say(f"✓ Reclaimed {len(freed)} stale-lease issue(s):")
        call.say("\n".join(f"  {task.id} (was held by {task.assignee})" for task in freed))
    else:
        call.say("✓ No stale leases to reclaim")
    return 0


def _duration(text: str) -> timedelta:
    """A duration as Go writes it: 90s, 10m, 1h30m."""
    body = text.lstrip("+-")
    parts = _DURATION.findall(body)
    if body != "0" and (not parts or "".join(map("".join, parts)) != body):
        raise Failure(
            f'invalid argument "{text}" for "--older-than" flag: time: invalid duration "{text}"',
            channel="err",
        )
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in parts)
    return timedelta(seconds=-seconds if text.startswith("-") else seconds)


HEARTBEAT = Verb(
    run=_heartbeat,
    usage="bd heartbeat <id>",
    about="Refresh the lease on an issue you hold in_progress",
    writes=True,
)
UNCLAIM = Verb(
    run=_unclaim,
    usage="bd unclaim [id...] [flags]",
    about="Release a claimed issue",
    flags=(
        Flag("force", "switch", help="Release it even if a different actor holds it"),
        Flag("if-assignee", help="Only release if still assigned to this assignee"),
        Flag("reason", short="r", help="Reason for unclaiming (becomes a comment)"),
    ),
    writes=True,
)
RECLAIM = Verb(
    run=_reclaim,
    usage="bd reclaim [flags]",
    about="Put claims that went quiet back into the queue",
    flags=(
        Flag("older-than", help="Only claims that ended at least this long ago (default 10m0s)"),
        Flag("id", "list", help="Only these issue IDs"),
        Flag("assignee", "list", "a", help="Only claims of these assignees"),
        Flag("label", "list", "l", help="Only issues with ALL these labels"),
        Flag("label-any", "list", help="Only issues with AT LEAST ONE of these labels"),
        Flag("exclude-label", "list", help="Never issues with ANY of these labels"),
        Flag("force", "switch", help="Also leases of supervisors that ran out"),
        Flag("any-replica", "switch", help="Accepted for compatibility: there is one queue"),
    ),
    writes=True,
)
