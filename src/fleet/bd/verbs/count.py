"""`bd count`, `bd stats` and `bd epic status`: how much there is, and how far."""

from collections.abc import Mapping

from fleet.bd.arguments import filters
from fleet.bd.command import Call, Failure, Reply, Verb
from fleet.bd.output.json_shapes import issue
from fleet.bd.pflag import Flag
from fleet.queue.sql.dependencies import epics
from fleet.queue.sql.tracker.counts import CountGroup, figures, grouped
from fleet.queue.sql.tracker.search import total

_GROUPS: Mapping[str, CountGroup] = {
    "by-status": "status",
    "by-priority": "priority",
    "by-type": "issue_type",
    "by-assignee": "assignee",
    "by-label": "label",
}


def _count(call: Call) -> Reply:
    asked: list[CountGroup] = [group for flag, group in _GROUPS.items() if call.line.switch(flag)]
    if len(asked) > 1:
        raise Failure("only one --by-* flag can be specified")
    want = filters.search_of(call)
    every = total(call.queue, want)
    if not asked:
        return Reply(value={"count": every}, text=str(every))
    groups = grouped(call.queue, want, asked[0])
    return Reply(
        value={"total": every, "groups": [{"group": name, "count": n} for name, n in groups]},
        text="\n".join([f"total: {every}", *(f"{name}: {n}" for name, n in groups)]),
    )


def _stats(call: Call) -> Reply:
    summary = figures(call.queue, assignee=call.actor if call.line.switch("assigned") else "")
    texts = [f"{name.replace('_', ' ')}: {number}" for name, number in summary.items()]
    return Reply(value={"summary": dict(sorted(summary.items()))}, text="\n".join(texts))


def _epic_status(call: Call) -> Reply:
    only = call.line.switch("eligible-only")
    found = [epic for epic in epics(call.queue) if epic.eligible or not only]
    shapes = [
        {
            "epic": issue(epic.task),
            "total_children": epic.children,
            "closed_children": epic.closed,
            "eligible_for_close": epic.eligible,
        }
        for epic in found
    ]
    texts = [
        f"{epic.task.id}  {epic.closed}/{epic.children} closed  {epic.task.title}" for epic in found
    ]
    return Reply(value=shapes, text="\n".join(texts) or "No open epics found.")


COUNT = Verb(
    run=_count,
    usage="bd count [flags]",
    about="Count issues matching filters",
    flags=(
        *(Flag(flag, "switch", help=f"CountGroup count by {flag[3:]}") for flag in _GROUPS),
        *filters.FINDING,
    ),
)
STATS = Verb(
    run=_stats,
    usage="bd stats [flags]",
    about="Show issue database overview and statistics",
    flags=(
        Flag("all", "switch", help="All issues (the default)"),
        Flag("assigned", "switch", help="Only issues assigned to you"),
        Flag("no-activity", "switch", help="Accepted for compatibility"),
    ),
)
EPIC_STATUS = Verb(
    run=_epic_status,
    usage="bd epic status [flags]",
    about="Show epic completion status",
    flags=(Flag("eligible-only", "switch", help="Show only epics eligible for closure"),),
)
