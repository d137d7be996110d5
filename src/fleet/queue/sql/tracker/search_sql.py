"""From a Search to SQL: its conditions, and those that each engine would word in its own way."""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from fleet.queue.sql.row_mapping import to_micros
from fleet.queue.sql.sql_queue import SqlQueue
from fleet.schemas import Task

if TYPE_CHECKING:
    from fleet.queue.sql.tracker.search import Search


class Where:
    """The WHERE clause of a search, and the values that it names."""

    def __init__(self, queue: SqlQueue, want: "Search") -> None:
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

    def _ready(self, want: "Search") -> None:
        if want.ready:
            self.add("open_work" if want.include_deferred else "due_work")
            self.add("unblocked")
            if not want.types:
                self.add("work_types")

    def _columns(self, want: "Search") -> None:
        self._one_of("tasks.status", want.statuses)
        self._one_of("tasks.status", want.not_statuses, "NOT IN")
        self._one_of("tasks.issue_type", want.types)
        self._one_of("tasks.issue_type", want.not_types, "NOT IN")
        if want.ids is not None:
            self._one_of("tasks.id", want.ids or ("",))
        bounds = {"=": want.priority, ">=": want.priority_min, "<=": want.priority_max}
        for sign, bound in bounds.items():
            if bound is not None:
                self._compare("tasks.priority", sign, bound)
        if want.assignee:
            self._compare("tasks.assignee", "=", want.assignee)
        if want.unassigned:
            self.add("unassigned")
        if want.external_ref:
            self._compare("tasks.external_ref", "=", want.external_ref)

    def _texts(self, want: "Search") -> None:
        for column, text in want.holds:
            if text:
                self._parts.append(self._holds(column, text))
        if want.word:
            either = (self._holds("title", want.word), self._holds("id", want.word))
            self._parts.append(" OR ".join(either))
        if want.spec_prefix:
            self.add("starts_with", want.spec_prefix, column="spec_id")

    def _labels(self, want: "Search") -> None:
        for label in want.labels:
            self.add("has_label", label)
        several = {"has_any_label": want.any_label, "has_no_label_of": want.no_label_of}
        for name, labels in several.items():
            if labels:
                names = ", ".join(f":{self._value(label)}" for label in labels)
                self._parts.append(self._sql[name].replace("$", names))
        if want.unlabelled:
            self.add("unlabelled")

    def _family(self, want: "Search") -> None:
        if want.parent:
            self.add("child_of", want.parent)
        if want.ancestor:
            self.add("below", want.ancestor)
        if want.top_level:
            self.add("top_level")

    def _moments(self, want: "Search") -> None:
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


def by_hand(want: "Search") -> Callable[[Task], bool] | None:
    """A filter on metadata, in Python: the two engines have no common SQL for JSON."""
    if not (want.metadata or want.metadata_key):
        return None

    def fits(task: Task) -> bool:
        if any(_shown(task, key) != value for key, value in want.metadata):
            return False
        return not want.metadata_key or want.metadata_key in task.metadata

    return fits


def _shown(task: Task, key: str) -> str | None:
    """A metadata value as a person would write it after `key=`; None if there is none."""
    if key not in task.metadata:
        return None
    value = task.metadata[key]
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
