"""bd dep tree: what a task waits for, or what waits for it, as a tree."""

from collections.abc import Sequence
from typing import Any

from fleet.bd.arguments.positional import exactly, found
from fleet.bd.command import Call, Failure, Verb
from fleet.bd.output.json_shapes import issue
from fleet.bd.pflag import Flag
from fleet.queue.sql import dependencies
from fleet.queue.sql.dependencies import Node
from fleet.schemas import BLOCKING, STATUSES, Task

_TITLES = {
    "down": "Dependency tree",
    "up": "Dependent tree",
    "both": "Full dependency graph",
}
_BOXES = {"closed": "☑", "in_progress": "◧", "blocked": "⚠"}


def _tree(call: Call) -> int:
    (word,) = exactly(call, 1)
    direction = call.line.text("direction") or ("up" if call.line.switch("reverse") else "down")
    if direction not in _TITLES:
        raise Failure("--direction must be 'down', 'up', or 'both'")
    depth = call.line.number("max-depth", 50)
    if depth < 1:
        raise Failure("--max-depth must be >= 1")
    root = found(call, word, f"resolving issue ID {word}")
    nodes = _nodes(call, direction, root.id, depth)
    status = call.line.text("status")
    if status:
        if status not in STATUSES:
            raise Failure(f"invalid status '{status}'")
        nodes = _only(nodes, status)
    if call.json:
        call.put([_shape(node) for node in nodes])
    elif call.line.text("format") == "mermaid":
        call.say(_mermaid(nodes))
    elif nodes:
        call.say(f"\n🌲 {_TITLES[direction]} for {root.id}:\n")
        call.say("\n".join(_drawn(nodes, _mark(call, root))))
        call.say()
    else:
        call.say(f"\n{root.id} has no {'dependents' if direction == 'up' else 'dependencies'}")
    return 0


def _nodes(call: Call, direction: str, root: str, depth: int) -> list[Node]:
    task = call.queue.get(root)
    down = list(dependencies.tree(call.queue, task, "down", depth))
    if direction == "down":
        return down
    up = list(dependencies.tree(call.queue, task, "up", depth))
    if direction == "up":
        return up
    seen = {node.task.id for node in up}
    return [*up, *(node for node in down if node.task.id not in seen)]


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


def _shape(node: Node) -> dict[str, Any]:
    body: dict[str, Any] = {**issue(node.task), "depth": node.depth, "parent_id": node.parent_id}
    if node.edge:
        body["edge_from_parent"] = node.edge
    return {**body, "truncated": False}


def _drawn(nodes: Sequence[Node], mark: str) -> list[str]:
    root = nodes[0]
    below: dict[str, list[Node]] = {}
    for node in nodes[1:]:
        below.setdefault(node.parent_id, []).append(node)
    lines = [f"{_line(root)}{mark}"]
    todo = [(node, "    ", last) for node, last in _with_last(below.get(root.task.id, []))][::-1]
    while todo:
        node, indent, last = todo.pop()
        lines.append(f"{indent}{'└── ' if last else '├── '}{_line(node)} [{node.edge}]")
        deeper = indent + ("    " if last else "│   ")
        todo += [(n, deeper, end) for n, end in _with_last(below.get(node.task.id, []))][::-1]
    return lines


def _with_last(nodes: Sequence[Node]) -> list[tuple[Node, bool]]:
    return [(node, place == len(nodes)) for place, node in enumerate(nodes, start=1)]


def _line(node: Node) -> str:
    task = node.task
    return f"{task.id}: {task.title} [P{task.priority}] ({task.status})"


def _mark(call: Call, root: Task) -> str:
    """Does the root itself wait for something?"""
    if root.status == "closed":
        return ""
    near = dependencies.neighbours(call.queue, root.id, "down")
    waits = any(edge in BLOCKING and task.status != "closed" for task, edge in near)
    return " [BLOCKED]" if waits else " [READY]"


def _mermaid(nodes: Sequence[Node]) -> str:
    boxes = [
        f'  {node.task.id}["{_BOXES.get(node.task.status, "☐")} {node.task.id}: {_quoted(node)}"]'
        for node in nodes
    ]
    arrows = [f"  {node.parent_id} --> {node.task.id}" for node in nodes if node.parent_id]
    return "\n".join(["flowchart TD", *boxes, "", *arrows])


def _quoted(node: Node) -> str:
    return node.task.title.replace('"', '\\"').replace("\n", " ")


TREE = Verb(
    run=_tree,
    usage="bd dep tree [issue-id] [flags]",
    about="Show dependency tree",
    flags=(
        Flag("direction", help="'down' (dependencies), 'up' (dependents), or 'both'"),
        Flag("max-depth", "number", "d", aliases=("depth",), help="Levels to show (default 50)"),
        Flag("status", help="Only issues with this status, and the way to them"),
        Flag("reverse", "switch", help="Same as --direction=up"),
        Flag("show-all-paths", "switch", help="Accepted for compatibility"),
        Flag("max-rows", "number", help="Accepted for compatibility"),
    ),
)
