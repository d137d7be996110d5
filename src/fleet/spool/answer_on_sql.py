"""The lines of bd on fleet's own queues, carried out in the supervisor's process.

What a line prints is a value: two agents' lines never share a stream.
"""

from io import StringIO
from typing import cast

from fleet.bd.command import Call, Reply, Verb
from fleet.bd.command_line import call_of, carry_out, find_verb, show
from fleet.bd.help import group_help
from fleet.bd.pflag import Parsed
from fleet.queue.sql import dependencies
from fleet.queue.sql.edit_task import Change, edit
from fleet.queue.sql.sql_queue import SqlQueue, Undone
from fleet.queue.sql.tracker.related import edges_from, edges_to
from fleet.schemas import Dependency, Settings, Task
from fleet.schemas.waits import Proposed
from fleet.spool.agent_rights import AllowedLine
from fleet.spool.asker import Asker
from fleet.spool.drop_box import AgentRequest, Answer
from fleet.spool.follow_up_rules import FOLLOWS, check_made


def answer_on_sql(
    asked: AllowedLine, request: AgentRequest, asker: Asker, queue: SqlQueue, *, held: bool = False
) -> Answer:
    """Carry out one line that the table allows; `held`: new tasks wait for a person. Raises
    FleetError and FileMissing.
    """
    if asked.kind == "create" and not asked.line.switch("help"):
        return _create(asked, request, asker, queue, held=held)
    if asked.kind == "link":
        _make_way(asked, queue)
    verb = find_verb(asked.name)
    if verb is None:
        return Answer(out=f"{group_help(asked.name)}\n")
    call = _call(asked, verb, asked.line, request, asker, queue)
    return _shown(call, carry_out(call))


def _create(
    asked: AllowedLine, request: AgentRequest, asker: Asker, queue: SqlQueue, *, held: bool
) -> Answer:
    """Make follow-ups: all that the line asks for under the rules, or none."""
    settings = asker.follow_up_settings(queue.db.now())
    verb = find_verb(asked.name)
    assert verb is not None
    line = asked.with_flag("status", "blocked").line if held else asked.line
    call = _call(asked, verb, line, request, asker, queue, settings)
    reply = Reply()
    try:
        with queue.db.writing():
            reply = carry_out(call)
            _hold_to_rules(call, reply, settings, asker, held=held)
    except Undone:
        pass
    else:
        asker.note_follow_ups(tuple(task.id for task in reply.created), settings)
    return _shown(call, reply)


def _call(
    asked: AllowedLine,
    verb: Verb,
    line: Parsed,
    request: AgentRequest,
    asker: Asker,
    queue: SqlQueue,
    settings: Settings | None = None,
) -> Call:
    """The call of what the table has ruled on, with what the agent sent along."""
    return call_of(
        asked.name, verb, line, queue, env=asker.env, settings=settings,
        out=StringIO(), err=StringIO(),
        stdin=cast("StringIO", request), read_file=request.content,
    )  # fmt: skip


def _shown(call: Call, reply: Reply) -> Answer:
    code = show(call, reply)
    return Answer(
        code=code,
        out=cast("StringIO", call.out).getvalue(),
        err=cast("StringIO", call.err).getvalue(),
    )


def _hold_to_rules(
    call: Call, reply: Reply, settings: Settings, asker: Asker, *, held: bool
) -> None:
    if reply.code != 0 or call.line.switch("dry-run"):
        raise Undone
    queue, task_id = call.queue, asker.task_id
    made = [queue.get(task.id) for task in reply.created]
    asker.check_follow_ups(len(made))
    edges = _edges(queue, made)
    check_made(made, edges, settings, task=task_id, known=asker.follow_ups(), held=held)
    for task in made if held else ():
        proposed = Change(waits=Proposed(by=asker.proposer))
        edit(queue, task.id, proposed, actor=asker.name)
    for task in made:
        if not any(task_id in (edge.task_id, edge.depends_on_id) for edge in _edges(queue, [task])):
            queue.depend(task.id, task_id, FOLLOWS, by=asker.name)


def _edges(queue: SqlQueue, tasks: list[Task]) -> list[Dependency]:
    """All edges that lead to or from these tasks."""
    ids = [task.id for task in tasks]
    found = (*edges_from(queue, ids).values(), *edges_to(queue, ids).values())
    return [edge for edges in found for edge in edges]


def _make_way(asked: AllowedLine, queue: SqlQueue) -> None:
    """Take out the edge that only says where a follow-up came from: between two tasks there is one
    edge, and the agent wants another.
    """
    line = asked.line
    ends = [*line.words, line.text("blocked-by") or line.text("depends-on")]
    task, target = (_id(word, queue) for word in (*ends, "", "")[:2])
    for edge in edges_from(queue, [task]).get(task, ()):
        if edge.depends_on_id == target and edge.type == FOLLOWS:
            with queue.db.writing():
                dependencies.undepend(queue, task, target)


def _id(word: str, queue: SqlQueue) -> str:
    return word if not word or queue.exists(word) else f"{queue.prefix}-{word}"
