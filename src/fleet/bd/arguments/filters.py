"""The filters of list, ready, search and count: their flags, and the conditions that they mean."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from fleet.bd.arguments import values
from fleet.bd.command import Call
from fleet.bd.pflag import Flag
from fleet.errors import BadInput
from fleet.queue.sql.row_mapping import to_micros
from fleet.queue.sql.tracker.search import Condition, Search, holds
from fleet.schemas import STATUSES, Task

#: The columns of the moments that flags such as --due-before compare.
_MOMENTS = {
    "created": "created_at", "updated": "updated_at", "closed": "closed_at", "due": "due_at",
    "defer": "defer_until",
}  # fmt: skip
LABELS = (
    Flag("label", "list", "l", help="Filter by labels (must have all)"),
    Flag("label-any", "list", help="Filter by labels (must have at least one)"),
    Flag("exclude-label", "list", help="Exclude issues that have any of these labels"),
    Flag("no-labels", "switch", help="Filter issues with no labels"),
    Flag("label-pattern", help="Filter by a label of this form (e.g., 'tech-*')"),
    Flag("label-regex", help="Filter by a label that this regular expression finds"),
)
KINDS = (
    Flag("priority", short="p", help="Filter by priority (0-4 or P0-P4)"),
    Flag("priority-min", help="Filter by minimum priority (inclusive)"),
    Flag("priority-max", help="Filter by maximum priority (inclusive)"),
    Flag("type", short="t", help="Filter by type"),
    Flag("exclude-type", "list", help="Exclude issue types"),
    Flag("assignee", short="a", help="Filter by assignee"),
    Flag("metadata-field", "array", help="Filter by metadata field (key=value, repeatable)"),
    Flag("has-metadata-key", help="Filter issues that have this metadata key set"),
)
FINDING = (
    *KINDS,
    *LABELS,
    Flag("status", short="s", aliases=("state",), help="Filter by status (comma-separated)"),
    Flag("no-assignee", "switch", help="Filter issues with no assignee"),
    Flag("title", help="Filter by title text (case-insensitive)"),
    Flag("title-contains", help="Filter by title text (case-insensitive)"),
    Flag("desc-contains", help="Filter by description text (case-insensitive)"),
    Flag("notes-contains", help="Filter by notes text (case-insensitive)"),
    Flag("id", help="Filter by issue ids (comma-separated)"),
    Flag("spec", help="Filter by the beginning of the spec id"),
    Flag("external-ref", help="Filter by external reference"),
    Flag("external-contains", help="Filter by external reference text (case-insensitive)"),
    Flag("empty-description", "switch", help="Filter issues without a description"),
    Flag("pinned", "switch", help="Show only pinned issues"),
    Flag("no-pinned", "switch", help="Exclude pinned issues"),
    *(
        Flag(f"{what}-{side}", help=f"Filter issues {what} {side} a date")
        for what in _MOMENTS
        for side in ("after", "before")
    ),
    Flag("overdue", "switch", help="Show only issues whose due date is past"),
    Flag("deferred", "switch", help="Show only issues with a defer date"),
)
SORT = (
    Flag("sort", help="Sort by: priority, created, updated, closed, status, id, title, type, ..."),
    Flag("reverse", "switch", "r", help="Reverse sort order"),
)

UNFINISHED = Condition("tasks.status <> 'closed' AND tasks.status <> 'pinned'")

#: What a flag that stands on the line means.
_Meaning = Callable[[Call, str], Iterable[Condition]]


def search_of(call: Call, *, without: Sequence[str] = ()) -> Search:
    """What the filters on the line mean, except for the flags in `without`."""
    flags = [name for name in call.line.values if name in _MEANINGS and name not in without]
    where = tuple(each for name in flags for each in _MEANINGS[name](call, name))
    return Search(where=where, fits=_fits(call))


def without_types(types: Sequence[str]) -> Condition:
    return Condition("tasks.issue_type NOT IN ($)", types)


def types_of(call: Call) -> tuple[str, ...]:
    return tuple(values.issue_type(word) for word in call.line.list("type") if word)


def _if_on(sql: str) -> _Meaning:
    return lambda call, flag: [Condition(sql)] if call.line.switch(flag) else []


def _text(sql: str) -> _Meaning:
    """A condition on the flag's text; an empty text makes no condition."""
    return lambda call, flag: [Condition(sql, (text,)) for text in (call.line.text(flag),) if text]


def _holds(column: str) -> _Meaning:
    return lambda call, flag: [holds(column, text) for text in (call.line.text(flag),) if text]


def _list(sql: str) -> _Meaning:
    """A condition on all values of the flag at once."""
    return lambda call, flag: [Condition(sql, list_) for list_ in (call.line.list(flag),) if list_]


def _priority(sign: str) -> _Meaning:
    return lambda call, flag: [
        Condition(f"tasks.priority {sign} $", (values.priority(call.line.text(flag)),))
    ]


def _moment(column: str, sign: str) -> _Meaning:
    return lambda call, flag: [
        Condition(f"tasks.{column} {sign} $", (to_micros(moment),))
        for moment in (values.moment(call, flag),)
        if moment is not None
    ]


def _types(call: Call, _: str) -> list[Condition]:
    return [Condition("tasks.issue_type IN ($)", types) for types in (types_of(call),) if types]


def _not_types(call: Call, flag: str) -> list[Condition]:
    types = [values.issue_type(word) for word in call.line.list(flag)]
    return [without_types(types)] if types else []


def _statuses(call: Call, flag: str) -> list[Condition]:
    words = [word.strip() for word in call.line.text(flag).split(",") if word.strip()]
    if not words or "all" in words:
        return []
    statuses = [values.status(call, word)[0] for word in words]
    one_of = Condition("tasks.status IN ($)", statuses)
    return [one_of] if "closed" in statuses else [Condition("not_closed"), one_of]


def _ids(call: Call, flag: str) -> list[Condition]:
    text = call.line.text(flag)
    ids = [word.strip() for word in text.split(",")]
    return [Condition("tasks.id IN ($)", ids)] if text else []


_MEANINGS: Mapping[str, _Meaning] = {
    "label": lambda call, flag: [Condition("has_label", (x,)) for x in call.line.list(flag)],
    "label-any": _list("has_label"),
    "exclude-label": _list(
        "NOT EXISTS (SELECT 1 FROM labels l WHERE l.task_id = tasks.id AND l.label IN ($))"
    ),
    "no-labels": _if_on("unlabelled"),
    "priority": _priority("="),
    "priority-min": _priority(">="),
    "priority-max": _priority("<="),
    "type": _types,
    "exclude-type": _not_types,
    "assignee": _text("tasks.assignee = $"),
    "unassigned": _if_on("tasks.assignee = ''"),
    "no-assignee": _if_on("tasks.assignee = ''"),
    "status": _statuses,
    "title": _holds("title"),
    "title-contains": _holds("title"),
    "desc-contains": _holds("description"),
    "notes-contains": _holds("notes"),
    "id": _ids,
    "spec": _text("substr(tasks.spec_id, 1, length(CAST($ AS TEXT))) = $"),
    "external-ref": _text("tasks.external_ref = $"),
    **{
        f"{what}-{side}": _moment(column, sign)
        for what, column in _MOMENTS.items()
        for side, sign in (("after", ">"), ("before", "<"))
    },
    "external-contains": _holds("external_ref"),
    "empty-description": _if_on("tasks.description = ''"),
    "pinned": _if_on("tasks.status = 'pinned'"),
    "no-pinned": _if_on("tasks.status <> 'pinned'"),
    "overdue": _if_on("tasks.due_at < :now AND tasks.status <> 'closed'"),
    "deferred": _if_on("tasks.defer_until IS NOT NULL"),
    "no-parent": _if_on("top_level"),
}


#: A condition on the whole task: the two engines have no common SQL for JSON and for patterns.
_Test = Callable[[Task], bool]


def _fits(call: Call) -> _Test | None:
    """The filters on metadata and on the form of labels; None if the line has none."""
    tests = [*_metadata(call), *_label_forms(call), *_shown_statuses(call)]
    return (lambda task: all(test(task) for test in tests)) if tests else None


def _metadata(call: Call) -> Iterable[_Test]:
    pairs: list[tuple[str, str]] = []
    for word in call.line.list("metadata-field"):
        name, equals, value = word.partition("=")
        if not equals:
            raise BadInput(f'invalid --metadata-field: expected key=value, got "{word}"')
        pairs.append((name, value))
    key = call.line.text("has-metadata-key")
    for name in [*(name for name, _ in pairs), *([key] if key else [])]:
        values.check_metadata_key(name)
    if not pairs and not key:
        return

    def fits(task: Task) -> bool:
        there = {name: _written(value) for name, value in task.metadata.items()}
        same = all(there.get(name) == value for name, value in pairs)
        return same and (not key or key in there)

    yield fits


def _shown_statuses(call: Call) -> Iterable[_Test]:
    """Tells statuses apart that `status.custom` added and that are one in the rows of tasks."""
    words = {word.strip() for word in call.line.text("status").split(",")}
    if words - {"", "all", *STATUSES}:
        yield lambda task: task.shown_status in words


def _label_forms(call: Call) -> Iterable[_Test]:
    """Some label has the form of --label-pattern, and --label-regex finds a part of some label."""
    pattern, regex = call.line.text("label-pattern"), call.line.text("label-regex")
    if pattern:
        glob = pattern.replace("[", "[[]")  # only * and ? are special
        yield lambda task: any(fnmatchcase(label, glob) for label in task.labels)
    if regex:
        try:
            found = re.compile(regex)
        except re.error as error:
            raise BadInput(f'invalid --label-regex "{regex}": {error}') from None
        yield lambda task: any(map(found.search, task.labels))


def _written(value: Any) -> str:
    """A metadata value as a person would write it after `key=`."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
