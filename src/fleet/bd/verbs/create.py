"""`bd create` and `bd q`: new tasks, all that the line asks for or none."""

from collections.abc import Sequence
from contextlib import suppress

from msgspec.structs import replace

from fleet.bd.arguments import values
from fleet.bd.arguments.create import draft_of, gate_of, quick_draft
from fleet.bd.command import Call, Failure, Reply, Verb
from fleet.bd.output.json_shapes import Shape, dependency, issue
from fleet.bd.pflag import Flag
from fleet.queue.protocol import Draft
from fleet.queue.sql.edit_task import Change, edit
from fleet.queue.sql.tracker.related import edges_from
from fleet.schemas import Dependency, Status, Task

#: What a plan in a file says of each task itself, or what makes no sense for several tasks.
_SINGLE = (
    "title", "description", "body", "message", "body-file", "stdin", "labels", "parent",
    "priority", "type", "assignee", "design", "design-file", "acceptance", "notes",
    "append-notes", "external-ref", "spec-id", "id", "deps", "waits-for", "estimate", "due",
    "defer", "metadata", "status", "context", "skills",
)  # fmt: skip


class _DryRun(Exception):
    """Leaves the transaction, which is undone."""


def _create(call: Call) -> Reply:
    plans = [name for name in ("file", "graph") if call.line.has(name)]
    if not plans:
        return _create_one(call)
    given = [f"--{name}" for name in _SINGLE if call.line.has(name)]
    if len(plans) > 1 or call.words or given:
        beside = " ".join([*call.words, *given]) or "--graph"
        raise Failure(f"--{plans[0]} cannot be combined with {beside}")
    text = values.read_text(call, call.line.text(plans[0]))
    return _create_from_file(call, text) if plans == ["file"] else _create_graph(call, text)


def _create_one(call: Call) -> Reply:
    draft = draft_of(call)
    status = values.status(call.line.text("status")) if call.line.has("status") else None
    gate = gate_of(call)
    tasks: list[Task] = []
    with suppress(_DryRun), call.queue.db.writing():
        task = call.queue.add(draft)
        if gate is not None:
            call.queue.depend(replace(gate, task_id=task.id))
        tasks = [_in_status(call, task, status)]
        _end_of_dry_run(call)
    values.warn_of_spaces(call, draft.labels)
    if draft.defer_until is not None and draft.defer_until <= call.now:
        call.warn("Warning: --defer names a moment in the past; the task is ready now")
    (task,) = tasks
    if call.line.switch("dry-run"):
        return Reply(
            value={**issue(task), "id": draft.id or ""}, text=f"Would create: {task.title}"
        )
    return _made(call, tasks, value=issue(task))


def _in_status(call: Call, task: Task, status: Status | None) -> Task:
    if status is None:
        return task
    return edit(call.queue, task.id, Change(status=status, force=True), actor=call.actor).after


def _end_of_dry_run(call: Call) -> None:
    if call.line.switch("dry-run"):
        raise _DryRun


def _create_from_file(call: Call, text: str) -> Reply:
    from fleet.bd.arguments.create_many import drafts_of_markdown

    drafts = drafts_of_markdown(call, text)
    tasks: list[Task] = []
    with suppress(_DryRun), call.queue.db.writing():
        tasks = [_add(call, draft) for draft in drafts]
        _end_of_dry_run(call)
    if call.line.switch("dry-run"):
        return _would_create(drafts, edges=sum(len(draft.depends_on) for draft in drafts))
    edges = edges_from(call.queue, [task.id for task in tasks])
    return _made(call, tasks, value=[_with_edges(task, edges.get(task.id, ())) for task in tasks])


def _with_edges(task: Task, edges: Sequence[Dependency]) -> Shape:
    shape = issue(task)
    return {**shape, "dependencies": [dependency(edge) for edge in edges]} if edges else shape


def _add(call: Call, draft: Draft) -> Task:
    try:
        return call.queue.add(draft)
    except Failure as failure:
        raise Failure(f'"{draft.title}": {failure.message}') from None


def _create_graph(call: Call, text: str) -> Reply:
    from fleet.bd.arguments.create_many import graph_of_json

    plan = graph_of_json(call, text)
    ids: dict[str, str] = {}
    tasks: list[Task] = []
    with suppress(_DryRun), call.queue.db.writing():
        for key, draft in plan.drafts.items():
            ids[key] = _add(call, draft).id
        for edge in plan.edges:
            source = ids.get(edge.task_id, edge.task_id)
            target = ids.get(edge.depends_on_id, edge.depends_on_id)
            call.queue.depend(replace(edge, task_id=source, depends_on_id=target))
        for key, named in plan.references.items():
            references = {name: ids[target] for name, target in named.items()}
            edit(call.queue, ids[key], Change(merge_metadata=references), actor=call.actor)
        for key, status in plan.statuses.items():
            _in_status(call, call.queue.get(ids[key]), values.status(status))
        tasks = [call.queue.get(task_id) for task_id in ids.values()]
        _end_of_dry_run(call)
    if call.line.switch("dry-run"):
        return _would_create([*plan.drafts.values()], edges=len(plan.edges))
    return _made(call, tasks, value={"ids": ids})


def _would_create(drafts: Sequence[Draft], *, edges: int) -> Reply:
    return Reply(
        value={"dry_run": True, "node_count": len(drafts), "edge_count": edges},
        text="\n".join(f"Would create: {draft.title}" for draft in drafts),
    )


def _made(call: Call, tasks: Sequence[Task], *, value: object) -> Reply:
    if call.line.switch("silent"):
        return Reply(text="\n".join(task.id for task in tasks), value=value, created=tasks)
    text = "\n".join(f"Created {task.id}: {task.title}" for task in tasks)
    return call.confirmed(text, value, created=tasks)


def _quick(call: Call) -> Reply:
    task = call.queue.add(quick_draft(call))
    return Reply(text=task.id, created=[task])


_SHARED = (
    Flag("labels", "list", "l", ("label",), help="Labels (comma-separated)"),
    Flag("parent", help="Parent issue id: the new one becomes its child"),
    Flag("priority", short="p", help="Priority (0-4 or P0-P4, 0=highest; default 2)"),
    Flag("type", short="t", help="Issue type: bug, feature, task (default), epic, chore, ..."),
)

CREATE = Verb(
    run=_create,
    usage="bd create [title] [flags]",
    about="Create a new issue, or several from a plan in a file",
    writes=True,
    flags=(
        Flag("title", help="Issue title (alternative to positional argument)"),
        *values.DESCRIPTION_FLAGS,
        *_SHARED,
        Flag("assignee", short="a", help="Assignee"),
        Flag("acceptance", help="Acceptance criteria"),
        Flag("context", help="Additional context, below the description"),
        Flag("skills", help="Required skills, below the description"),
        Flag("notes", help="Additional notes"),
        Flag("append-notes", help="More notes, on a line of their own"),
        Flag("external-ref", help="External reference (e.g., 'gh-9')"),
        Flag("spec-id", help="Link to specification document"),
        Flag("id", help="Explicit issue id"),
        Flag("force", "switch", help="Accept an id with another prefix"),
        Flag("no-inherit-labels", "switch", help="Don't inherit labels from parent issue"),
        Flag("deps", "list", help="Dependencies: 'id' or 'type:id'; 'blocks:id' is reversed"),
        Flag("waits-for", help="Wait for the children of this issue"),
        Flag("waits-for-gate", help="all-children (default) or any-children"),
        Flag("estimate", "number", "e", help="Time estimate in minutes"),
        Flag("due", help="Due date: +6h, +1d, tomorrow, next monday, 2025-01-15"),
        Flag("defer", help="Hide from bd ready until this date"),
        Flag("metadata", help="Custom metadata (JSON object, or @file.json)"),
        Flag("status", short="s", help="Initial status"),
        Flag("file", short="f", help="Create an issue for each `## Title` of a markdown file"),
        Flag("graph", help="Create the nodes and edges of a JSON file"),
        Flag("silent", "switch", help="Output only the issue id"),
        Flag("dry-run", "switch", help="Check everything and create nothing"),
    ),
)

QUICK = Verb(
    run=_quick,
    usage="bd q [title] [flags]",
    about="Create an issue and output only its id",
    flags=_SHARED,
    writes=True,
)
