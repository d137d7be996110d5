"""Tasks and their edges as a graph, for programs that draw one."""

from collections.abc import Sequence

from fleet.bd.command import Call, Failure
from fleet.queue.sql.tracker.related import edges_from
from fleet.schemas import Task


def draw(call: Call, tasks: Sequence[Task]) -> None:
    """Print the graph in the form that --format names."""
    form = call.line.text("format")
    shown = {task.id: task for task in tasks}
    edges = [
        edge
        for of in edges_from(call.queue, [*shown]).values()
        for edge in of
        if edge.depends_on_id in shown
    ]
    if form == "digraph":
        for edge in edges:
            call.say(f"{edge.task_id} {edge.depends_on_id}")
    elif form == "dot":
        call.say("digraph dependencies {\n  rankdir=TB;\n  node [shape=box, style=rounded];\n")
        for task in tasks:
            label = (
                f"{task.id}\n[{task.issue_type} P{task.priority}]\n{task.title}\n({task.status})"
            )
            call.say(f"  {_quoted(task.id)} [label={_quoted(label)}];")
        call.say()
        for edge in edges:
            ends = f"{_quoted(edge.task_id)} -> {_quoted(edge.depends_on_id)}"
            call.say(f"  {ends} [label={_quoted(edge.type)}];")
        call.say("}")
    else:
        raise Failure(
            f'unknown format "{form}" (valid: json, dot, digraph)',
            hint="A Go template needs the real bd: fleet init --queue beads",
            channel="err",
        )


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
