"""bd dep, bd link, bd children: which task waits for which."""

from collections.abc import Mapping

from fleet.bd.arguments.positional import at_least, at_most, exactly, found
from fleet.bd.arguments.values import EDGE_TYPES
from fleet.bd.command import Call, Failure, Verb
from fleet.bd.output.json_shapes import dependency, issue
from fleet.bd.pflag import Flag
from fleet.errors import FleetError
from fleet.queue.sql import dependencies
from fleet.queue.sql.tracker.related import edges_from
from fleet.schemas import Dependency, Task

#: How a sentence says each type: A … B.
SENTENCES: Mapping[str, str] = {
    "approved-by": "was approved by",
    "assigned-to": "is assigned to",
    "attests": "attests",
    "authored-by": "was authored by",
    "blocks": "depends on",
    "caused-by": "was caused by",
    "conditional-blocks": "conditionally depends on",
    "delegated-from": "was delegated from",
    "discovered-from": "was discovered from",
    "duplicates": "duplicates",
    "parent-child": "is a child of",
    "related": "is related to",
    "relates-to": "relates to",
    "replies-to": "replies to",
    "supersedes": "is superseded by",
    "tracks": "tracks",
    "until": "is active until",
    "validates": "validates",
    "waits-for": "waits for",
}
_SAME = {"blocked-by": "blocks", "depends-on": "blocks"}

TYPE = Flag("type", short="t", help="Dependency type (default blocks)")
NO_CHECK = Flag("no-cycle-check", "switch", help="Accepted for compatibility: cycles are refused")


def known_type(name: str) -> str:
    """The type that a name stands for; bd knows two more names for `blocks`."""
    kind = _SAME.get(name, name)
    if kind in SENTENCES:
        return kind
    wrong = "invalid" if not name or len(name) > 32 else "unknown"
    rule = " (must be non-empty, max 32 chars)" if wrong == "invalid" else ""
    names = ", ".join(EDGE_TYPES)
    raise Failure(f'{wrong} dependency type "{name}"{rule}; valid types: {names}')


def ends(call: Call, first: str, second: str) -> tuple[Task, Task]:
    task = found(call, first, f"resolving issue ID {first}")
    if second.startswith("external:"):
        raise Failure(
            f"{second} is in another project's tracker, and fleet's queue cannot see there",
            hint="Cross-project dependencies need beads (bd): fleet init --queue beads",
        )
    before = f"resolving dependency ID {second}: resolving issue ID {second}"
    return task, found(call, second, before)


def connect(call: Call, task: Task, target: Task, kind: str) -> None:
    with call.queue.db.writing():
        now = call.queue.db.now()
        edge = Dependency(
            task_id=task.id,
            depends_on_id=target.id,
            type=kind,
            created_at=now,
            created_by=call.actor,
        )
        call.queue.depend(edge)


def named(task: Task) -> str:
    return f"{task.id} ({task.title})"


def _add(call: Call) -> int:
    if call.line.has("file"):
        from fleet.bd.verbs.dep.bulk_file import add_from_file

        return add_from_file(call, call.line.text("file"))
    other = call.line.text("blocked-by") or call.line.text("depends-on")
    if other and len(call.words) > 1:
        raise Failure(
            "cannot use both positional depends-on-id and --blocked-by/--depends-on flag",
            channel="err",
        )
    words = (*call.words, other) if other else call.words
    if len(words) != 2:
        raise Failure(
            f"requires 2 arg(s), only received {len(call.words)}"
            " (or use --blocked-by/--depends-on flag)",
            channel="err",
        )
    kind = known_type(call.line.text("type", "blocks"))
    task, target = ends(call, *words)
    connect(call, task, target, kind)
    return _added(call, task, target, kind, f"Added dependency: {named(task)} {SENTENCES[kind]}")


def _link(call: Call) -> int:
    first, second = exactly(call, 2)
    kind = known_type(call.line.text("type", "blocks"))
    task, target = ends(call, first, second)
    connect(call, task, target, kind)
    return _added(call, task, target, kind, f"Linked: {named(task)} depends on")


def _added(call: Call, task: Task, target: Task, kind: str, start: str) -> int:
    if call.json:
        ids = {"issue_id": task.id, "depends_on_id": target.id}
        call.put({"status": "added", **ids, "type": kind})
    else:
        call.say(f"✓ {start} {named(target)} ({kind})")
    return 0


def _dep(call: Call) -> int:
    """`bd dep A --blocks B`; without the flag, help."""
    at_most(call, 1)
    if not call.line.has("blocks") or not call.words:
        from fleet.bd.help import help_for

        call.say(help_for(DEP))
        return 0
    blocker = found(call, call.words[0], f"resolving issue ID {call.words[0]}")
    word = call.line.text("blocks")
    blocked = found(call, word, f"resolving issue ID {word}")
    connect(call, blocked, blocker, "blocks")
    if call.json:
        ids = {"blocker_id": blocker.id, "blocked_id": blocked.id}
        call.put({"status": "added", **ids, "type": "blocks"})
    else:
        call.say(f"✓ Added dependency: {named(blocker)} blocks {named(blocked)}")
    return 0


def _remove(call: Call) -> int:
    task, target = ends(call, *exactly(call, 2))
    with call.queue.db.writing():
        dependencies.undepend(call.queue, task.id, target.id)
    if call.json:
        call.put({"status": "removed", "issue_id": task.id, "depends_on_id": target.id})
    else:
        call.say(f"✓ Removed dependency: {named(task)} → {named(target)}")
    return 0


def _list(call: Call) -> int:
    words = at_least(call, 1)
    up = call.line.text("direction") == "up"
    tasks = [found(call, words[0])] if len(words) == 1 else _those_found(call)
    kind = call.line.text("type")
    if len(words) > 1 and not up:
        return _list_edges(call, tasks, kind)
    direction: dependencies.Direction = "up" if up else "down"
    near = [
        (task, edge)
        for task in tasks
        for task, edge in dependencies.neighbours(call.queue, task.id, direction)
        if kind in ("", edge)
    ]
    if call.json:
        call.put([{**issue(task), "dependency_type": edge} for task, edge in near])
    elif near:
        for task, edge in near:
            call.say(f"  {task.id}: {task.title} [P{task.priority}] ({task.status}) via {edge}")
        call.say()
    else:
        call.say(f"\n{tasks[0].id} has no {'dependents' if up else 'dependencies'}")
    return 0


def _those_found(call: Call) -> list[Task]:
    """Of several ids the unknown ones are only warned of."""
    tasks: list[Task] = []
    for word in call.words:
        try:
            tasks.append(call.task(word))
        except FleetError as error:
            call.warn(f"warning: resolving {word}: {error.message} (skipped)")
    return tasks


def _list_edges(call: Call, tasks: list[Task], kind: str) -> int:
    near = edges_from(call.queue, [task.id for task in tasks])
    listed = {
        task.id: [edge for edge in near.get(task.id, ()) if kind in ("", edge.type)]
        for task in tasks
    }
    if call.json:
        call.put([dependency(edge) for edges in listed.values() for edge in edges])
        return 0
    for task_id, edges in listed.items():
        if edges:
            lines = [f"  {edge.depends_on_id} via {edge.type}" for edge in edges]
            call.say("\n".join([f"\n📋 Dependencies of {task_id}:\n", *lines]))
        else:
            call.say(f"\n{task_id} has no dependencies")
    call.say()
    return 0


def _relate(call: Call) -> int:
    first, second = _pair(call)
    if first.id == second.id:
        raise Failure("cannot relate an issue to itself", channel="err")
    try:
        with call.queue.db.writing():
            connect(call, first, second, "relates-to")
            connect(call, second, first, "relates-to")
    except FleetError as error:
        raise Failure(
            f"failed to add relates-to {first.id} -> {second.id}: {error}", channel="err"
        ) from None
    if call.json:
        call.put({"id1": first.id, "id2": second.id, "related": True})
    else:
        call.say(f"✓ Linked {first.id} ↔ {second.id}")
    return 0


def _unrelate(call: Call) -> int:
    first, second = _pair(call)
    with call.queue.db.writing():
        dependencies.undepend(call.queue, first.id, second.id, kind="relates-to")
        dependencies.undepend(call.queue, second.id, first.id, kind="relates-to")
    if call.json:
        call.put({"id1": first.id, "id2": second.id, "unrelated": True})
    else:
        call.say(f"✓ Unlinked {first.id} ↔ {second.id}")
    return 0


def _pair(call: Call) -> tuple[Task, Task]:
    """Two tasks of `relate`, whose errors bd prints as misuse, not as JSON."""
    try:
        first, second = (
            found(call, word, f"failed to resolve {word}") for word in exactly(call, 2)
        )
    except Failure as failure:
        raise Failure(failure.message, channel="err") from None
    return first, second


def _cycles(call: Call) -> int:
    groups = dependencies.cycles(call.queue)
    if call.json:
        call.put([_cycle(call, group) for group in groups])
    elif groups:
        call.say(f"\n⚠ Found {len(groups)} dependency cycles:\n")
        for number, group in enumerate(groups, start=1):
            call.say(f"{number}. Cycle involving:")
            call.say("\n".join(f"   - {member}" for member in group))
        call.say()
    else:
        call.say("\n✓ No dependency cycles detected\n")
    return 0


def _cycle(call: Call, group: list[str]) -> dict[str, object]:
    members = [{"id": member, "issue": issue(call.queue.get(member))} for member in group]
    return {"members": members, "partial": False}


ADD = Verb(
    run=_add,
    usage="bd dep add [issue-id] [depends-on-id] [flags]",
    about="Add a dependency: the first issue waits for the second",
    flags=(
        Flag("blocked-by", help="Issue ID that blocks the first issue"),
        Flag("depends-on", help="Alias for --blocked-by"),
        Flag("file", help="Read dependency edges from JSONL file, or '-' for stdin"),
        TYPE,
        NO_CHECK,
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
RELATE = Verb(
    run=_relate,
    usage="bd dep relate <id1> <id2>",
    about="Link two issues as related, in both directions",
    writes=True,
)
UNRELATE = Verb(
    run=_unrelate,
    usage="bd dep unrelate <id1> <id2>",
    about="Remove a relates-to link between issues",
    writes=True,
)
CYCLES = Verb(run=_cycles, usage="bd dep cycles", about="Detect dependency cycles")
DEP = Verb(
    run=_dep,
    usage="bd dep [add|remove|list|tree|cycles|relate|unrelate], or bd dep A --blocks B",
    about="Manage dependencies between issues",
    flags=(Flag("blocks", short="b", help="Issue ID that this issue blocks"), NO_CHECK),
    writes=True,
)
LINK = Verb(
    run=_link,
    usage="bd link <id1> <id2> [flags]",
    about="Link two issues with a dependency",
    flags=(TYPE,),
    writes=True,
)
