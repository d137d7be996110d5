"""`bd show`: one task or several, whole."""

from collections.abc import Sequence

from msgspec import Struct

from fleet.bd.command import Call, Reply, Verb
from fleet.bd.output import lines
from fleet.bd.output.json_shapes import (
    Shape,
    bare_neighbour,
    comment,
    issue,
    neighbour,
    parent_of,
    revision,
)
from fleet.bd.pflag import Flag, ignored
from fleet.errors import BadInput, FleetError
from fleet.queue.sql.dependencies import neighbours
from fleet.queue.sql.sql_queue import SqlQueue
from fleet.queue.sql.tracker.related import comments_of, edges_from, edges_to, tasks_of
from fleet.queue.sql.tracker.search import Condition, Search, search
from fleet.schemas import Comment, Dependency, Task


class _Whole(Struct, frozen=True, kw_only=True):
    """A task with the tasks and comments around it."""

    task: Task
    edges: Sequence[Dependency]
    dependencies: lines.Neighbours
    dependents: lines.Neighbours
    comments: Sequence[Comment]


def _show(call: Call) -> Reply:
    tasks = _found(call)
    if not tasks:
        raise BadInput(
            "no issues found matching the provided IDs", hint="list what there is: bd list --all"
        )
    if call.line.switch("children") or call.line.switch("refs"):
        return _neighbours(call, tasks)
    if call.line.switch("short"):
        states = call.states(tasks)
        text = "\n".join(lines.row(task, states=states) for task in tasks)
        return Reply(text=text, value=[issue(task) for task in tasks])
    whole = _with_surroundings(call.queue, tasks)
    if call.json:
        return Reply(value=[_details(call, each) for each in whole])
    around = [task for each in whole for task, _ in (*each.dependencies, *each.dependents)]
    standings, states = call.standings(tasks), call.states(around)
    pages = [
        lines.page(
            each.task,
            each.dependencies,
            each.dependents,
            each.comments,
            standing=standings.get(each.task.id),
            states=states,
        )
        for each in whole
    ]
    return Reply(text="\n\n---\n\n".join(pages))


def _neighbours(call: Call, tasks: Sequence[Task]) -> Reply:
    """The children of each task alone, or all tasks that have an edge to it."""
    only = ("parent-child",) if call.line.switch("children") else ()
    found = {
        task.id: [
            (other, kind)
            for other, kind in neighbours(call.queue, task.id, "up")
            if not only or kind in only
        ]
        for task in tasks
    }
    texts = [f"{id_}:\n{lines.others(near) or '  none'}" for id_, near in found.items()]
    value = {id_: [neighbour(*each) for each in near] for id_, near in found.items()}
    return Reply(value=value, text="\n".join(texts))


def _found(call: Call) -> list[Task]:
    """The tasks that the line names; an id that means none is told on standard error."""
    words = (*call.words, *call.line.list("id"))
    if call.line.switch("current"):
        own = Condition(
            "tasks.status IN ('in_progress', 'hooked') AND tasks.assignee = $", (call.actor,)
        )
        tasks = search(call.queue, Search(where=(own,), order="updated"))
        if words or not tasks:
            raise BadInput("--current shows your issue in progress, and takes no ids")
        return tasks[:1]
    if not words:
        raise BadInput("at least one issue ID is required")
    tasks: list[Task] = []
    for word in words:
        try:
            tasks.append(call.task(word))
        except FleetError as error:
            call.warn(error.message)
    return tasks


def _with_surroundings(queue: SqlQueue, tasks: Sequence[Task]) -> list[_Whole]:
    """Four queries, however many tasks there are."""
    ids = [task.id for task in tasks]
    below, above = edges_from(queue, ids), edges_to(queue, ids)
    comments = comments_of(queue, ids)
    others = {edge.depends_on_id for edges in below.values() for edge in edges}
    others |= {edge.task_id for edges in above.values() for edge in edges}
    near = tasks_of(queue, sorted(others))
    return [
        _Whole(
            task=task,
            edges=below.get(task.id, ()),
            dependencies=[(near[e.depends_on_id], e.type) for e in below.get(task.id, ())],
            dependents=[(near[e.task_id], e.type) for e in above.get(task.id, ())],
            comments=comments.get(task.id, ()),
        )
        for task in tasks
    ]


def _details(call: Call, of: _Whole) -> Shape:
    """Bd's IssueDetails."""
    line, task = call.line, of.task
    shape = issue(task)
    if of.dependencies:
        shown = bare_neighbour if line.switch("brief-deps") else neighbour
        shape["dependencies"] = [shown(*pair) for pair in of.dependencies]
    if line.switch("include-dependents") and of.dependents:
        shape["dependents"] = [bare_neighbour(*pair) for pair in of.dependents]
    if line.switch("include-comments") and of.comments:
        shape["comments"] = [comment(each) for each in of.comments]
    if parent := parent_of(of.edges):
        shape["parent"] = parent
    shape |= {
        "dependent_count": len(of.dependents),
        "dependency_count": len(of.dependencies),
        "comment_count": len(of.comments),
    }
    if of.comments and not line.switch("include-comments"):
        shape["comments_omitted"] = True
    if task.issue_type == "epic" and line.switch("include-dependents"):
        shape |= _epic(of)
    return {**shape, "revision": revision(task)}


def _epic(of: _Whole) -> Shape:
    children = [task for task, kind in of.dependents if kind == "parent-child"]
    closed = sum(child.status == "closed" for child in children)
    return {
        "epic_total_children": len(children),
        "epic_closed_children": closed,
        "epic_closeable": bool(children) and closed == len(children),
    }


SHOW = Verb(
    run=_show,
    usage="bd show [id...] [--id=<id>...] [--current] [flags]",
    about="Show issue details",
    flags=(
        Flag("id", "array", help="Issue id (for ids that look like flags)"),
        Flag("current", "switch", help="Show the issue that you have in progress"),
        Flag("short", "switch", help="One line for each issue"),
        Flag("include-dependents", "switch", help="With --json: the dependents too"),
        Flag("include-comments", "switch", help="With --json: the comments too"),
        Flag("brief-deps", "switch", help="With --json: only what identifies dependencies"),
        Flag("children", "switch", help="Show only the children"),
        Flag("refs", "switch", help="Show only the issues that have an edge to this one"),
        *ignored("long", "local-time", why="all fields are shown, in UTC"),
    ),
)
