"""From a request in a box to the answer: read, held against the table, carried out.

Nothing here raises: what is wrong with a request is its answer.
"""

from collections.abc import Callable

from msgspec import Struct, structs

from fleet.bd.command_line import STORAGE
from fleet.config import Config
from fleet.errors import FleetError, InvalidTask, Refused
from fleet.home import Home
from fleet.queue.sql.sql_queue import SqlQueue
from fleet.runs import agent_claim
from fleet.runs.questions import asked_json
from fleet.runs.run_directory import Run
from fleet.schemas import Task
from fleet.spool.agent_mcp.answer_tools import answer_tool
from fleet.spool.agent_rights import AllowedLine, allowed
from fleet.spool.answer_by_program import answer_fleet, answer_on_beads
from fleet.spool.answer_on_sql import answer_on_sql
from fleet.spool.asker import Asker, Served
from fleet.spool.claim_line import claim_of
from fleet.spool.drop_box import AgentRequest, Answer, DropBox, FileMissing, read_request
from fleet.spool.post_messages import note_taken

_STORAGE_HINT = "The person who runs fleet sees to the tracker."


class RuledRequest(Struct, frozen=True, kw_only=True):
    """A request that was read and held against the table."""

    request: AgentRequest
    #: None: the request is answered already.
    line: AllowedLine | None = None
    #: The line takes the tracker's connection; any other takes this process or a program.
    on_tracker: bool = False
    answer: Answer | None = None
    #: Why the table refuses the request; empty: it does not.
    refused: str = ""


def rule(data: bytes, asker: Asker) -> RuledRequest:
    """Read one request and hold that against the table."""
    request = AgentRequest(program="", args=())
    try:
        request = _masked(read_request(data), asker)
        line = allowed(
            request.program, request.args, task=asker.task_id, follow_ups=asker.follow_ups()
        )
    except FleetError as error:
        refused = error.message if isinstance(error, Refused) else ""
        return RuledRequest(request=request, answer=error_answer(error), refused=refused)
    return RuledRequest(request=request, line=line, on_tracker=_on_tracker(line, asker))


def _masked(request: AgentRequest, asker: Asker) -> AgentRequest:
    """A request without the run's secrets: a comment, a note or a title is for all to read."""
    mask = asker.mask
    files = {
        name: mask(data.decode(errors="surrogateescape")).encode(errors="surrogateescape")
        for name, data in request.files.items()
    }
    return structs.replace(request, args=tuple(map(mask, request.args)), files=files)


def _on_tracker(line: AllowedLine, asker: Asker) -> bool:
    if line.kind in ("claim", "storage", "ask", "progress"):
        return False
    return line.program != "fleet" and asker.config.queue != "beads"


def serve(
    ruled: RuledRequest, asker: Asker, tracker: Callable[[], SqlQueue] | None = None
) -> Served:
    """Carry out a request. A claim is on the disk when this returns."""
    if ruled.line is None:
        return Served(answer=ruled.answer or Answer())
    try:
        if ruled.line.program == "mcp":
            return answer_tool(ruled.line, ruled.request, asker, tracker)
        if ruled.line.kind == "claim":
            return _record_claim(ruled.line, ruled.request, asker)
        if ruled.line.program == "fleet":
            return answer_fleet(ruled.line, asker)
        return Served(answer=_carry_out(ruled, ruled.line, asker, tracker))
    except FileMissing as wanted:
        return Served(answer=Answer(wanted=wanted.name))
    except FleetError as error:
        return Served(answer=error_answer(error))
    except OSError as error:
        return Served(answer=Answer(code=1, err=f"Error: {error.strerror or error}\n"))


def _carry_out(
    ruled: RuledRequest,
    line: AllowedLine,
    asker: Asker,
    tracker: Callable[[], SqlQueue] | None,
) -> Answer:
    if line.kind == "storage":
        if asker.config.queue == "beads":
            raise Refused(f"an agent may not run `bd {line.name}`", hint=_STORAGE_HINT)
        code, _, text = STORAGE[line.name]
        return Answer(code=code, out=f"{text}\n")
    if ruled.on_tracker:
        assert tracker is not None
        return answer_on_sql(line, ruled.request, asker, tracker())
    return answer_on_beads(line, ruled.request, asker)


def _record_claim(line: AllowedLine, request: AgentRequest, asker: Asker) -> Served:
    spoken, text = claim_of(line, asker.task_id, request.text)
    if spoken.blocked is None and (asked := _unanswered(asker)):
        raise Refused(
            f"{asker.task_id} asks a person {asked!r}, and is not done before that is answered",
            hint="End this run now: the answer starts the next one, in this session.",
        )
    before = agent_claim.read(asker.run.path, by=asker.mark)
    if spoken.done is not None and before.blocked is not None:
        raise Refused(
            f"{asker.task_id} was blocked by this run, and is not done before a person answers",
            hint="End this run now. To take the question back:"
            f" bd update {asker.task_id} --status in_progress",
        )
    said = structs.replace(spoken, by=asker.mark)
    agent_claim.record(asker.run.path, said)
    return Served(answer=Answer(out=text), said=said)


def _unanswered(asker: Asker) -> str:
    """The question of this run that a person has not answered; empty: there is none."""
    asked = asked_json.unheard(asker.run.task_dir, asker.run.number)
    return asked.first_line if asked is not None else ""


def error_answer(error: FleetError) -> Answer:
    """An error in the words of the commands."""
    hint = f"{error.hint}\n" if error.hint else ""
    return Answer(code=error.exit_code, err=f"Error: {error.message}\n{hint}")


def record_last_words(home: Home, config: Config, task: Task, run: Run, mark: str) -> None:
    """Record the claims that wait in the box of a run that has ended, and the messages that the
    agent took: for `fleet stop` without a supervisor. All else is left.
    """
    try:
        box = DropBox(run.spool)
    except OSError:
        return
    asker = Asker(home=home, config=config, task=task, run=run, mark=mark)
    try:
        note_taken(run, box)
        for nonce in box.requests():
            _record_left(box, nonce, asker)
    finally:
        box.close()


def _record_left(box: DropBox, nonce: str, asker: Asker) -> None:
    try:
        data = box.read(nonce)
    except InvalidTask:
        return
    if data is None:
        return
    ruled = rule(data, asker)
    if ruled.line is not None and ruled.line.kind == "claim":
        box.answer(nonce, serve(ruled, asker).answer)
