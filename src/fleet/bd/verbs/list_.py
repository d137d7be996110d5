"""Which tasks there are, and how many: `bd list`, `search`, `children`, `human list`; `count`,
`stats` and `epic status`.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta

from msgspec.structs import replace

from fleet.bd.arguments import filters, values
from fleet.bd.command import Call, Reply, Verb
from fleet.bd.output import lines
from fleet.bd.output.json_shapes import Shape, brief, issue, parent_of, with_counts
from fleet.bd.pflag import Flag, ignored
from fleet.errors import BadInput
from fleet.queue.sql.dependencies import epics
from fleet.queue.sql.row_mapping import to_micros
from fleet.queue.sql.sql_queue import SqlQueue
from fleet.queue.sql.tracker.related import Tally, edges_from, tallies
from fleet.queue.sql.tracker.search import (
    READY_WORK,
    WORK_TYPES,
    Condition,
    CountGroup,
    Search,
    SortOrder,
    figures,
    grouped,
    holds,
    search,
    total,
)
from fleet.schemas import Task

#: Types of machinery that a plain list leaves out, by the flag that includes them.
_HIDDEN: Mapping[str, Sequence[str]] = {
    "include-infra": ("agent", "role", "rig", "message"),
    "include-gates": ("gate",),
}
_ORDERS: tuple[SortOrder, ...] = (
    "priority", "created", "updated", "closed", "status", "id", "title", "type", "assignee",
)  # fmt: skip
_SOME = 50
_MAY_BE_STALE = ("open", "in_progress", "blocked", "deferred")
_GROUPS: Mapping[str, CountGroup] = {
    "by-status": "status",
    "by-priority": "priority",
    "by-type": "issue_type",
    "by-assignee": "assignee",
    "by-label": "label",
}


def counted(queue: SqlQueue, tasks: Sequence[Task], *, edges: bool = True) -> list[Shape]:
    """Rows with their counts, and with their raw edges where bd shows them."""
    ids = [task.id for task in tasks]
    below = edges_from(queue, ids if edges else ())
    counts = tallies(queue, ids)
    return [
        with_counts(task, below.get(task.id, ()), counts.get(task.id, Tally())) for task in tasks
    ]


def _list(call: Call) -> Reply:
    if call.words:
        raise BadInput("bd list takes no words, only flags: see bd list --help")
    label_flags = [f"--{flag.name}" for flag in filters.LABELS if call.line.has(flag.name)]
    if call.line.switch("skip-labels") and label_flags:
        call.warn(f"Error: --skip-labels cannot be combined with {', '.join(label_flags)}")
        return Reply(code=2)
    return _listed(call, _wanted(call))


def _listed(call: Call, want: Search, *, root: Task | None = None) -> Reply:
    """The tasks of a search as the line asks for them; `root` stands on top of a tree."""
    limit = call.line.number("limit", _SOME if call.out.isatty() else 0)
    tasks = search(call.queue, replace(want, limit=limit + 1 if limit > 0 else None))
    cut = 0 < limit < len(tasks)
    tasks = tasks[:limit] if cut else tasks
    if refusal := refuse_many(call, tasks):
        return refusal
    if call.json:
        return Reply(value=_shapes(call, tasks))
    if call.line.switch("skip-labels"):
        tasks = [replace(task, labels=()) for task in tasks]
    if call.line.switch("pretty") or call.line.switch("tree"):
        shown = [*([root] if root else []), *tasks]
        edges = edges_from(call.queue, [task.id for task in shown])
        parents = {id_: parent_of(below) for id_, below in edges.items()}
        text = lines.tree(shown, parents, "No issues found.", states=call.states(shown))
        return Reply(text=text)
    more = "; more match: --limit 0 shows all" if cut else ""
    states = call.states(tasks)
    return Reply(text=lines.rows(tasks, "No issues found.", more, states=states))


def _shapes(call: Call, tasks: Sequence[Task]) -> list[Shape] | Shape:
    shapes = counted(call.queue, tasks)
    if call.line.switch("brief"):
        shapes = [brief(row) for row in shapes]
    if not call.line.switch("skip-labels"):
        return shapes
    rows: list[Shape] = [{**row, "labels": []} for row in shapes]
    return {"issues": rows, "meta": {"skip_labels": True, "count": len(rows)}}


def refuse_many(call: Call, found: Sequence[object]) -> Reply | None:
    """The refusal of a result beyond --max-rows or $BEADS_MAX_ROWS, for scripts that want one."""
    written = call.env.get("BEADS_MAX_ROWS", "")
    most = call.line.number("max-rows", int(written) if written.isdecimal() else 0)
    if not 0 < most < len(found):
        return None
    call.warn(
        f"Error: too many rows: {len(found)} found, --max-rows={most} exceeded.\n"
        "Refine the query (add filters, set --limit), or raise --max-rows or BEADS_MAX_ROWS."
    )
    return Reply(code=2)


def _wanted(call: Call) -> Search:
    line = call.line
    ready = line.switch("ready")
    want = filters.search_of(call, without=("status",) if ready else ())
    types = filters.types_of(call)
    for kind in types:
        values.known_type(call.queue, kind)
    shown = {*types, *(kind for flag in _HIDDEN if line.switch(flag) for kind in _HIDDEN[flag])}
    hidden = [kind for kinds in _HIDDEN.values() for kind in kinds if kind not in shown]
    where = [*want.where, *_children_of(line.text("parent"))]
    where += [filters.without_types(hidden)] if hidden else []
    if ready:
        where += READY_WORK if types else (*READY_WORK, WORK_TYPES)
        return replace(want, where=tuple(where), order="fifo")
    if not any(map(line.switch, ("all", "pinned"))) and not line.has("status"):
        where.append(filters.UNFINISHED)
    return replace(want, where=tuple(where), order=_order(call), reverse=line.switch("reverse"))


def _children_of(parent: str) -> list[Condition]:
    return [Condition("child_of", (parent,))] if parent else []


def _order(call: Call) -> SortOrder:
    name = call.line.text("sort") or "priority"
    for order in _ORDERS:
        if order == name:
            return order
    raise BadInput(f'invalid sort field "{name}" (valid: {", ".join(_ORDERS)})')


def _children(call: Call) -> Reply:
    (parent,) = values.exactly(call, 1)
    hidden = [kind for kinds in _HIDDEN.values() for kind in kinds]
    where = (filters.without_types(hidden), *_children_of(parent))
    root = call.task(parent) if call.line.switch("pretty") else None
    return _listed(call, Search(where=where), root=root)


def _search(call: Call) -> Reply:
    word = call.line.text("query") or " ".join(call.words)
    if not word:
        raise BadInput("search query is required: bd search <text>")
    limit = call.line.number("limit", _SOME)
    want = filters.search_of(call)
    title, task_id = holds("title", word), holds("id", word)
    either = Condition(f"{title.sql} OR {task_id.sql}", title.values)
    want = replace(
        want,
        where=(*want.where, either),
        order=_order(call),
        reverse=call.line.switch("reverse"),
        limit=limit if limit > 0 else None,
    )
    tasks = search(call.queue, want)
    if call.json:
        return Reply(value=counted(call.queue, tasks, edges=False))
    none = f"No issues found matching '{word}'"
    return Reply(text=lines.rows(tasks, none, states=call.states(tasks)))


def _human_list(call: Call) -> Reply:
    want = filters.search_of(call)
    unfinished = () if call.line.has("status") else (filters.UNFINISHED,)
    where = (*want.where, Condition("has_label", ("human",)), *unfinished)
    tasks = search(call.queue, replace(want, where=where))
    return Reply(
        value=[issue(task) for task in tasks],
        text=lines.rows(tasks, "No issues wait for a person."),
    )


def _stale(call: Call) -> Reply:
    days = call.line.number("days", 30)
    if days < 1:
        raise BadInput("--days must be at least 1")
    status = call.line.text("status")
    if status and status not in _MAY_BE_STALE:
        raise BadInput(f"invalid status '{status}'. Valid values: {', '.join(_MAY_BE_STALE)}")
    statuses = Condition("tasks.status IN ($)", [status] if status else _MAY_BE_STALE[:2])
    before = to_micros(call.now - timedelta(days=days))
    want = filters.search_of(call, without=("status",))
    limit = call.line.number("limit", _SOME)
    want = replace(
        want,
        where=(*want.where, statuses, Condition("tasks.updated_at < $", (before,))),
        order="updated",
        reverse=True,
        limit=limit if limit > 0 else None,
    )
    tasks = search(call.queue, want)
    none = f"No issues without a change for {days} days."
    return Reply(value=[issue(task) for task in tasks], text=lines.rows(tasks, none))


def _count(call: Call) -> Reply:
    asked: list[CountGroup] = [group for flag, group in _GROUPS.items() if call.line.switch(flag)]
    if len(asked) > 1:
        raise BadInput("only one --by-* flag can be specified")
    want = filters.search_of(call)
    every = total(call.queue, want)
    if not asked:
        return Reply(value={"count": every}, text=str(every))
    groups = grouped(call.queue, want, asked[0])
    return Reply(
        value={"total": every, "groups": [{"group": name, "count": n} for name, n in groups]},
        text="\n".join([f"total: {every}", *(f"{name}: {n}" for name, n in groups)]),
    )


def _stats(call: Call) -> Reply:
    whole = not call.line.switch("no-blocked")
    assignee = call.actor if call.line.switch("assigned") else ""
    summary = figures(call.queue, assignee=assignee, blocked_too=whole)
    texts = [f"{name.replace('_', ' ')}: {number}" for name, number in summary.items()]
    skipped = {} if whole else {"blocked_count_skipped": True}
    value = {**skipped, "summary": dict(sorted(summary.items()))}
    return Reply(value=value, text="\n".join(texts))


def _epic_status(call: Call) -> Reply:
    only = call.line.switch("eligible-only")
    found = [epic for epic in epics(call.queue) if epic.eligible or not only]
    shapes = [
        {
            "epic": issue(epic.task),
            "total_children": epic.children,
            "closed_children": epic.closed,
            "eligible_for_close": epic.eligible,
        }
        for epic in found
    ]
    texts = [
        f"{epic.task.id}  {epic.closed}/{epic.children} closed  {epic.task.title}" for epic in found
    ]
    return Reply(value=shapes, text="\n".join(texts) or "No open epics found.")


_TREE = (
    Flag("pretty", "switch", help="Show a tree: children below their parents"),
    Flag("tree", "switch", help="Alias for --pretty"),
    *ignored("flat", "long", "no-pager"),
)
MAX_ROWS = Flag("max-rows", "number", help="Fail with exit code 2 beyond this many issues")
_LIMIT = Flag("limit", "number", "n", help="Limit results (0: no limit)")

LIST = Verb(
    run=_list,
    usage="bd list [flags]",
    about="List issues",
    flags=(
        Flag("all", "switch", help="Show all issues including closed"),
        *filters.FINDING,
        Flag("parent", aliases=("filter-parent",), help="Show children of this issue"),
        Flag("no-parent", "switch", help="Show only top-level issues"),
        Flag("ready", "switch", help="Show only ready issues, as bd ready does"),
        *filters.SORT,
        _LIMIT,
        MAX_ROWS,
        Flag("brief", "switch", help="Leave out the long texts in JSON"),
        Flag("include-infra", "switch", help="Include agents, roles, rigs and messages"),
        Flag("include-gates", "switch", help="Include gates"),
        Flag("skip-labels", "switch", help="Leave out the labels"),
        *ignored("include-templates"),
        *ignored("deps", kind="optional"),
        *_TREE,
    ),
)
CHILDREN = Verb(
    run=_children,
    usage="bd children <parent-id> [flags]",
    about="List the children of an issue, whatever their status",
    flags=(_LIMIT, *_TREE),
)
SEARCH = Verb(
    run=_search,
    usage="bd search [query] [flags]",
    about="Search issues by title and id, closed ones too",
    flags=(
        Flag("query", help="Search query (alternative to positional argument)"),
        *filters.FINDING,
        *filters.SORT,
        _LIMIT,
        *ignored("flat", "long", "no-pager", "pretty", "tree"),
    ),
)
HUMAN_LIST = Verb(
    run=_human_list,
    usage="bd human list [flags]",
    about="List issues labelled 'human': those that wait for a person",
    flags=(Flag("status", short="s", help="Statuses by comma, or 'all'"),),
)
STALE = Verb(
    run=_stale,
    usage="bd stale [flags]",
    about="List issues that were not changed for a while",
    flags=(
        Flag("days", "number", "d", help="Not changed for this many days (default 30)"),
        Flag("status", short="s", help="open, in_progress (the default: both), blocked, deferred"),
        *filters.LABELS,
        _LIMIT,
    ),
)
COUNT = Verb(
    run=_count,
    usage="bd count [flags]",
    about="Count issues matching filters",
    flags=(
        *(Flag(flag, "switch", help=f"Group count by {flag[3:]}") for flag in _GROUPS),
        *filters.FINDING,
        *ignored("include-infra", why="all are counted"),
    ),
)
STATS = Verb(
    run=_stats,
    usage="bd stats [flags]",
    about="Show issue database overview and statistics",
    flags=(
        Flag("all", "switch", help="All issues (the default)"),
        Flag("assigned", "switch", help="Only issues assigned to you"),
        Flag("no-blocked", "switch", help="Leave out what is blocked and ready: quicker"),
        *ignored("no-activity"),
    ),
)
EPIC_STATUS = Verb(
    run=_epic_status,
    usage="bd epic status [flags]",
    about="Show epic completion status",
    flags=(Flag("eligible-only", "switch", help="Show only epics eligible for closure"),),
)
