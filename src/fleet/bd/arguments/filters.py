"""The filters of list, ready, search and count: their flags, and the Search that they mean."""

from typing import Any

from fleet.bd.arguments import values
from fleet.bd.command import Call, Failure
from fleet.bd.pflag import Flag
from fleet.queue.sql.tracker.search import Search, Span

LABELS = (
    Flag("label", "list", "l", help="Filter by labels (must have all)"),
    Flag("label-any", "list", help="Filter by labels (must have at least one)"),
    Flag("exclude-label", "list", help="Exclude issues that have any of these labels"),
    Flag("no-labels", "switch", help="Filter issues with no labels"),
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
    *(
        Flag(f"{what}-{side}", help=f"Filter issues {what} {side} a date")
        for what in ("created", "updated", "closed", "due")
        for side in ("after", "before")
    ),
    Flag("overdue", "switch", help="Show only issues whose due date is past"),
    Flag("deferred", "switch", help="Show only issues with a defer date"),
)
SORT = (
    Flag("sort", help="Sort by: priority, created, updated, closed, status, id, title, type, ..."),
    Flag("reverse", "switch", "r", help="Reverse sort order"),
)

#: The first words of the flags of moments, and the columns that they mean.
_SPANS: tuple[tuple[str, Any], ...] = (
    ("created", "created_at"), ("updated", "updated_at"), ("closed", "closed_at"),
    ("due", "due_at"),
)  # fmt: skip
_HOLDS: tuple[tuple[str, Any], ...] = (
    ("title", "title"), ("title-contains", "title"), ("desc-contains", "description"),
    ("notes-contains", "notes"),
)  # fmt: skip


def search_of(call: Call) -> Search:
    """What the filters on the line mean. A flag that the command does not have is never there."""
    line = call.line
    ids = line.text("id")
    return Search(
        statuses=_statuses(call),
        types=tuple(values.issue_type(word) for word in line.list("type") if word),
        not_types=tuple(values.issue_type(word) for word in line.list("exclude-type")),
        ids=tuple(word.strip() for word in ids.split(",") if word.strip()) if ids else None,
        priority=_priority(call, "priority"),
        priority_min=_priority(call, "priority-min"),
        priority_max=_priority(call, "priority-max"),
        assignee=line.text("assignee"),
        unassigned=line.switch("no-assignee") or line.switch("unassigned"),
        labels=line.list("label"),
        any_label=line.list("label-any"),
        no_label_of=line.list("exclude-label"),
        unlabelled=line.switch("no-labels"),
        holds=tuple((column, line.text(flag)) for flag, column in _HOLDS if line.text(flag)),
        spec_prefix=line.text("spec"),
        external_ref=line.text("external-ref"),
        top_level=line.switch("no-parent"),
        spans=_spans(call),
        overdue=line.switch("overdue"),
        deferred=line.switch("deferred"),
        metadata=_metadata(call),
        metadata_key=_metadata_key(call),
    )


def _statuses(call: Call) -> tuple[str, ...]:
    words = [word.strip() for word in call.line.text("status").split(",") if word.strip()]
    return () if "all" in words else tuple(values.status(word) for word in words)


def _priority(call: Call, flag: str) -> int | None:
    return values.priority(call.line.text(flag)) if call.line.has(flag) else None


def _spans(call: Call) -> tuple[Span, ...]:
    spans: list[Span] = []
    for what, column in _SPANS:
        for side, sign in (("after", ">"), ("before", "<")):
            if (moment := values.moment(call, f"{what}-{side}")) is not None:
                spans.append((column, sign, moment))
    return tuple(spans)


def _metadata(call: Call) -> tuple[tuple[str, str], ...]:
    pairs: list[tuple[str, str]] = []
    for word in call.line.list("metadata-field"):
        key, equals, value = word.partition("=")
        if not equals:
            raise Failure(f'invalid --metadata-field: expected key=value, got "{word}"')
        values.check_metadata_key(key)
        pairs.append((key, value))
    return tuple(pairs)


def _metadata_key(call: Call) -> str:
    key = call.line.text("has-metadata-key")
    if key:
        values.check_metadata_key(key)
    return key
