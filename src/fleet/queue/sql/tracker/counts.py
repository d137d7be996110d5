"""Counting tasks: in groups, and the state of the whole queue at a glance."""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from fleet.queue.sql.dependencies import epics
from fleet.queue.sql.sql_queue import SqlQueue
from fleet.queue.sql.tracker.related import blocked
from fleet.queue.sql.tracker.search import Condition, Search, total, where_clause

Group = Literal["status", "priority", "issue_type", "assignee", "label"]

_MICROSECONDS_AN_HOUR = 3_600_000_000


class Figures(Struct, frozen=True, kw_only=True):
    """The queue, or one person's part of it, in numbers."""

    by_status: Mapping[str, int]
    blocked: int
    ready: int
    finished_epics: int
    lead_hours: float

    @property
    def total(self) -> int:
        return sum(self.by_status.values())


def grouped(queue: SqlQueue, want: Search, by: Group) -> list[tuple[str, int]]:
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


def _name(by: Group, kind: object) -> str:
    if by == "priority":
        return f"P{kind}"
    return str(kind) or "(unassigned)"


def figures(queue: SqlQueue, *, assignee: str = "") -> Figures:
    """The numbers of `bd stats`."""
    sql = queue.more("counts.sql")
    if assignee:
        rows = queue.db.rows(sql["by_status_of"], {"assignee": assignee})
        by_status = {str(status): int(n) for status, n in rows}
    else:
        by_status = queue.counts()
    waiting = blocked(queue)
    unfinished = [
        (status, task_id in waiting)
        for task_id, status, holder in queue.db.rows(sql["unfinished"])
        if assignee in ("", holder)
    ]
    lead = queue.db.rows(sql["lead_time"])[0][0]
    return Figures(
        by_status=by_status,
        blocked=sum(held for _, held in unfinished),
        ready=sum(status == "open" and not held for status, held in unfinished),
        finished_epics=sum(epic.eligible for epic in epics(queue)),
        lead_hours=round(float(lead) / _MICROSECONDS_AN_HOUR, 2),
    )
