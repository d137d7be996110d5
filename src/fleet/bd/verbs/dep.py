"""`bd dep`: which task waits for which."""

from collections.abc import Sequence

import msgspec
from msgspec import Struct, field

from fleet.bd.arguments import values
from fleet.bd.command import Call, Reply, Verb
from fleet.bd.output.json_shapes import Shape, dependency, issue, neighbour
from fleet.bd.output.lines import row
from fleet.bd.pflag import Flag, ignored
from fleet.bd.verbs.list_ import MAX_ROWS, refuse_many
from fleet.errors import BadInput, FleetError
from fleet.queue.sql import dependencies
from fleet.queue.sql.dependencies import Node
from fleet.queue.sql.tracker.related import edges_from
from fleet.schemas import STATUSES, Task, typed


def _add(call: Call) -> Reply:
    if call.line.has("file"):
        return _add_from_file(call)
    other = call.line.text("blocked-by") or call.line.text("depends-on")
    words = (*call.words, other) if other else call.words
    if len(words) != 2:
        raise BadInput(f"requires 2 ids, received {len(words)}: bd dep add <issue> <depends-on>")
    kind = values.edge_type(call.line.text("type", "blocks"))
    task, target = _ends(call, words)
    with call.queue.db.writing():
        call.queue.depend(task.id, target.id, kind, by=call.actor)
    ids = {"issue_id": task.id, "depends_on_id": target.id}
    text = f"{task.id} depends on {target.id} ({kind})"
    if kind == "blocks" and task.status == "in_progress" and target.status != "closed":
        call.warn(
            f"Warning: {task.id} is in progress, and its run does not wait for {target.id}."
            f" To end the run: fleet stop {task.id}"
        )
    return call.confirmed(text, {"status": "added", **ids, "type": kind})


class _Line(Struct):
    """A line of `dep add --file`, with the names that bd takes for each end."""

    source: str = field(default="", name="from")
    issue_id: str = ""
    to: str = ""
    depends_on_id: str = ""
    type: str = "blocks"


def _add_from_file(call: Call) -> Reply:
    """Add the edges of a file, all of them or none."""
    if call.words:
        raise BadInput("--file cannot be used with issue IDs on the line")
    rows: list[Shape] = []
    with call.queue.db.writing():
        for number, text in enumerate(
            values.read_text(call, call.line.text("file")).split("\n"), 1
        ):
            if text.strip():
                rows.append(_add_line(call, number, text))
    if not rows:
        raise BadInput("no dependency edges found")
    value = {"status": "added", "count": len(rows), "dependencies": rows}
    return call.confirmed(f"Added {len(rows)} dependencies", value)


def _add_line(call: Call, number: int, text: str) -> Shape:
    try:
        line = typed.decode(text, _Line)
        words = (line.source or line.issue_id, line.to or line.depends_on_id)
        task, target = _ends(call, words)
        kind = values.edge_type(line.type)
        call.queue.depend(task.id, target.id, kind, by=call.actor)
    except msgspec.MsgspecError as error:
        raise BadInput(f"line {number}: {error}") from None
    except FleetError as error:
        raise BadInput(f"line {number}: {error.message}", hint=error.hint) from None
    return {"issue_id": task.id, "depends_on_id": target.id, "type": kind}


def _ends(call: Call, words: Sequence[str]) -> tuple[Task, Task]:
    if words[1].startswith("external:"):
        raise BadInput(
            f"{words[1]} is in another project's tracker, and fleet's queue cannot see there",
            hint="Cross-project dependencies need beads: fleet init --queue beads",
        )
    return call.task(words[0]), call.task(words[1])


def _remove(call: Call) -> Reply:
    task, target = _ends(call, values.exactly(call, 2))
    with call.queue.db.writing():
        dependencies.undepend(call.queue, task.id, target.id)
    ids = {"issue_id": task.id, "depends_on_id": target.id}
    text = f"{task.id} no longer depends on {target.id}"
    return call.confirmed(text, {"status": "removed", **ids})


def _list(call: Call) -> Reply:
    """Of one task the tasks at the other end; of several the edges themselves."""
    up, kind = call.line.text("direction") == "up", call.line.text("type")
    tasks = [call.task(word) for word in values.ids(call)]
    if len(tasks) > 1 and not up:
        below = edges_from(call.queue, [task.id for task in tasks])
        edges = [
            edge for task in tasks for edge in below.get(task.id, ()) if kind in ("", edge.type)
        ]
        texts = [f"{edge.task_id} depends on {edge.depends_on_id} ({edge.type})" for edge in edges]
        return Reply(
            value=list(map(dependency, edges)), text="\n".join(texts) or "No dependencies."
        )
    near = [
        (other, edge)
        for task in tasks
        for other, edge in dependencies.neighbours(call.queue, task.id, "up" if up else "down")
        if kind in ("", edge)
    ]
    return Reply(
        value=[neighbour(task, edge) for task, edge in near],
        text="\n".join(row(task, edge) for task, edge in near)
        or f"{tasks[0].id} has no {'dependents' if up else 'dependencies'}",
    )


def _tree(call: Call) -> Reply:
    (word,) = values.exactly(call, 1)
    reverse = call.line.switch("reverse")
    direction = call.line.text("direction", "up" if reverse else "down")
    if direction not in ("down", "up", "both"):
        raise BadInput("--direction must be 'down', 'up', or 'both'")
    depth = call.line.number("max-depth", 50)
    if depth < 1:
        raise BadInput("--max-depth must be >= 1")
    status = call.line.text("status")
    if status and status not in STATUSES:
        raise BadInput(f"invalid status '{status}'")
    nodes = _nodes(call, direction, call.task(word), depth)
    nodes = _only(nodes, status) if status else nodes
    if refusal := refuse_many(call, nodes):
        return refusal
    return Reply(
        value=[_shape(node) for node in nodes],
        text="\n".join(f"{'  ' * node.depth}{_line(node)}" for node in nodes) or "Nothing found.",
    )


def _line(node: Node) -> str:
    return row(node.task, node.edge) if node.edge else row(node.task)


def _nodes(call: Call, direction: str, root: Task, depth: int) -> list[Node]:
    down = [] if direction == "up" else list(dependencies.tree(call.queue, root, "down", depth))
    up = [] if direction == "down" else list(dependencies.tree(call.queue, root, "up", depth))
    known = {node.task.id for node in up}
    return [*up, *(node for node in down if node.task.id not in known)]


def _only(nodes: Sequence[Node], status: str) -> list[Node]:
    """The nodes of one status and the way to them; none if there are none."""
    kept: set[str] = set()
    parents = {node.task.id: node.parent_id for node in nodes}
    for node in nodes:
        if node.task.status == status:
            at = node.task.id
            while at and at not in kept:
                kept.add(at)
                at = parents[at]
    return [node for node in nodes if node.task.id in kept]


def _shape(node: Node) -> Shape:
    body: Shape = {**issue(node.task), "depth": node.depth, "parent_id": node.parent_id}
    if node.edge:
        body["edge_from_parent"] = node.edge
    return {**body, "truncated": False}


def _cycles(call: Call) -> Reply:
    groups = dependencies.cycles(call.queue)
    members = [[{"id": id_, "issue": issue(call.queue.get(id_))} for id_ in ids] for ids in groups]
    return Reply(
        value=[{"members": each, "partial": False} for each in members],
        text="\n".join(" -> ".join([*ids, ids[0]]) for ids in groups) or "No dependency cycles.",
    )


ADD = Verb(
    run=_add,
    usage="bd dep add [issue-id] [depends-on-id] [flags]",
    about="Add a dependency: the first issue waits for the second",
    flags=(
        Flag("blocked-by", help="Issue ID that blocks the first issue"),
        Flag("depends-on", help="Alias for --blocked-by"),
        Flag("type", short="t", help="Dependency type (default blocks)"),
        Flag("file", help="Read edges from a file of JSON lines (- for standard input)"),
        *ignored("no-cycle-check", why="cycles are refused"),
    ),
    writes=True,
)
REMOVE = Verb(
    run=_remove,
    usage="bd dep remove [issue-id] [depends-on-id]",
    about="Remove a dependency",
    writes=True,
)
LIST = Verb(
    run=_list,
    usage="bd dep list [issue-id...] [flags]",
    about="List dependencies or dependents of one or more issues",
    flags=(
        Flag("direction", help="'down' (dependencies, default), 'up' (dependents)"),
        Flag("type", short="t", help="Filter by dependency type"),
    ),
)
TREE = Verb(
    run=_tree,
    usage="bd dep tree [issue-id] [flags]",
    about="Show dependency tree",
    flags=(
        Flag("direction", help="'down' (dependencies), 'up' (dependents), or 'both'"),
        Flag("max-depth", "number", "d", aliases=("depth",), help="Levels to show (default 50)"),
        Flag("status", help="Only issues with this status, and the way to them"),
        Flag("reverse", "switch", help="Alias for --direction=up"),
        MAX_ROWS,
        *ignored("show-all-paths", why="each issue stands once"),
    ),
)
CYCLES = Verb(run=_cycles, usage="bd dep cycles", about="Detect dependency cycles")
