"""`bd ready`: the work that could be done now, or the next piece of it claimed."""

from collections.abc import Sequence

from msgspec.structs import replace

from fleet.bd.arguments import filters
from fleet.bd.command import Call, Failure, Verb
from fleet.bd.output import lines
from fleet.bd.output.json_shapes import brief
from fleet.bd.output.list_rows import counted, parents
from fleet.bd.pflag import Flag
from fleet.queue.sql.actor_claims import claim_next, wake
from fleet.queue.sql.tracker.related import tasks_of
from fleet.queue.sql.tracker.search import Order, Search, search, total
from fleet.schemas import Task

_SOME = 100
_ORDERS: dict[str, Order] = {"priority": "fifo", "oldest": "oldest", "hybrid": "hybrid"}


def _ready(call: Call) -> int:
    line = call.line
    call.lacks("mol", "mol-type", "gated", "offset")
    want = _wanted(call)
    _refuse_mixtures(call)
    if not line.switch("readonly"):
        wake(call.queue)
    if line.switch("claim"):
        return _claim(call, want)
    if line.switch("explain"):
        from fleet.bd.output.explain import explain

        return explain(call, want)
    limit = line.number("limit", _SOME)
    return _show(call, want, limit if limit > 0 else None)


def _wanted(call: Call) -> Search:
    order = _ORDERS.get(call.line.text("sort", "priority"))
    if order is None:
        raise Failure(
            f"invalid sort policy '{call.line.text('sort')}'."
            " Valid values: hybrid, priority, oldest"
        )
    return replace(
        filters.search_of(call, channel="out"),
        ready=True,
        include_deferred=call.line.switch("include-deferred"),
        ancestor=call.line.text("parent"),
        order=order,
    )


def _refuse_mixtures(call: Call) -> None:
    line = call.line
    if line.switch("claim"):
        call.writes("ready --claim")
        for other in ("assignee", "explain", "brief"):
            if line.has(other):
                raise Failure(f"--claim cannot be combined with --{other}")
    if line.switch("brief"):
        if line.switch("explain"):
            raise Failure("--brief cannot be combined with --explain")
        if not call.json:
            raise Failure(
                "--brief requires --json; the text renderings print none of the fields it omits"
            )


def _claim(call: Call, want: Search) -> int:
    task = claim_next(call.queue, want, actor=call.actor)
    if call.json:
        call.put(counted(call.queue, [task] if task else []))
    elif task is None:
        call.say("\n○ No ready work to claim\n")
    else:
        call.say(f"✓ Claimed issue: {task.id} — {task.title}")
    return 0


def _show(call: Call, want: Search, limit: int | None) -> int:
    cap = filters.row_cap(call)
    bound = cap + 1 if cap and (limit is None or limit > cap) else limit
    tasks = search(call.queue, replace(want, limit=bound))
    if cap and len(tasks) > cap:
        raise filters.too_many(cap)
    every = len(tasks) if limit is None or len(tasks) < limit else total(call.queue, want)
    if call.json:
        _put(call, tasks, every)
    elif not tasks:
        _say_nothing(call)
    elif call.line.switch("plain"):
        _say_plain(call, tasks)
    else:
        _say_lines(call, tasks)
    if tasks and every > len(tasks) and not call.json:
        call.say(f"Showing {len(tasks)} of {every} ready issues. Use -n to show more.\n")
    return 0


def _put(call: Call, tasks: Sequence[Task], every: int) -> None:
    rows = counted(call.queue, tasks)
    if call.line.switch("brief"):
        rows = [brief(row) for row in rows]
    if every == len(tasks):
        call.put(rows)
        return
    call.put(rows, pagination={"returned": len(rows), "total": every, "truncated": True})
    call.warn(
        f"Showing {len(rows)} of {every} ready issues."
        " Use --limit 0 for all, or --limit N to raise the cap."
    )


def _say_nothing(call: Call) -> None:
    """Nothing at all to do, or nothing of what was asked for."""
    if total(call.queue, Search(not_statuses=("closed", "pinned"))):
        call.say("\n✨ No ready work found (all issues have blocking dependencies)\n")
    else:
        call.say("\n✨ No open issues\n")


def _say_plain(call: Call, tasks: Sequence[Task]) -> None:
    call.say(f"\n📋 Ready work ({len(tasks)} issues with no active blockers):\n")
    for number, task in enumerate(tasks, start=1):
        call.say(f"{number}. [P{task.priority}] [{task.issue_type}] {task.id}: {task.title}")
        if task.estimated_minutes:
            call.say(f"   Estimate: {task.estimated_minutes} min")
        if task.assignee:
            call.say(f"   Assignee: {task.assignee}")
    call.say()


def _say_lines(call: Call, tasks: Sequence[Task]) -> None:
    above = parents(call.queue, tasks)
    epics = tasks_of(call.queue, sorted(set(above.values())))
    for task in tasks:
        parent = epics.get(above.get(task.id, ""))
        epic = f" ← {parent.title}" if parent and parent.issue_type == "epic" else ""
        call.say(f"{lines.short(task)}{epic}")
    call.say(
        f"\n{lines.RULE}\nReady: {len(tasks)} issues with no active blockers\n\n{lines.LEGEND}"
    )


READY = Verb(
    run=_ready,
    usage="bd ready [flags]",
    about="Show ready work (open issues with no active blockers)",
    flags=(
        Flag("claim", "switch", help="Claim the first ready issue that matches"),
        Flag("limit", "number", "n", help="Maximum issues to show (0: no limit; default 100)"),
        Flag("priority", "number", "p", help="Filter by priority"),
        Flag("assignee", short="a", help="Filter by assignee"),
        Flag("unassigned", "switch", "u", help="Show only unassigned issues"),
        filters.TYPE,
        Flag("exclude-type", "list", help="Exclude issue types"),
        *filters.LABELS,
        *filters.LABEL_SHAPES,
        *filters.METADATA,
        Flag("parent", help="Filter to descendants of this issue"),
        Flag("sort", short="s", help="Sort policy: priority (default), hybrid, oldest"),
        Flag("include-deferred", "switch", help="Include issues with a defer date in the future"),
        Flag("include-ephemeral", "switch", help="Accepted for compatibility"),
        Flag("explain", "switch", help="Show why issues are ready or blocked"),
        Flag("brief", "switch", help="Leave out the long texts in JSON"),
        Flag("max-rows", "number", help="Fail with exit code 2 when there are more rows"),
        Flag("plain", "switch", help="Display issues as a plain numbered list"),
        Flag("pretty", "switch", help="Display issues with their signs (the default)"),
        Flag("mol", help="Not on this queue"),
        Flag("mol-type", help="Not on this queue"),
        Flag("gated", "switch", help="Not on this queue"),
        Flag("offset", "number", help="Not on this queue"),
    ),
)
