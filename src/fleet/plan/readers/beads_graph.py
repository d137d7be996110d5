"""The JSON of `bd create --graph`: nodes and edges. Pure."""

from typing import Any

import msgspec
from msgspec import Struct, field

from fleet.errors import BadInput
from fleet.plan.neutral_plan import Plan, PlannedTask, SpecText, refuse
from fleet.plan.readers.neutral import array_lines, load_json, place_of
from fleet.schemas import BLOCKING, typed


class _NodeTarget(Struct):
    target: str
    type: str = "blocks"


class _PlanNode(Struct):
    key: str = ""
    title: str = ""
    description: str = ""
    design: str = ""
    acceptance_criteria: str = ""
    notes: str = ""
    priority: int = 2
    labels: tuple[str, ...] = ()
    status: str = ""
    parent: str = ""
    parent_key: str = ""
    deps: tuple[_NodeTarget, ...] = ()


class _PlanEdge(Struct):
    from_key: str = ""
    to_key: str = ""
    from_id: str = ""
    to_id: str = ""
    type: str = "blocks"


class _PlanGraph(Struct):
    nodes: tuple[_PlanNode, ...] = ()
    edges: tuple[_PlanEdge, ...] = ()
    commit_message: str = ""


def read_beads_graph(spec: SpecText) -> Plan:
    """A task for each node; edges that block are the order, and edges of families the groups."""
    file = spec.main
    data: dict[str, Any] = load_json(file)
    nodes, edges = array_lines(file.text, "nodes"), array_lines(file.text, "edges")
    try:
        graph = typed.convert(data, _PlanGraph)
    except msgspec.ValidationError as error:
        raise BadInput(f"{file.name}: this is no graph of beads: {error}") from None
    links = _Links(known=frozenset(node.key for node in graph.nodes))
    for number, node in enumerate(graph.nodes):
        place = place_of(file.name, nodes, number)
        for dep in node.deps:
            links.add(node.key, dep.target, dep.type, place)
        if node.parent_key or node.parent:
            links.add(node.key, node.parent_key or node.parent, "parent-child", place)
    for number, edge in enumerate(graph.edges):
        place = place_of(file.name, edges, number)
        if edge.from_id or edge.to_id:
            links.problems.append(f"{place}: an edge to a task that is in the queue already")
        else:
            links.add(edge.from_key, edge.to_key, edge.type, place)
    hint = "To make it as it is, without a plan: fleet bd create --graph FILE"
    refuse(links.problems, hint=hint)
    return Plan(
        title=graph.commit_message or spec.title,
        tasks=tuple(
            PlannedTask(
                key=node.key,
                title=node.title,
                body=_body(node) or node.title,
                after=tuple(links.after.get(node.key, ())),
                parent=links.parents.get(node.key, ""),
                priority=node.priority,
                labels=node.labels,
                done=node.status == "closed",
                place=place_of(file.name, nodes, number),
            )
            for number, node in enumerate(graph.nodes)
        ),
    )


class _Links(Struct):
    """What the edges say, gathered."""

    known: frozenset[str]
    after: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    parents: dict[str, str] = field(default_factory=dict[str, str])
    problems: list[str] = field(default_factory=list[str])

    def add(self, source: str, target: str, kind: str, place: str) -> None:
        if source not in self.known:
            self.problems.append(f"{place}: an edge from {source!r}, which is not in the plan")
        elif kind == "parent-child":
            self.parents[source] = target
        elif kind in BLOCKING:
            self.after.setdefault(source, []).append(target)
        else:
            self.problems.append(f"{place}: a plan has no edge of the type {kind!r}")


def _body(node: _PlanNode) -> str:
    parts = (
        ("", node.description),
        ("## Design\n\n", node.design),
        ("## Acceptance criteria\n\n", node.acceptance_criteria),
        ("## Notes\n\n", node.notes),
    )
    return "\n\n".join(f"{head}{text.strip()}" for head, text in parts if text.strip())
