"""`bd list`: tasks by their properties, as rows, lines, trees or graphs."""

from collections.abc import Sequence

from msgspec.structs import replace

from fleet.bd.arguments import filters, values
from fleet.bd.command import Call, Failure, Verb
from fleet.bd.output import lines
from fleet.bd.output.dot_graph import draw
from fleet.bd.output.json_shapes import Shape, brief
from fleet.bd.output.list_rows import counted, flat_lines, parents
from fleet.bd.pflag import Flag
from fleet.queue.sql.tracker.search import Order, Search, search
from fleet.schemas import Task

#: Types of machinery that a plain list leaves out.
_INFRASTRUCTURE = ("agent", "role", "rig", "message")
ORDERS: tuple[Order, ...] = (
    "priority", "created", "updated", "closed", "status", "id", "title", "type", "assignee",
)  # fmt: skip
_SOME = 50


def _list(call: Call) -> int:
    line = call.line
    if call.words:
        raise Failure(
            "bd list does not accept positional arguments; use flags instead (see bd list --help)",
            channel="err",
        )
    call.lacks("watch", "offset", "deps", "mol-type", "wisp-type")
    if line.switch("skip-labels") and _label_flags(call):
        return _refuse_skip_labels(call)
    want = _wanted(call)
    limit = line.number("limit", _SOME if call.for_a_person else 0)
    tasks, cut = _found(call, want, limit if limit > 0 else None)
    if call.json:
        _put(call, tasks)
    elif line.has("format"):
        draw(call, tasks)
    elif line.switch("flat") and line.switch("long"):
        call.say(f"\nFound {len(tasks)} issues:\n")
        for task in tasks:
            call.say(f"{lines.long(task)}\n")
    elif line.switch("flat"):
        for text in flat_lines(call.queue, tasks):
            call.say(text)
    else:
        _say_tree(call, tasks, cut=cut)
    return 0


def _wanted(call: Call) -> Search:
    line = call.line
    want = filters.search_of(call, channel="err")
    for kind in want.types:
        if kind not in values.TYPES:
            raise Failure(
                f'invalid issue type "{line.text("type")}"'
                " (valid: bug, feature, task, epic, chore, decision)",
                channel="err",
            )
    parent = line.text("parent")
    want = replace(want, not_types=(*want.not_types, *_hidden_types(call)))
    if line.switch("ready"):
        return replace(want, ready=True, statuses=(), parent=parent, order="fifo")
    if line.switch("pinned"):
        want = replace(want, statuses=("pinned",))
    if not want.statuses and not line.switch("all") and not line.has("status"):
        want = replace(want, not_statuses=("closed", "pinned"))
    return replace(want, parent=parent, order=_order(call), reverse=line.switch("reverse"))


def _hidden_types(call: Call) -> tuple[str, ...]:
    gates = call.line.switch("include-gates") or call.line.text("type") == "gate"
    machinery = () if call.line.switch("include-infra") else _INFRASTRUCTURE
    return machinery if gates else ("gate", *machinery)


def _order(call: Call) -> Order:
    name = call.line.text("sort") or "priority"
    for order in ORDERS:
        if order == name:
            return order
    raise Failure(f'invalid sort field "{name}" (valid: {", ".join(ORDERS)})', channel="err")


def _found(call: Call, want: Search, limit: int | None) -> tuple[list[Task], bool]:
    """The tasks, and whether there are more than the limit lets through."""
    cap = filters.row_cap(call)
    bound = min(limit + 1 if limit else cap + 1, cap + 1) if cap else limit and limit + 1
    tasks = search(call.queue, replace(want, limit=bound))
    if cap and len(tasks) > cap and not (limit and limit <= cap):
        raise filters.too_many(cap)
    if limit is None or len(tasks) <= limit:
        return tasks, False
    return tasks[:limit], True


def _put(call: Call, tasks: Sequence[Task]) -> None:
    rows = counted(call.queue, tasks)
    if call.line.switch("brief"):
        rows = [brief(row) for row in rows]
    if call.line.switch("skip-labels"):
        bare: list[Shape] = [{**row, "labels": []} for row in rows]
        call.put({"issues": bare, "meta": {"skip_labels": True, "count": len(bare)}})
    else:
        call.put(rows)


def _say_tree(call: Call, tasks: list[Task], *, cut: bool) -> None:
    parent = call.line.text("parent")
    if parent:
        tasks = _with_family(call, tasks, parent)
    if not tasks:
        call.say("No issues found.")
        return
    if not call.line.has("sort"):
        tasks = sorted(tasks, key=lambda task: (task.priority, task.id))
    for text in lines.tree(tasks, parents(call.queue, tasks)):
        call.say(text)
    if call.line.switch("ready"):
        total = (
            f"Ready: {len(tasks)} issues with no active blockers"
            " (open only — --ready excludes in_progress)"
        )
    else:
        total = lines.total(tasks, cut=cut)
    call.say(f"\n{lines.RULE}\n{total}\n\n{lines.LEGEND}")


def _with_family(call: Call, children: Sequence[Task], parent: str) -> list[Task]:
    """A tree under a parent shows the parent itself and all that descends from it."""
    found = call.queue.db.rows(call.queue.sql["exists"], {"id": parent})
    if not found:
        raise Failure(f"error checking parent issue: not found: issue {parent}", channel="err")
    want = replace(_wanted(call), parent="", ancestor=parent)
    family = {task.id: task for task in (*children, *search(call.queue, want))}
    return [call.queue.get(parent), *family.values()]


def _label_flags(call: Call) -> list[str]:
    names = ("label", "label-any", "label-pattern", "label-regex", "exclude-label", "no-labels")
    return [f"--{name}" for name in names if call.line.has(name)]


def _refuse_skip_labels(call: Call) -> int:
    call.warn(
        "error: --skip-labels cannot be combined with --label,\n"
        "       --label-any, --label-pattern, --label-regex,\n"
        "       --exclude-label, or --no-labels (the filter).\n"
        f"       (got: --skip-labels {' '.join(_label_flags(call))})\n"
        "reason: without labels there is nothing that those filters could look at.\n\n"
        "To filter by labels: drop --skip-labels.\n"
        "To get a label-free result fast: drop --label flags."
    )
    return 2


LIST = Verb(
    run=_list,
    usage="bd list [flags]",
    about="List issues",
    channel="err",
    flags=(
        Flag("all", "switch", help="Show all issues including closed"),
        filters.STATUS,
        Flag("priority", short="p", help="Filter by priority (0-4 or P0-P4)"),
        Flag("priority-min", help="Filter by minimum priority (inclusive)"),
        Flag("priority-max", help="Filter by maximum priority (inclusive)"),
        filters.TYPE,
        Flag("exclude-type", "list", help="Exclude issue types"),
        *filters.WHO,
        *filters.LABELS,
        *filters.LABEL_SHAPES,
        *filters.METADATA,
        *filters.DATES,
        Flag("title", help="Filter by title text (case-insensitive)"),
        Flag("title-contains", help="Filter by title text (case-insensitive)"),
        Flag("id", help="Filter by issue ids (comma-separated)"),
        Flag("spec", help="Filter by the beginning of the spec id"),
        Flag("external-ref", help="Filter by external reference"),
        Flag("external-contains", help="Filter by external reference substring"),
        Flag("parent", aliases=("filter-parent",), help="Show children of this issue"),
        Flag("no-parent", "switch", help="Show only top-level issues"),
        Flag("due-after", help="Filter issues due after a date"),
        Flag("due-before", help="Filter issues due before a date"),
        Flag("defer-after", help="Filter issues deferred until after a date"),
        Flag("defer-before", help="Filter issues deferred until before a date"),
        Flag("deferred", "switch", help="Show only issues with a defer date"),
        Flag("overdue", "switch", help="Show only issues whose due date is past"),
        Flag("pinned", "switch", help="Show only pinned issues"),
        Flag("no-pinned", "switch", help="Exclude pinned issues"),
        Flag("ready", "switch", help="Show only ready issues, as bd ready does"),
        Flag("include-gates", "switch", help="Include gate issues"),
        Flag("include-infra", "switch", help="Include agents, roles and messages"),
        Flag("include-templates", "switch", help="Accepted for compatibility"),
        *filters.SORT,
        Flag("limit", "number", "n", help="Limit results (0: no limit; default 50 on a terminal)"),
        Flag("max-rows", "number", help="Fail with exit code 2 when there are more rows"),
        Flag("brief", "switch", help="Leave out the long texts in JSON"),
        Flag("skip-labels", "switch", help="Leave out the labels in JSON"),
        Flag("flat", "switch", help="A line for each issue instead of a tree"),
        Flag("tree", "switch", help="A tree (the default)"),
        Flag("pretty", "switch", help="A tree (the default)"),
        Flag("long", "switch", help="With --flat: several lines for each issue"),
        Flag("format", help="json, dot or digraph"),
        Flag("no-pager", "switch", help="Accepted for compatibility"),
        Flag("watch", "switch", "w", help="Not on this queue"),
        Flag("offset", "number", help="Not on this queue"),
        Flag("deps", "switch", help="Not on this queue"),
        Flag("mol-type", help="Not on this queue"),
        Flag("wisp-type", help="Not on this queue"),
    ),
)
