"""The filters of list, ready, search and count: their flags, and the Search that they mean."""

from typing import Any

from fleet.bd.arguments import values
from fleet.bd.arguments.natural_time import read_time
from fleet.bd.command import Call, Channel, Failure
from fleet.bd.pflag import Flag
from fleet.queue.sql.tracker.search import Search, Span
from fleet.schemas import STATUSES

LABELS = (
    Flag("label", "list", "l", help="Filter by labels (must have all)"),
    Flag("label-any", "list", help="Filter by labels (must have at least one)"),
    Flag("exclude-label", "list", help="Exclude issues that have any of these labels"),
)
LABEL_SHAPES = (
    Flag("label-pattern", help="Filter by label glob pattern (e.g., 'tech-*')"),
    Flag("label-regex", help="Filter by label regular expression"),
)
METADATA = (
    Flag("metadata-field", "array", help="Filter by metadata field (key=value, repeatable)"),
    Flag("has-metadata-key", help="Filter issues that have this metadata key set"),
)
WHO = (
    Flag("assignee", short="a", help="Filter by assignee"),
    Flag("no-assignee", "switch", help="Filter issues with no assignee"),
    Flag("no-labels", "switch", help="Filter issues with no labels"),
    Flag("empty-description", "switch", help="Filter issues with empty description"),
    Flag("desc-contains", help="Filter by description substring (case-insensitive)"),
    Flag("notes-contains", help="Filter by notes substring (case-insensitive)"),
)
DATES = tuple(
    Flag(f"{what}-{side}", help=f"Filter issues {what} {side} a date")
    for what in ("created", "updated", "closed")
    for side in ("after", "before")
)
STATUS = Flag("status", short="s", aliases=("state",), help="Filter by status (comma-separated)")
TYPE = Flag("type", short="t", help="Filter by type")
SORT = (
    Flag("sort", help="Sort by: priority, created, updated, closed, status, id, title, type, ..."),
    Flag("reverse", "switch", "r", help="Reverse sort order"),
)

#: The first words of the flags of moments, and the columns that they mean.
_SPANS: tuple[tuple[str, Any], ...] = (
    ("created", "created_at"), ("updated", "updated_at"), ("closed", "closed_at"),
    ("due", "due_at"), ("defer", "defer_until"),
)  # fmt: skip
_HOLDS: tuple[tuple[str, Any], ...] = (
    ("title", "title"), ("title-contains", "title"), ("desc-contains", "description"),
    ("notes-contains", "notes"), ("external-contains", "external_ref"),
)  # fmt: skip


def search_of(call: Call, *, channel: Channel) -> Search:
    """What the filters on the line mean. A flag that the command does not have is never there."""
    line = call.line
    ids = line.text("id")
    return Search(
        statuses=_statuses(call, channel),
        types=tuple(values.issue_type(word) for word in line.list("type") if word),
        not_types=tuple(values.issue_type(word) for word in line.list("exclude-type")),
        ids=tuple(word.strip() for word in ids.split(",") if word.strip()) if ids else None,
        priority=_priority(call, "priority", channel),
        priority_min=_priority(call, "priority-min", channel),
        priority_max=_priority(call, "priority-max", channel),
        assignee=line.text("assignee"),
        unassigned=line.switch("no-assignee") or line.switch("unassigned"),
        labels=line.list("label"),
        any_label=line.list("label-any"),
        no_label_of=line.list("exclude-label"),
        unlabelled=line.switch("no-labels"),
        label_pattern=line.text("label-pattern"),
        label_regex=line.text("label-regex"),
        holds=tuple((column, line.text(flag)) for flag, column in _HOLDS if line.text(flag)),
        spec_prefix=line.text("spec"),
        external_ref=line.text("external-ref"),
        undescribed=line.switch("empty-description"),
        top_level=line.switch("no-parent"),
        spans=_spans(call, channel),
        overdue=line.switch("overdue"),
        deferred=line.switch("deferred"),
        metadata=_metadata(call),
        metadata_key=_metadata_key(call),
    )


def _statuses(call: Call, channel: Channel) -> tuple[str, ...]:
    words = tuple(word.strip() for word in call.line.text("status").split(",") if word.strip())
    if "all" in words:
        return ()
    for word in words:
        if values.status(word) is None and call.verb != "count":
            raise Failure(
                f'invalid status "{word}" (valid: {", ".join(STATUSES)})', channel=channel
            )
    return words


def _priority(call: Call, flag: str, channel: Channel) -> int | None:
    found = call.line.values.get(flag)
    if found is None or isinstance(found, int):  # some commands take a plain number
        return found
    named = "" if flag == "priority" else flag
    return values.priority(str(found), channel=channel, flag=named)


def _spans(call: Call, channel: Channel) -> tuple[Span, ...]:
    spans: list[Span] = []
    for what, column in _SPANS:
        for side, sign in (("after", ">"), ("before", "<")):
            flag = f"{what}-{side}"
            text = call.line.text(flag)
            if not text:
                continue
            moment = read_time(text, call.now)
            if moment is None:
                raise Failure(
                    f'parsing --{flag}: cannot parse time expression: "{text}"'
                    " (examples: +6h, tomorrow, 2025-01-15)",
                    channel=channel,
                )
            spans.append((column, sign, moment))
    return tuple(spans)


def _metadata(call: Call) -> tuple[tuple[str, str], ...]:
    pairs: list[tuple[str, str]] = []
    for word in call.line.list("metadata-field"):
        key, equals, value = word.partition("=")
        if not equals:
            raise Failure(f'invalid --metadata-field: expected key=value, got "{word}"')
        if wrong := values.bad_key(key):
            raise Failure(f"invalid --metadata-field: {wrong}")
        pairs.append((key, value))
    return tuple(pairs)


def _metadata_key(call: Call) -> str:
    key = call.line.text("has-metadata-key")
    if key and (wrong := values.bad_key(key)):
        raise Failure(f"invalid --has-metadata-key: {wrong}")
    return key


def row_cap(call: Call) -> int | None:
    """How many rows are too many, as --max-rows or the environment says."""
    text = call.env.get("BEADS_MAX_ROWS", "")
    cap = call.line.number("max-rows", int(text) if text.isdecimal() else 0)
    return cap if cap > 0 else None


def too_many(cap: int) -> Failure:
    return Failure(
        f"too many rows: {cap + 1} found, --max-rows={cap} exceeded.\n"
        "       Refine the query (add filters, set --limit), or raise the cap with\n"
        "       --max-rows N or BEADS_MAX_ROWS=N.",
        channel="err",
        code=2,
    )
