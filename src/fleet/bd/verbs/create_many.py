"""Several tasks at once: the markdown of `create --file` and the JSON of `create --graph`.

What bd would drop with a warning (an unknown field, a wrong type or priority) is refused here.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from fleet.bd.arguments import values
from fleet.bd.arguments.natural_time import in_utc
from fleet.bd.command import Call, Reply
from fleet.bd.output.json_shapes import Shape, dependency, issue
from fleet.bd.verbs.create import edges_of, in_status, made
from fleet.errors import BadInput, FleetError
from fleet.queue.protocol import Draft
from fleet.queue.sql.edit_task import Change, edit
from fleet.queue.sql.tracker.related import edges_from
from fleet.schemas import Dependency, Task, typed

_SEPARATORS = re.compile(r"[,\s]+")


def create_from_file(call: Call, text: str) -> Reply:
    drafts = _drafts_of_markdown(call, text)
    with call.queue.writing(undo=call.line.switch("dry-run")):
        tasks = [call.queue.add(draft) for draft in drafts]
    if call.line.switch("dry-run"):
        return _would_create(drafts, edges=sum(len(draft.depends_on) for draft in drafts))
    edges = edges_from(call.queue, [task.id for task in tasks])
    return made(call, tasks, value=[_with_edges(task, edges.get(task.id, ())) for task in tasks])


def _with_edges(task: Task, edges: Sequence[Dependency]) -> Shape:
    shape = issue(task)
    return {**shape, "dependencies": [dependency(edge) for edge in edges]} if edges else shape


def create_graph(call: Call, text: str) -> Reply:
    plan = _graph_of_json(call, text)
    ids: dict[str, str] = {}
    with call.queue.writing(undo=call.line.switch("dry-run")):
        for key, draft in plan.drafts.items():
            ids[key] = call.queue.add(draft).id
        for source, target, kind, metadata in plan.edges:
            ends = ids.get(source, source), ids.get(target, target)
            call.queue.depend(*ends, kind, by=call.actor, metadata=metadata)
        for key, named in plan.references.items():
            references = {name: ids[target] for name, target in named.items()}
            edit(call.queue, ids[key], Change(merge_metadata=references), actor=call.actor)
        for key, status in plan.statuses.items():
            in_status(call, call.queue.get(ids[key]), status)
        tasks = [call.queue.get(task_id) for task_id in ids.values()]
    if call.line.switch("dry-run"):
        return _would_create([*plan.drafts.values()], edges=len(plan.edges))
    return made(call, tasks, value={"ids": ids})


def _would_create(drafts: Sequence[Draft], *, edges: int) -> Reply:
    return Reply(
        value={"dry_run": True, "node_count": len(drafts), "edge_count": edges},
        text="\n".join(f"Would create: {draft.title}" for draft in drafts),
    )


def _drafts_of_markdown(call: Call, text: str) -> list[Draft]:
    """Each `## Title` is a task; the sections `### Priority`, `### Type`, … are the fields."""
    drafts = [_markdown_draft(call, title, lines) for title, lines in _split(text, "## ")]
    if not drafts:
        raise BadInput("no tasks in the file: write each as `## Title`")
    return drafts


def _split(text: str, mark: str) -> list[tuple[str, str]]:
    """The headings of one level with the text below each; what stands before the first is left."""
    parts: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if line.startswith(mark):
            parts.append((line.removeprefix(mark).strip(), []))
        elif parts:
            parts[-1][1].append(line)
    return [(heading, "\n".join(lines).strip()) for heading, lines in parts]


def _markdown_draft(call: Call, title: str, body: str) -> Draft:
    first = body.partition("\n### ")[0] if not body.startswith("### ") else ""
    sections = {"description": first.strip()}
    for heading, text in _split(body, "### "):
        name = heading.lower()
        if name not in _SECTIONS:
            raise BadInput(f'"{title}": there is no section "{heading}"')
        sections[_SECTIONS[name]] = text
    depends_on, blocks = edges_of(call, _words(sections.get("deps", "")))
    return Draft(
        title=title,
        description=sections["description"],
        priority=values.priority(sections.get("priority", "2")),
        issue_type=values.known_type(call.queue, sections.get("type", "task")),
        labels=_words(sections.get("labels", "")),
        depends_on=depends_on,
        blocks=blocks,
        assignee=sections.get("assignee", ""),
        design=sections.get("design", ""),
        acceptance_criteria=sections.get("acceptance", ""),
        owner=call.owner,
        created_by=call.actor,
        metadata=values.with_settings({}, call.settings),
    )


_SECTIONS = {
    "description": "description", "design": "design", "priority": "priority", "type": "type",
    "acceptance criteria": "acceptance", "acceptance": "acceptance", "assignee": "assignee",
    "labels": "labels", "dependencies": "deps", "deps": "deps",
}  # fmt: skip


def _words(text: str) -> tuple[str, ...]:
    return tuple(filter(None, _SEPARATORS.split(text)))


class _NodeDep(Struct, forbid_unknown_fields=True):
    target: str
    type: str = "blocks"


class _GraphNode(Struct):
    """What a node says beside the fields of a task."""

    key: str
    type: str = "task"
    status: str = ""
    #: bd assigns in a second step; here the whole plan is one transaction anyway.
    assign_after_create: bool = False
    estimate: int | None = None
    metadata_refs: dict[str, str] = field(default_factory=dict[str, str])
    parent: str = ""
    parent_key: str = ""
    parent_id: str = ""
    deps: tuple[_NodeDep, ...] = ()


#: The fields of a task that a node can set.
_TASK_FIELDS = frozenset(
    (
        "id", "title", "description", "design", "acceptance_criteria", "notes", "spec_id",
        "external_ref", "assignee", "owner", "priority", "estimated_minutes", "due_at",
        "defer_until", "labels", "metadata",
    )
)  # fmt: skip


class _GraphEdge(Struct, forbid_unknown_fields=True):
    from_key: str = ""
    from_id: str = ""
    to_key: str = ""
    to_id: str = ""
    type: str = "blocks"
    metadata: str = "{}"


class _Graph(Struct, forbid_unknown_fields=True):
    nodes: tuple[dict[str, Any], ...] = ()
    edges: tuple[_GraphEdge, ...] = ()
    commit_message: str = ""


#: What depends on what, of which type, with which metadata.
_PlannedEdge = tuple[str, str, str, str]


class _GraphPlan(Struct, frozen=True, kw_only=True):
    """The tasks of a graph by their keys, and what connects them: the ends of an edge are keys of
    new tasks, or ids of existing ones.
    """

    drafts: Mapping[str, Draft]
    edges: Sequence[_PlannedEdge]
    statuses: Mapping[str, str]
    #: For a task's key: metadata whose values are the ids of other keys.
    references: Mapping[str, Mapping[str, str]]


def _graph_of_json(call: Call, text: str) -> _GraphPlan:
    """A plan of nodes and edges, with every key and id known."""
    drafts: dict[str, Draft] = {}
    try:
        graph = typed.decode(text, _Graph)
        nodes = typed.convert(graph.nodes, tuple[_GraphNode, ...])
        for node, row in zip(nodes, graph.nodes, strict=True):
            if not node.key or node.key in drafts:
                raise BadInput(f'invalid graph plan: the key "{node.key}" is empty or not unique')
            drafts[node.key] = _node_draft(call, node, row)
    except msgspec.MsgspecError as error:
        raise BadInput(f"invalid graph plan: {error}") from None
    if not drafts:
        raise BadInput("invalid graph plan: plan has no nodes")

    def end(key: str, task_id: str) -> str:
        if key and key not in drafts:
            raise BadInput(f'invalid graph plan: key "{key}" is not in the plan')
        try:
            return key or call.resolve(task_id)
        except FleetError as error:
            raise BadInput(f"invalid graph plan: {error.message}") from None

    def edge(source: str, target: str, kind: str, metadata: str = "{}") -> _PlannedEdge:
        return source, target, values.edge_type(kind), metadata

    edges: list[_PlannedEdge] = []
    for node in nodes:
        parent = node.parent_key or node.parent
        if parent or node.parent_id:
            edges.append(edge(node.key, end(parent, node.parent_id), "parent-child"))
        edges += [edge(node.key, end(dep.target, ""), dep.type) for dep in node.deps]
    edges += [
        edge(end(one.from_key, one.from_id), end(one.to_key, one.to_id), one.type, one.metadata)
        for one in graph.edges
    ]
    return _GraphPlan(
        drafts=drafts,
        edges=edges,
        statuses={node.key: node.status for node in nodes if node.status},
        references={
            node.key: {name: end(key, "") for name, key in node.metadata_refs.items()}
            for node in nodes
            if node.metadata_refs
        },
    )


def _node_draft(call: Call, node: _GraphNode, row: dict[str, Any]) -> Draft:
    unknown = row.keys() - _TASK_FIELDS - set(_GraphNode.__struct_fields__)
    if unknown:
        raise BadInput(f'invalid graph plan: "{node.key}" has unknown fields {sorted(unknown)}')
    fields = {name: row[name] for name in row.keys() & _TASK_FIELDS}
    draft = typed.convert(fields, Draft)
    minutes = draft.estimated_minutes if node.estimate is None else node.estimate
    return replace(
        draft,
        issue_type=values.known_type(call.queue, node.type),
        owner=draft.owner or call.owner,
        created_by=call.actor,
        estimated_minutes=minutes,
        due_at=in_utc(draft.due_at),
        defer_until=in_utc(draft.defer_until),
        metadata=values.with_settings(draft.metadata, call.settings),
    )
