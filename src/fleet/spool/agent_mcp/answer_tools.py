"""What fleet makes of an agent's tool calls: questions, reports of progress, proposals.

In a thread of the supervisor's. A question is on the disk when its call is answered.
"""

from collections.abc import Callable
from datetime import UTC, datetime

import msgspec
from msgspec import structs

from fleet.errors import NotFound
from fleet.files.file_lock import exclusive
from fleet.home import task_json
from fleet.runs import agent_claim, follow_ups
from fleet.runs.agent_claim import AgentClaim
from fleet.runs.follow_ups import PROPOSED
from fleet.runs.questions import asked_json, questions_file
from fleet.spool.agent_mcp.tool_arguments import (
    ProposeArguments,
    ReportArguments,
    check_proposals,
    read_ask,
    read_park,
    read_proposal,
    read_report,
)
from fleet.spool.agent_mcp.tool_server import PARKED
from fleet.spool.agent_rights import AllowedLine, allowed
from fleet.spool.asker import Asker, SentFiles, Served
from fleet.spool.request_files import Answer

_LOCK = "proposals.lock"


#: Carries out `bd create` for the agent; what it makes is held for a person, or is not.
Create = Callable[[AllowedLine, bool], Answer]


def answer_tool(line: AllowedLine, files: SentFiles, asker: Asker, create: Create) -> Served:
    """Carry out one call of a tool. Raises FleetError, Wanted and OSError."""
    data = files.bytes("-")
    match line.name:
        case "ask_human":
            return _ask(data, asker)
        case "park_question":
            return _park(data, asker)
        case "report_progress":
            return _report(read_report(data))
        case "propose_task":
            return _propose(data, asker, create)
        case name:
            raise NotFound(f"there is no tool {name}")


def _ask(data: bytes, asker: Asker) -> Served:
    given = read_ask(data)
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


def _park(data: bytes, asker: Asker) -> Served:
    """Park a question, unless the answer came first."""
    asked = asked_json.park(asker.run.task_dir, read_park(data).id, at=_now())
    if asked.answer is not None:
        return Served(answer=Answer(out=asked.answer))
    said = AgentClaim(
        blocked=f"{questions_file.MARK} {asked.question.splitlines()[0]}", by=asker.mark
    )
    agent_claim.record(asker.run.path, said)
    return Served(
        answer=Answer(out=PARKED), said=said, event="fleet_parked", facts={"id": asked.id}
    )


def _report(report: ReportArguments) -> Served:
    return Served(answer=Answer(out="Noted."), event="fleet_progress", facts={"text": report.line})


def _propose(data: bytes, asker: Asker, create: Create) -> Served:
    """Make a follow-up that waits for a person's word, unless `followups` is auto."""
    given = read_proposal(data)
    title = " ".join(given.title.split())
    with exclusive(asker.run.path / _LOCK):  # an agent may propose several at once
        return _proposed(given, title, asker, create)


def _proposed(given: ProposeArguments, title: str, asker: Asker, create: Create) -> Served:
    settings = task_json.settings_of(asker.home, asker.task)
    tree = follow_ups.below(asker.home, settings.root or asker.task_id)
    if known := tree.titled(title):
        return Served(answer=Answer(out=f"{known} was proposed already with this title."))
    check_proposals(len(follow_ups.of_run(asker.run)), tree.size, settings.depth)
    words = ["create", f"--title={title}", f"--description={given.description}", "--silent"]
    words += [f"--deps={asker.task_id}"] if given.after_this else []
    line = allowed("bd", words, task=asker.task_id, follow_ups=asker.follow_ups())
    held = asker.config.followups != "auto"
    if held:
        note = f"{PROPOSED} by the {asker.name}; fleet answer ID accept, or refuse"
        line = structs.replace(line, args=(*line.args, f"--notes={note}"))
    answer = create(line, held)
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
