"""Named values that clients of bd keep in a queue: settings (`bd config`) and values of their own
(`bd kv`), each kind under a prefix in the table `meta`.
"""

from collections.abc import Mapping
from typing import Literal

from fleet.queue.sql.sql_queue import SqlQueue
from fleet.schemas import Status

Kind = Literal["config", "kv"]

#: The status in the row of a task whose shown status is one that `status.custom` adds, by the
#: category. None of them is work that a supervisor claims.
BASES: Mapping[str, Status] = {
    "": "hooked",
    "active": "hooked",
    "wip": "hooked",
    "frozen": "deferred",
    "done": "closed",
}


def named_values(queue: SqlQueue, kind: Kind) -> Mapping[str, str]:
    """All values of one kind, by name."""
    prefix = f"{kind}."
    rows = queue.rows("tracker.named_values", {"prefix": prefix})
    return {row[0].removeprefix(prefix): row[1] for row in rows}


def set_value(queue: SqlQueue, kind: Kind, name: str, value: str) -> None:
    queue.rows("set_meta", {"key": f"{kind}.{name}", "value": value})


def clear_value(queue: SqlQueue, kind: Kind, name: str) -> None:
    queue.rows("tracker.delete_named_value", {"key": f"{kind}.{name}"})


def custom_types(queue: SqlQueue) -> tuple[str, ...]:
    """The types of tasks that `types.custom` adds."""
    return _listed(named_values(queue, "config").get("types.custom", ""))


def custom_statuses(queue: SqlQueue) -> Mapping[str, Status]:
    """The statuses that `status.custom` adds, each with the status in the rows of its tasks."""
    words = _listed(named_values(queue, "config").get("status.custom", ""))
    pairs = (word.partition(":") for word in words)
    return {name: BASES[category] for name, _, category in pairs}


def _listed(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())
