"""Finding tasks by more than their id: parts of ids, and the filters of `bd list` and `ready`."""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from typing import Any, Literal

from msgspec import Struct

from fleet.errors import BadInput
from fleet.queue.sql import SqlQueue
from fleet.queue.sql.rows import task_of, to_micros
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

Span = tuple[Literal["created_at", "updated_at", "closed_at", "due_at", "defer_until"], str, datetime]  # fmt: skip  # noqa: E501
TextColumn = Literal["title", "description", "notes", "external_ref", "spec_id"]


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
    label_pattern: str = ""
    label_regex: str = ""
    #: Columns and what they hold, whatever the case.
    holds: Sequence[tuple[TextColumn, str]] = ()
    spec_prefix: str = ""
    external_ref: str = ""
    undescribed: bool = False
    #: Its children, or all that descends from it.
    parent: str = ""
    ancestor: str = ""
    top_level: bool = False
    #: (column, "<" or ">", moment)
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
    prefix = queue.db.rows(queue.sql["meta"], {"key": "prefix"})[0][0]
    for exact in (word, f"{prefix}-{word}"):
        if queue.db.rows(queue.sql["exists"], {"id": exact}):
            return [exact]
    values = {"bare": word, "prefixed": f"{prefix}-{word}"}
    return [row[0] for row in queue.db.rows(queue.more("search.sql")["ids_starting"], values)]


def search(queue: SqlQueue, want: Search) -> list[Task]:
    """The tasks that a search finds, in its order."""
    sql = queue.more("search.sql")
    fits = _by_hand(want)
    where = Where(queue, want)
    parts = [sql["found"], where.text, f"ORDER BY {_order(queue, want, where.values)}"]
    if want.limit is not None and fits is None:
        parts.append("LIMIT :limit + 0")
        where.values["limit"] = want.limit
    tasks = [task_of(row) for row in queue.db.rows("\n".join(parts), where.values)]
    return tasks if fits is None else [task for task in tasks if fits(task)][: want.limit]


def total(queue: SqlQueue, want: Search) -> int:
    """How many tasks a search would find without its limit."""
    if _by_hand(want) is not None:
        return len(search(queue, _without_limit(want)))
    where = Where(queue, want)
    counted = f"{queue.more('search.sql')['found_count']}\n{where.text}"
    return int(queue.db.rows(counted, where.values)[0][0])


def _without_limit(want: Search) -> Search:
    from msgspec.structs import replace

    return replace(want, limit=None)


class Where:
    """The WHERE clause of a search, and the values that it names."""

    def __init__(self, queue: SqlQueue, want: Search) -> None:
        self._sql = queue.more("search.sql")
        self._parts: list[str] = []
        self.values: dict[str, Any] = {}
        if want.ready or want.overdue:
            self.values["now"] = to_micros(queue.db.now())
        self._ready(want)
        self._columns(want)
        self._texts(want)
        self._labels(want)
        self._family(want)
        self._moments(want)

    @property
    def text(self) -> str:
        return f"WHERE {' AND '.join(f'({part})' for part in self._parts)}" if self._parts else ""

    def _ready(self, want: Search) -> None:
        if want.ready:
            self.add("open_work" if want.include_deferred else "due_work")
            self.add("unblocked")
            if not want.types:
                self.add("work_types")

    def _columns(self, want: Search) -> None:
        self._one_of("tasks.status", want.statuses)
        self._one_of("tasks.status", want.not_statuses, "NOT IN")
        self._one_of("tasks.issue_type", want.types)
        self._one_of("tasks.issue_type", want.not_types, "NOT IN")
        if want.ids is not None:
            self._one_of("tasks.id", want.ids or ("",))
        for sign, bound in (
            ("=", want.priority), (">=", want.priority_min), ("<=", want.priority_max),
        ):  # fmt: skip
            if bound is not None:
                self._compare("tasks.priority", sign, bound)
        if want.assignee:
            self._compare("tasks.assignee", "=", want.assignee)
        if want.unassigned:
            self.add("unassigned")
        if want.external_ref:
            self._compare("tasks.external_ref", "=", want.external_ref)

    def _texts(self, want: Search) -> None:
        for column, text in want.holds:
            if text:
                self._parts.append(self._holds(column, text))
        if want.word:
            self._parts.append(f"{self._holds('title', want.word)}"
                               f" OR {self._holds('id', want.word)}")  # fmt: skip
        if want.spec_prefix:
            self.add("starts_with", want.spec_prefix, column="spec_id")
        if want.undescribed:
            self.add("undescribed")

    def _labels(self, want: Search) -> None:
        for label in want.labels:
            self.add("has_label", label)
        for name, labels in (
            ("has_any_label", want.any_label), ("has_no_label_of", want.no_label_of),
        ):  # fmt: skip
            if labels:
                names = ", ".join(f":{self._value(label)}" for label in labels)
                self._parts.append(self._sql[name].replace("$", names))
        if want.unlabelled:
            self.add("unlabelled")

    def _family(self, want: Search) -> None:
        if want.parent:
            self.add("child_of", want.parent)
        if want.ancestor:
            self.add("below", want.ancestor)
        if want.top_level:
            self.add("top_level")

    def _moments(self, want: Search) -> None:
        for column, sign, moment in want.spans:
            self._compare(f"tasks.{column}", sign, to_micros(moment))
        if want.overdue:
            self.add("overdue")
        if want.deferred:
            self.add("deferred")

    def add(self, name: str, value: object = None, *, column: str = "") -> None:
        text = self._sql[name].replace("%", column) if column else self._sql[name]
        self._parts.append(text if value is None else text.replace("$", self._value(value)))

    def _holds(self, column: str, text: str) -> str:
        pattern = re.sub(r"([!%_])", r"!\1", text)
        named = self._value(f"%{pattern}%")
        return self._sql["holds_text"].replace("%", column, 1).replace("$", named)

    def _compare(self, column: str, sign: str, value: object) -> None:
        self._parts.append(f"{column} {sign} :{self._value(value)}")

    def _one_of(self, column: str, items: Sequence[str], sign: str = "IN") -> None:
        if items:
            names = ", ".join(f":{self._value(item)}" for item in items)
            self._parts.append(f"{column} {sign} ({names})")

    def _value(self, value: object) -> str:
        name = f"v{len(self.values)}"
        self.values[name] = value
        return name


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


def _by_hand(want: Search) -> Callable[[Task], bool] | None:
    """What the two engines would each say in their own way is looked at here, row by row."""
    if not (want.metadata or want.metadata_key or want.label_pattern or want.label_regex):
        return None
    try:
        regex = re.compile(want.label_regex) if want.label_regex else None
    except re.error as error:
        raise BadInput(f"the given regular expression is invalid: {error}") from None

    def fits(task: Task) -> bool:
        return (
            all(key in task.metadata and _shown(task.metadata[key]) == value
                for key, value in want.metadata)
            and (not want.metadata_key or want.metadata_key in task.metadata)
            and (not want.label_pattern
                 or any(fnmatchcase(label, want.label_pattern) for label in task.labels))
            and (regex is None or any(regex.search(label) for label in task.labels))
        )  # fmt: skip

    return fits


def _shown(value: object) -> str:
    """A metadata value as a person would write it after `key=`."""
    if isinstance(value, str):
        return value
    from msgspec import json

    return json.encode(value).decode()
