"""Finding and counting tasks by more than their id: parts of ids, the searches of `bd list` and
`ready`, and the state of the whole queue at a glance.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from fleet.queue.sql.dependencies import epics
from fleet.queue.sql.row_mapping import task_of, to_micros
from fleet.queue.sql.sql_queue import SqlQueue
from fleet.queue.sql.tracker.related import blocked
from fleet.schemas import Task

SortOrder = Literal[
    "priority", "created", "updated", "closed", "status", "id", "title", "type", "assignee",
    "fifo", "oldest", "hybrid",
]  # fmt: skip

#: The first column of each order, and whether the plain order runs downwards.
_ORDERS: Mapping[str, tuple[str, bool]] = {
    "priority": ("tasks.priority", False),
    "created": ("tasks.created_at", True),
    "updated": ("tasks.updated_at", True),
    "closed": ("tasks.closed_at", True),
    "status": ("tasks.status", False),
    "id": ("tasks.id", False),
    "title": ("lower(tasks.title)", False),
    "type": ("tasks.issue_type", False),
    "assignee": ("tasks.assignee", False),
}
_YOUNG = timedelta(hours=48)

CountGroup = Literal["status", "priority", "issue_type", "assignee", "label"]


class Condition(Struct, frozen=True):
    """What a row of `tasks` must meet: SQL, or the name of an entry of tracker.sql. `$` stands for
    the values.
    """

    sql: str
    values: Sequence[object] = ()


#: Work that could be begun now.
READY_WORK = (Condition("due_work"), Condition("unblocked"))
WORK_TYPES = Condition("is_work")


class Search(Struct, frozen=True, kw_only=True):
    """Which tasks, in which order: the tasks that meet all conditions."""

    where: tuple[Condition, ...] = ()
    #: A condition on metadata, in Python: the two engines have no common SQL for JSON.
    fits: Callable[[Task], bool] | None = None
    order: SortOrder = "priority"
    reverse: bool = False
    limit: int | None = None


def holds(column: str, text: str) -> Condition:
    """The column holds this text, in any case."""
    pattern = re.sub(r"([!%_])", r"!\1", text)
    sql = f"lower(tasks.{column}) LIKE lower(CAST($ AS TEXT)) ESCAPE '!'"
    return Condition(sql, (f"%{pattern}%",))


def ids_like(queue: SqlQueue, word: str) -> list[str]:
    """The ids that a word may mean: the same word, the word with the prefix, or ids
    that start so.
    """
    prefixed = f"{queue.prefix}-{word}"
    for exact in (word, prefixed):
        if queue.exists(exact):
            return [exact]
    values = {"bare": word, "prefixed": prefixed}
    return [row[0] for row in queue.rows("tracker.ids_starting", values)]


def search(queue: SqlQueue, want: Search) -> list[Task]:
    """The tasks that a search finds, in the search's order."""
    where, values = where_clause(queue, want.where)
    parts = [queue.text("select_tasks"), where, f"ORDER BY {_order(queue, want, values)}"]
    if want.limit is not None and want.fits is None:
        parts.append("LIMIT :limit + 0")
        values["limit"] = want.limit
    tasks = [task_of(row) for row in queue.db.rows("\n".join(parts), values)]
    return tasks if want.fits is None else [*filter(want.fits, tasks)][: want.limit]


def total(queue: SqlQueue, want: Search) -> int:
    """How many tasks a search would find without the limit."""
    if want.fits is not None:
        return len(search(queue, replace(want, limit=None)))
    where, values = where_clause(queue, want.where)
    return int(queue.db.rows(f"SELECT count(*) FROM tasks {where}", values)[0][0])


def where_clause(queue: SqlQueue, conditions: Sequence[Condition]) -> tuple[str, dict[str, object]]:
    """The conditions as SQL, and the bound values."""
    named = queue.statements("tracker")
    values: dict[str, object] = {}
    parts: list[str] = []
    for condition in conditions:
        names = [f"v{len(values) + n}" for n in range(len(condition.values))]
        values.update(zip(names, condition.values, strict=True))
        text = named.get(condition.sql, condition.sql)
        parts.append(f"({text.replace('$', ', '.join(f':{name}' for name in names))})")
    values["now"] = to_micros(queue.db.now())
    return f"WHERE {' AND '.join(parts)}" if parts else "", values


def _order(queue: SqlQueue, want: Search, values: dict[str, Any]) -> str:
    if want.order == "fifo":
        return "tasks.priority, tasks.created_at, tasks.id"
    if want.order == "oldest":
        return "tasks.created_at, tasks.id"
    if want.order == "hybrid":
        values["recent"] = to_micros(queue.db.now() - _YOUNG)
        return queue.text("tracker.by_hybrid")
    column, downwards = _ORDERS[want.order]
    direction = "DESC" if downwards != want.reverse else "ASC"
    first = f"{column} {direction}"
    if want.order == "closed":
        first = f"CASE WHEN tasks.closed_at IS NULL THEN 1 ELSE 0 END, {first}"
    if want.order == "priority":
        return f"{first}, tasks.created_at DESC, tasks.id"
    return first if want.order == "id" else f"{first}, tasks.id"


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


def figures(
    queue: SqlQueue, *, assignee: str = "", blocked_too: bool = True
) -> dict[str, float | None]:
    """The numbers of `bd stats`, of the whole queue or of one assignee's tasks. What needs the
    dependencies is None unless `blocked_too`.
    """
    if assignee:
        rows = queue.rows("tracker.by_status_of", {"assignee": assignee})
        by_status = {str(status): int(n) for status, n in rows}
    else:
        by_status = queue.counts()
    lead = queue.rows("tracker.lead_time")[0][0]
    return {
        "total_issues": sum(by_status.values()),
        **{
            f"{status}_issues": by_status.get(status, 0)
            for status in ("open", "in_progress", "closed", "deferred", "pinned")
        },
        **(_held_and_ready(queue, assignee) if blocked_too else _NOT_LOOKED_AT),
        "epics_eligible_for_closure": sum(epic.eligible for epic in epics(queue)),
        "average_lead_time_hours": round(float(lead) / 3_600_000_000, 2),
    }


_NOT_LOOKED_AT = {"blocked_issues": None, "ready_issues": None}


def _held_and_ready(queue: SqlQueue, assignee: str) -> dict[str, int]:
    waiting = blocked(queue)
    unfinished = [
        (status, task_id in waiting)
        for task_id, status, holder in queue.rows("tracker.unfinished")
        if assignee in ("", holder)
    ]
    return {
        "blocked_issues": sum(held for _, held in unfinished),
        "ready_issues": sum(status == "open" and not held for status, held in unfinished),
    }
