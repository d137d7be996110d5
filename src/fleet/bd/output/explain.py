"""`bd ready --explain`: why each task can be done now, or what it waits for."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from fleet.bd.command import Call
from fleet.bd.output.json_shapes import Shape, issue, parent_of
from fleet.queue.sql.dependencies import cycles
from fleet.queue.sql.tracker.related import Blocker, Tally, blocked, edges_from, tallies, tasks_of
from fleet.queue.sql.tracker.search import Search, search
from fleet.schemas import BLOCKING, Task


def explain(call: Call, want: Search) -> int:
    ready = search(call.queue, replace(want, limit=None))
    held = {
        task_id: own
        for task_id, of in blocked(call.queue).items()
        if (own := [blocker for blocker in of if blocker.type != "parent-child"])
    }
    blockers = sorted({blocker.id for of in held.values() for blocker in of})
    known = tasks_of(call.queue, sorted({*held, *blockers}))
    waiting = sorted(
        (known[task_id] for task_id in held), key=lambda task: (task.priority, task.id)
    )
    if call.json:
        _put(call, ready, waiting, held, known)
    else:
        _say(call, ready, waiting, held, known)
    return 0


def _put(
    call: Call,
    ready: Sequence[Task],
    waiting: Sequence[Task],
    held: Mapping[str, Sequence[Blocker]],
    known: Mapping[str, Task],
) -> None:
    call.put(
        {
            "ready": _ready_shapes(call, ready),
            "blocked": [
                {
                    **issue(task),
                    "blocked_by": [_blocker(known[blocker.id]) for blocker in held[task.id]],
                    "blocked_by_count": len(held[task.id]),
                }
                for task in waiting
            ],
            "summary": {
                "total_ready": len(ready),
                "total_blocked": len(waiting),
                "cycle_count": len(cycles(call.queue)),
            },
        }
    )


def _ready_shapes(call: Call, ready: Sequence[Task]) -> list[Shape]:
    ids = [task.id for task in ready]
    edges, counts = edges_from(call.queue, ids), tallies(call.queue, ids)
    shapes: list[Shape] = []
    for task in ready:
        below = edges.get(task.id, ())
        gone = [edge.depends_on_id for edge in below if edge.type in BLOCKING]
        count = counts.get(task.id, Tally())
        parent = parent_of(below)
        shapes.append(
            {
                **issue(task),
                "dependency_count": count.dependencies,
                "dependent_count": count.dependents,
                **({"parent": parent} if parent else {}),
                "reason": _reason(gone),
                "resolved_blockers": gone or None,
            }
        )
    return shapes


def _reason(gone: Sequence[str]) -> str:
    return f"{len(gone)} blocker(s) resolved" if gone else "no blocking dependencies"


def _blocker(task: Task) -> Shape:
    return {"id": task.id, "title": task.title, "status": task.status, "priority": task.priority}


def _say(
    call: Call,
    ready: Sequence[Task],
    waiting: Sequence[Task],
    held: Mapping[str, Sequence[Blocker]],
    known: Mapping[str, Task],
) -> None:
    heading = f"● Ready ({len(ready)} issues):" if ready else "○ No ready work"
    call.say(f"\n📊 Ready Work Explanation\n\n{heading}\n")
    for shape in _ready_shapes(call, ready):
        call.say(f"  {shape['id']} [P{shape['priority']}] {shape['title']}")
        call.say(f"    Reason: {shape['reason']}")
        if shape["dependent_count"]:
            call.say(f"    Unblocks: {shape['dependent_count']} issue(s)")
        call.say()
    if waiting:
        call.say(f"● Blocked ({len(waiting)} issues):\n")
    for task in waiting:
        call.say(f"  {task.id} [P{task.priority}] {task.title}")
        for blocker in (known[of.id] for of in held[task.id]):
            call.say(f"    ← blocked by {blocker.id}: {blocker.title} [{blocker.status}]")
        call.say()
    call.say(f"─ Summary: {len(ready)} ready, {len(waiting)} blocked\n")
