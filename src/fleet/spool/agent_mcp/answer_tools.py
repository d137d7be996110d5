"""What fleet makes of an agent's tool calls: questions, reports of progress, proposals.

In a thread of the supervisor's. A question is on the disk when its call is answered.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

from fleet.errors import BadInput, NotFound
from fleet.files.file_lock import exclusive
from fleet.home import task_json
from fleet.queue.sql.sql_queue import SqlQueue
from fleet.runs import agent_claim, follow_ups
from fleet.runs.agent_claim import AgentClaim
from fleet.runs.questions import asked_json, questions_file
from fleet.schemas import typed
from fleet.schemas.waits import Asks, Proposed, words
from fleet.spool.agent_mcp.tool_server import PARKED
from fleet.spool.agent_rights import AllowedLine, allowed
from fleet.spool.answer_by_program import answer_on_beads
from fleet.spool.answer_on_sql import answer_on_sql
from fleet.spool.asker import Asker, Served
from fleet.spool.drop_box import AgentRequest, Answer
from fleet.spool.follow_up_rules import check_proposals

_LOCK = "proposals.lock"
#: Characters of a question and of a report.
QUESTION, _REPORT = 4000, 300
#: A title or an option: not blank, and short enough for a list.
_ShortText = Annotated[str, Meta(pattern=r"\S", max_length=200)]

T = TypeVar("T")


class AskArguments(Struct, frozen=True):
    """Of `ask_human`."""

    question: Annotated[str, Meta(pattern=r"\S", max_length=QUESTION)]
    options: Annotated[tuple[_ShortText, ...], Meta(max_length=8)] = ()
    default: Annotated[str, Meta(max_length=200)] = ""
    #: What the server calls the question, for the answer that may come before fleet's own.
    id: Annotated[str, Meta(pattern="^[0-9a-f]{16}$")] = ""


class ParkArguments(Struct, frozen=True):
    """Of `park_question`."""

    id: str


class ReportArguments(Struct, frozen=True):
    """Of `report_progress`."""

    text: Annotated[str, Meta(pattern=r"\S")]
    done: int | None = None
    of: int | None = None

    @property
    def line(self) -> str:
        """The report in one line."""
        text = " ".join(self.text.split())[:_REPORT]
        if self.done is None:
            return text
        return f"{text} ({self.done}{'' if self.of is None else f' of {self.of}'})"


class ProposeArguments(Struct, frozen=True):
    """Of `propose_task`."""

    title: _ShortText
    description: Annotated[str, Meta(pattern=r"\S", max_length=20_000)]
    after_this: bool = False


def answer_tool(
    line: AllowedLine, request: AgentRequest, asker: Asker, tracker: Callable[[], SqlQueue] | None
) -> Served:
    """Carry out one call of a tool; no `tracker`: the queue is beads. Raises FleetError,
    FileMissing and OSError.
    """
    data = request.content("-")
    match line.name:
        case "ask_human":
            return _ask(_read(data, AskArguments), asker)
        case "park_question":
            return _park(_read(data, ParkArguments), asker)
        case "report_progress":
            report = _read(data, ReportArguments)
            facts = {"text": report.line}
            return Served(answer=Answer(out="Noted."), event="fleet_progress", facts=facts)
        case "propose_task":
            given = _read(data, ProposeArguments)
            with exclusive(asker.run.path / _LOCK):  # an agent may propose several at once
                return _propose(given, asker, tracker)
        case name:
            raise NotFound(f"there is no tool {name}")


def _read(data: bytes, kind: type[T]) -> T:
    """The arguments of a call; a null was left out, as models do. Raises BadInput."""
    try:
        given = typed.decode(data, dict[str, Any])
        return typed.convert({k: v for k, v in given.items() if v is not None}, kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"the arguments cannot be used: {error}") from None


def _ask(given: AskArguments, asker: Asker) -> Served:
    task_dir, run = asker.run.task_dir, asker.run.number
    asked, is_new = asked_json.ask(
        task_dir, given.question.strip(), run=run, at=_now(),
        options=tuple(option.strip() for option in given.options), default=given.default.strip(),
        name=given.id,
    )  # fmt: skip
    # Where no person would hear of the question soon, the slot is worth more than the session's
    # warm cache.
    wait = asker.run.spec().policy.ask_wait if asker.is_heard(_now()) else 0.0
    shape = {"id": asked.id, "answer": asked.answer, "wait": wait}
    answer = Answer(out=msgspec.json.encode(shape).decode())
    if not is_new:
        return Served(answer=answer)
    questions_file.add_block(task_dir, asked.block)
    facts = {"question": asked.question, "options": asked.options, "id": asked.id}
    return Served(answer=answer, event="fleet_asked", facts=facts)


def _park(given: ParkArguments, asker: Asker) -> Served:
    """Park a question, unless the answer came first."""
    asked = asked_json.park(asker.run.task_dir, given.id, at=_now())
    if asked.answer is not None:
        return Served(answer=Answer(out=asked.answer))
    said = AgentClaim(blocked=words(Asks(text=asked.first_line), asker.task_id), by=asker.mark)
    agent_claim.record(asker.run.path, said)
    return Served(
        answer=Answer(out=PARKED), said=said, event="fleet_parked", facts={"id": asked.id}
    )


def _propose(
    given: ProposeArguments, asker: Asker, tracker: Callable[[], SqlQueue] | None
) -> Served:
    """Make a follow-up that waits for a person's word, unless `followups` is auto."""
    title = " ".join(given.title.split())
    settings = task_json.settings_of(asker.home, asker.task)
    tree = follow_ups.below(asker.home, settings.root or asker.task_id)
    if known := tree.titled(title):
        return Served(answer=Answer(out=f"{known} was proposed already with this title."))
    check_proposals(len(follow_ups.of_run(asker.run)), tree.size, settings.depth)
    typed = ["create", f"--title={title}", f"--description={given.description}", "--silent"]
    typed += [f"--deps={asker.task_id}"] if given.after_this else []
    line = allowed("bd", typed, task=asker.task_id, follow_ups=asker.follow_ups())
    held = asker.config.followups != "auto"
    if held:
        line = line.with_flag("notes", words(Proposed(by=asker.proposer), "ID"))
    request = AgentRequest(program="bd", args=())  # its line names no files
    answer = (
        answer_on_beads(line, request, asker, held=held)
        if tracker is None
        else answer_on_sql(line, request, asker, tracker(), held=held)
    )
    if answer.code != 0:
        return Served(answer=answer)
    new = answer.out.strip()
    follow_ups.note_title(asker.run, new, title)
    waits = "it waits until a person accepts it" if held else "it is in the queue"
    return Served(
        answer=Answer(out=f"Proposed {new}: {waits}."),
        event="fleet_proposed",
        facts={"task": new, "title": title, "held": held},
    )


def _now() -> datetime:
    return datetime.now(UTC)
