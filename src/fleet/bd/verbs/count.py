"""`bd count` and `bd stats`: how much there is."""

from collections.abc import Mapping

from msgspec.structs import replace

from fleet.bd.arguments import filters
from fleet.bd.command import Call, Failure, Verb
from fleet.bd.pflag import Flag
from fleet.queue.sql.tracker.counts import Figures, Group, figures, grouped
from fleet.queue.sql.tracker.search import total

_GROUPS: Mapping[str, Group] = {
    "by-status": "status",
    "by-priority": "priority",
    "by-type": "issue_type",
    "by-assignee": "assignee",
    "by-label": "label",
}


def _count(call: Call) -> int:
    asked: list[Group] = [group for flag, group in _GROUPS.items() if call.line.switch(flag)]
    if len(asked) > 1:
        raise Failure("only one --by-* flag can be specified")
    want = filters.search_of(call, channel="out")
    if call.line.switch("include-infra"):
        want = replace(want, not_types=("gate",))
    every = total(call.queue, want)
    if not asked:
        if call.json:
            call.put({"count": every})
        else:
            call.say(str(every))
        return 0
    groups = grouped(call.queue, want, asked[0])
    if call.json:
        shapes = [{"group": name, "count": count} for name, count in groups]
        call.put({"total": every, "groups": shapes})
    else:
        call.say(f"Total: {every}\n")
        for name, count in groups:
            call.say(f"{name}: {count}")
    return 0


def _stats(call: Call) -> int:
    now = figures(call.queue, assignee=call.actor if call.line.switch("assigned") else "")
    skipped = call.line.switch("no-blocked")
    if call.json:
        _put(call, now, skipped=skipped)
    else:
        _say(call, now, skipped=skipped)
    return 0


def _put(call: Call, now: Figures, *, skipped: bool) -> None:
    summary = {
        "total_issues": now.total,
        "open_issues": now.by_status.get("open", 0),
        "in_progress_issues": now.by_status.get("in_progress", 0),
        "closed_issues": now.by_status.get("closed", 0),
        "blocked_issues": None if skipped else now.blocked,
        "deferred_issues": now.by_status.get("deferred", 0),
        "ready_issues": None if skipped else now.ready,
        "pinned_issues": now.by_status.get("pinned", 0),
        "epics_eligible_for_closure": now.finished_epics,
        "average_lead_time_hours": now.lead_hours,
    }
    call.put(
        {"summary": dict(sorted(summary.items()))}
        | ({"blocked_count_skipped": True} if skipped else {})
    )


def _say(call: Call, now: Figures, *, skipped: bool) -> None:
    call.say("\n📊 Issue Database Status\n\nSummary:")
    for name, number in (
        ("Total Issues", now.total),
        ("Open", now.by_status.get("open", 0)),
        ("In Progress", now.by_status.get("in_progress", 0)),
        ("Blocked", "(skipped)" if skipped else now.blocked),
        ("Closed", now.by_status.get("closed", 0)),
        ("Ready to Work", "(skipped)" if skipped else now.ready),
    ):
        call.say(f"  {name + ':':<23} {number}")
    call.say("\nFor more details, use 'bd list' to see individual issues.\n")


COUNT = Verb(
    run=_count,
    usage="bd count [flags]",
    about="Count issues matching filters",
    flags=(
        *(Flag(flag, "switch", help=f"Group count by {flag[3:]}") for flag in _GROUPS),
        filters.STATUS,
        Flag("priority", "number", "p", help="Filter by priority (0-4)"),
        Flag("priority-min", "number", help="Filter by minimum priority (inclusive)"),
        Flag("priority-max", "number", help="Filter by maximum priority (inclusive)"),
        filters.TYPE,
        *filters.WHO,
        *filters.LABELS[:2],
        *filters.DATES,
        Flag("title", help="Filter by title text (case-insensitive)"),
        Flag("title-contains", help="Filter by title text (case-insensitive)"),
        Flag("id", help="Filter by issue ids (comma-separated)"),
        Flag("include-infra", "switch", help="Count what bd list --include-infra --all shows"),
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
        Flag("no-blocked", "switch", help="Leave out what is blocked and ready"),
    ),
)
