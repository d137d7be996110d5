"""`bd ready` and `bd blocked`: the work that could be done now, and the work that waits."""

from msgspec.structs import replace

from fleet.bd.arguments import filters
from fleet.bd.command import Call, Reply, Verb
from fleet.bd.output import lines
from fleet.bd.output.json_shapes import brief, waiting
from fleet.bd.pflag import Flag, ignored
from fleet.bd.verbs.list_ import MAX_ROWS, counted, refuse_many
from fleet.errors import BadInput
from fleet.queue.sql.edit_task import claim_next, wake
from fleet.queue.sql.tracker.related import blocked
from fleet.queue.sql.tracker.search import (
    READY_WORK,
    WORK_TYPES,
    Condition,
    Search,
    SortOrder,
    search,
    total,
)

_SOME = 100
_ORDERS: dict[str, SortOrder] = {"priority": "fifo", "oldest": "oldest", "hybrid": "hybrid"}


def _ready(call: Call) -> Reply:
    line = call.line
    want = _wanted(call)
    if line.switch("claim"):
        call.refuse_readonly("ready --claim")
        if line.has("assignee"):
            raise BadInput("--claim cannot be combined with --assignee")
    if not line.switch("readonly"):
        wake(call.queue)
    return _claim(call, want) if line.switch("claim") else _show(call, want)


def _wanted(call: Call) -> Search:
    order = _ORDERS.get(call.line.text("sort", "priority"))
    if order is None:
        raise BadInput(
            f'invalid sort policy "{call.line.text("sort")}" (valid: {", ".join(_ORDERS)})'
        )
    ready = READY_WORK
    if call.line.switch("include-deferred"):
        ready = (
            Condition("not_closed"),
            Condition("tasks.status = 'open'"),
            Condition("unblocked"),
        )
    types = () if filters.types_of(call) else (WORK_TYPES,)
    want = filters.search_of(call)
    return replace(want, where=(*ready, *types, *want.where, *_family(call)), order=order)


def _family(call: Call) -> list[Condition]:
    """The descendants of --parent."""
    parent = call.line.text("parent")
    return [Condition("below", (parent,))] if parent else []


def _claim(call: Call, want: Search) -> Reply:
    task = claim_next(call.queue, want, actor=call.actor)
    if call.json:
        return Reply(value=counted(call.queue, [task] if task else []))
    return Reply(text=f"Claimed {task.id}: {task.title}" if task else "No ready work to claim.")


def _show(call: Call, want: Search) -> Reply:
    limit = call.line.number("limit", _SOME)
    tasks = search(call.queue, replace(want, limit=limit if limit > 0 else None))
    if refusal := refuse_many(call, tasks):
        return refusal
    every = len(tasks) if limit <= 0 or len(tasks) < limit else total(call.queue, want)
    cut = f"Showing {len(tasks)} of {every} ready issues; --limit 0 shows all"
    if not call.json:
        text = lines.rows(tasks, "No ready work: every open issue waits or is put off.")
        return Reply(text=f"{text}\n{cut}" if every > len(tasks) else text)
    rows = counted(call.queue, tasks)
    if call.line.switch("brief"):
        rows = [brief(row) for row in rows]
    if every == len(tasks):
        return Reply(value=rows)
    call.warn(cut)
    counts = {"returned": len(rows), "total": every, "truncated": True}
    return Reply(value=rows, beside={"pagination": counts})


def _blocked(call: Call) -> Reply:
    held = blocked(call.queue)
    want = filters.search_of(call)
    want = replace(want, where=(*want.where, filters.UNFINISHED, *_family(call)))
    tasks = [task for task in search(call.queue, want) if task.id in held] if held else []
    ids = {task.id: ", ".join(blocker.id for blocker in held[task.id]) for task in tasks}
    texts = [lines.row(task, f"blocked by {ids[task.id]}") for task in tasks]
    return Reply(
        value=[waiting(task, held[task.id]) for task in tasks],
        text="\n".join(texts) or "No blocked issues.",
    )


READY = Verb(
    run=_ready,
    usage="bd ready [flags]",
    about="Show ready work (open issues with no active blockers)",
    flags=(
        Flag("claim", "switch", help="Claim the first ready issue that matches"),
        Flag("limit", "number", "n", help="Maximum issues to show (0: no limit; default 100)"),
        *filters.KINDS,
        Flag("unassigned", "switch", "u", help="Show only unassigned issues"),
        *filters.LABELS,
        Flag("parent", help="Filter to descendants of this issue"),
        Flag("sort", short="s", help="Sort policy: priority (default), hybrid, oldest"),
        Flag("include-deferred", "switch", help="Include issues with a defer date in the future"),
        Flag("brief", "switch", help="Leave out the long texts in JSON"),
        MAX_ROWS,
        *ignored("plain", "pretty", why="the list has one form"),
        *ignored("include-ephemeral"),
    ),
)
BLOCKED = Verb(
    run=_blocked,
    usage="bd blocked [flags]",
    about="Show blocked issues and what they wait for",
    flags=(*filters.LABELS, Flag("parent", help="Filter to descendants of this issue")),
)
