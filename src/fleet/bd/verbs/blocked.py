"""`bd blocked`: the tasks that wait, and what for."""

from msgspec.structs import replace

from fleet.bd.arguments import filters
from fleet.bd.command import Call, Verb
from fleet.bd.output.json_shapes import waiting
from fleet.bd.pflag import Flag
from fleet.queue.sql.tracker.related import blocked
from fleet.queue.sql.tracker.search import search


def _blocked(call: Call) -> int:
    held = blocked(call.queue)
    want = filters.search_of(call, channel="out")
    want = replace(want, not_statuses=("closed", "pinned"), ancestor=call.line.text("parent"))
    tasks = [task for task in search(call.queue, want) if task.id in held] if held else []
    if call.json:
        call.put([waiting(task, held[task.id]) for task in tasks])
        return 0
    if not tasks:
        call.say("\n✨ No blocked issues\n")
        return 0
    call.say(f"\n🚫 Blocked issues ({len(tasks)}):\n")
    for task in tasks:
        ids = [blocker.id for blocker in held[task.id]]
        call.say(f"[P{task.priority}] {task.id}: {task.title}")
        call.say(f"  Blocked by {len(ids)} open dependencies: [{' '.join(ids)}]\n")
    return 0


BLOCKED = Verb(
    run=_blocked,
    usage="bd blocked [flags]",
    about="Show blocked issues",
    flags=(*filters.LABELS, Flag("parent", help="Filter to descendants of this issue")),
)
