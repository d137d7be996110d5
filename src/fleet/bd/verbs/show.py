"""`bd show`: one task or several, whole."""

from collections.abc import Callable, Sequence

from fleet.bd.command import Call, Failure, Verb
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
from fleet.bd.output.neighbours import Around, Neighbours, around
from fleet.bd.pflag import Flag
from fleet.errors import BadInput, FleetError, NotFound
from fleet.queue.sql.tracker.search import Search, search
from fleet.schemas import Task


def _show(call: Call) -> int:
    call.lacks("as-of", "thread", "watch")
    words = _words(call)
    if call.line.switch("refs") or call.line.switch("children"):
        return _show_dependents(call, words)
    tasks = _found(call, words)
    if not tasks:
        if not call.json:
            return 1
        raise Failure(
            "no issues found matching the provided IDs",
            hint="see what there is with 'bd list --all'",
        )
    if call.json:
        call.put([_details(call, each) for each in around(call.queue, tasks)])
    elif call.line.switch("short"):
        for task in tasks:
            call.say(lines.short(task))
    else:
        from fleet.bd.output.issue_page import page

        divider = f"\n{'─' * 60}\n"
        for number, each in enumerate(around(call.queue, tasks)):
            if number:
                call.say(divider)
            call.say(page(each, call.now, long=call.line.switch("long")))
    return 0


def _words(call: Call) -> Sequence[str]:
    words = (*call.words, *call.line.list("id"))
    if call.line.switch("current"):
        if words:
            raise Failure("--current cannot be combined with explicit issue IDs", channel="err")
        want = Search(statuses=("in_progress", "hooked"), assignee=call.actor, order="updated")
        found = search(call.queue, want)
        if not found:
            raise Failure(f"no issue in progress for {call.actor}", channel="err")
        return [found[0].id]
    if not words:
        raise Failure(
            "at least one issue ID is required (use positional args, --id flag, or --current)"
        )
    return words


def _found(call: Call, words: Sequence[str]) -> list[Task]:
    """The tasks that there are; what is not found is said on standard error."""
    tasks: list[Task] = []
    for word in words:
        try:
            tasks.append(call.task(word))
        except NotFound:
            call.warn(f"Issue {word} not found\nHint: see what there is with 'bd list --all'")
        except BadInput as error:
            call.warn(f"Error fetching {word}: {error.message}")
    return tasks


def _details(call: Call, of: Around) -> Shape:
    """Bd's IssueDetails."""
    line, task = call.line, of.task
    near = bare_neighbour if line.switch("brief-deps") else neighbour
    shape = issue(task)
    if of.dependencies:
        shape["dependencies"] = _shapes(of.dependencies, near)
    if line.switch("include-dependents") and of.dependents:
        shape["dependents"] = _shapes(of.dependents, bare_neighbour)
    if line.switch("include-comments") and of.comments:
        shape["comments"] = [comment(said) for said in of.comments]
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


def _shapes(neighbours: Neighbours, shape: Callable[[Task, str], Shape]) -> list[Shape]:
    return [shape(task, kind) for task, kind in neighbours]


def _epic(of: Around) -> Shape:
    children = [task for task, kind in of.dependents if kind == "parent-child"]
    closed = sum(child.status == "closed" for child in children)
    return {
        "epic_total_children": len(children),
        "epic_closed_children": closed,
        "epic_closeable": bool(children) and closed == len(children),
    }


def _show_dependents(call: Call, words: Sequence[str]) -> int:
    """What refers to a task (--refs), or only its children."""
    answer: Shape = {}
    for word in words:
        try:
            task = call.task(word)
        except FleetError as error:
            call.warn(f"Error resolving {word}: {error.message}")
            continue
        dependents = around(call.queue, [task])[0].dependents
        if call.line.switch("children"):
            dependents = [pair for pair in dependents if pair[1] == "parent-child"]
        if call.json:
            shapes = _shapes(dependents, neighbour)
            answer[task.id] = shapes if shapes or call.line.switch("children") else None
        else:
            from fleet.bd.output.issue_page import children_text, references_text

            render = children_text if call.line.switch("children") else references_text
            call.say(render(task, dependents))
    if call.json:
        call.put(answer)
    return 0


SHOW = Verb(
    run=_show,
    usage="bd show [id...] [--id=<id>...] [--current] [flags]",
    about="Show issue details",
    flags=(
        Flag("id", "array", help="Issue id (for ids that look like flags)"),
        Flag("current", "switch", help="Show the issue that you have in progress"),
        Flag("short", "switch", help="One line for each issue"),
        Flag("long", "switch", help="Show all available fields"),
        Flag("refs", "switch", help="Show issues that refer to this issue"),
        Flag("children", "switch", help="Show only the children of this issue"),
        Flag("include-dependents", "switch", help="With --json: the dependents too"),
        Flag("include-comments", "switch", help="With --json: the comments too"),
        Flag("brief-deps", "switch", help="With --json: dependencies by identity only"),
        Flag("local-time", "switch", help="Accepted for compatibility"),
        Flag("as-of", help="Not on this queue"),
        Flag("thread", "switch", help="Not on this queue"),
        Flag("watch", "switch", "w", help="Not on this queue"),
    ),
)
