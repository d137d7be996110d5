"""Finding tasks by more than their id: parts of ids, and the filters of `bd list` and `ready`."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from fleet.queue.sql.row_mapping import task_of, to_micros
from fleet.queue.sql.sql_queue import SqlQueue
from fleet.queue.sql.tracker.search_sql import Where, by_hand
from fleet.schemas import Task

Order = Literal[
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

MomentColumn = Literal["created_at", "updated_at", "closed_at", "due_at"]
TextColumn = Literal["title", "description", "notes"]
#: A column, `<` or `>`, and a moment.
Span = tuple[MomentColumn, str, datetime]


class Search(Struct, frozen=True, kw_only=True):
    """Which tasks, in which order. Every field that is set narrows the search."""

    statuses: Sequence[str] = ()
    not_statuses: Sequence[str] = ()
    types: Sequence[str] = ()
    not_types: Sequence[str] = ()
    ids: Sequence[str] | None = None
    #: Text that the title or the id holds.
    word: str = ""
    priority: int | None = None
    priority_min: int | None = None
    priority_max: int | None = None
    assignee: str = ""
    unassigned: bool = False
    labels: Sequence[str] = ()
    any_label: Sequence[str] = ()
    no_label_of: Sequence[str] = ()
    unlabelled: bool = False
    #: Columns and what they hold, whatever the case.
    holds: Sequence[tuple[TextColumn, str]] = ()
    spec_prefix: str = ""
    external_ref: str = ""
    #: Its children, or all that descends from it.
    parent: str = ""
    ancestor: str = ""
    top_level: bool = False
    spans: Sequence[Span] = ()
    overdue: bool = False
    deferred: bool = False
    metadata: Sequence[tuple[str, str]] = ()
    metadata_key: str = ""
    #: Only what could be worked on now; `include_deferred` overlooks a date that is still ahead.
    ready: bool = False
    include_deferred: bool = False
    order: Order = "priority"
    reverse: bool = False
    limit: int | None = None


def ids_like(queue: SqlQueue, word: str) -> list[str]:
    """The ids that a word may mean: itself, with the prefix before it, or ids that start so."""
    prefixed = f"{queue.prefix}-{word}"
    for exact in (word, prefixed):
        if queue.exists(exact):
            return [exact]
    values = {"bare": word, "prefixed": prefixed}
    return [row[0] for row in queue.db.rows(queue.more("search.sql")["ids_starting"], values)]


def search(queue: SqlQueue, want: Search) -> list[Task]:
    """The tasks that a search finds, in its order."""
    sql = queue.more("search.sql")
    fits = by_hand(want)
    where = Where(queue, want)
    parts = [sql["found"], where.text, f"ORDER BY {_order(queue, want, where.values)}"]
    if want.limit is not None and fits is None:
        parts.append("LIMIT :limit + 0")
        where.values["limit"] = want.limit
    tasks = [task_of(row) for row in queue.db.rows("\n".join(parts), where.values)]
    return tasks if fits is None else [task for task in tasks if fits(task)][: want.limit]


def total(queue: SqlQueue, want: Search) -> int:
    """How many tasks a search would find without its limit."""
    if by_hand(want) is not None:
        return len(search(queue, replace(want, limit=None)))
    where = Where(queue, want)
    counted = f"{queue.more('search.sql')['found_count']}\n{where.text}"
    return int(queue.db.rows(counted, where.values)[0][0])


def _order(queue: SqlQueue, want: Search, values: dict[str, Any]) -> str:
    if want.order == "fifo":
        return "tasks.priority, tasks.created_at, tasks.id"
    if want.order == "oldest":
        return "tasks.created_at, tasks.id"
    if want.order == "hybrid":
        values["recent"] = to_micros(queue.db.now() - _YOUNG)
        return queue.more("search.sql")["by_hybrid"]
    column, downwards = _ORDERS[want.order]
    direction = "DESC" if downwards != want.reverse else "ASC"
    first = f"{column} {direction}"
    if want.order == "closed":
        first = f"CASE WHEN tasks.closed_at IS NULL THEN 1 ELSE 0 END, {first}"
    if want.order == "priority":
        return f"{first}, tasks.created_at DESC, tasks.id"
    return first if want.order == "id" else f"{first}, tasks.id"
