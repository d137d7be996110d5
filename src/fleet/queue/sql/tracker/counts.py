"""Counting tasks: in groups, and the state of the whole queue at a glance."""

from typing import Literal

from fleet.queue.sql.dependencies import epics
from fleet.queue.sql.sql_queue import SqlQueue
from fleet.queue.sql.tracker.related import blocked
from fleet.queue.sql.tracker.search import Condition, Search, total, where_clause

CountGroup = Literal["status", "priority", "issue_type", "assignee", "label"]

_MICROSECONDS_AN_HOUR = 3_600_000_000


def grouped(queue: SqlQueue, want: Search, by: CountGroup) -> list[tuple[str, int]]:
    """How many tasks of each kind a search finds, by the kind's name."""
    where, values = where_clause(queue, want.where)
    column, tables = f"tasks.{by}", "tasks"
    if by == "label":
        column, tables = "l.label", "labels l JOIN tasks ON tasks.id = l.task_id"
    text = f"SELECT {column}, count(*) FROM {tables} {where} GROUP BY {column}"
    groups = [(_name(by, kind), int(n)) for kind, n in queue.db.rows(text, values)]
    if by == "label":
        bare = Search(where=(*want.where, Condition("unlabelled")))
        groups += [("(no labels)", n) for n in (total(queue, bare),) if n]
    return sorted(groups)


def _name(by: CountGroup, kind: object) -> str:
    if by == "priority":
        return f"P{kind}"
    return str(kind) or "(unassigned)"


def figures(queue: SqlQueue, *, assignee: str = "") -> dict[str, float]:
    """The numbers of `bd stats`, of the whole queue or of one assignee's tasks."""
    if assignee:
        rows = queue.rows("tracker.by_status_of", {"assignee": assignee})
        by_status = {str(status): int(n) for status, n in rows}
    else:
        by_status = queue.counts()
    waiting = blocked(queue)
    unfinished = [
        (status, task_id in waiting)
        for task_id, status, holder in queue.rows("tracker.unfinished")
        if assignee in ("", holder)
    ]
    lead = queue.rows("tracker.lead_time")[0][0]
    return {
        "total_issues": sum(by_status.values()),
        **{
            f"{status}_issues": by_status.get(status, 0)
            for status in ("open", "in_progress", "closed", "deferred", "pinned")
        },
        "blocked_issues": sum(held for _, held in unfinished),
        "ready_issues": sum(status == "open" and not held for status, held in unfinished),
        "epics_eligible_for_closure": sum(epic.eligible for epic in epics(queue)),
        "average_lead_time_hours": round(float(lead) / _MICROSECONDS_AN_HOUR, 2),
    }
