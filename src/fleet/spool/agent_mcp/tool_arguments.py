"""The arguments of an agent's tool calls, read and held to their sizes. Pure.

What an agent writes is data: it is cut to what a person can read, and is never obeyed.
"""

from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

from fleet.errors import BadInput, Refused

T = TypeVar("T")

#: Characters of a question, of an option or default, of a report, of a title and a description.
QUESTION, OPTION, REPORT, TITLE, DESCRIPTION = 4000, 200, 300, 200, 20_000
MOST_OPTIONS = 8
#: Proposals that one run may make, and those below one task of a person's; how many in a row.
PROPOSED_A_RUN, PROPOSED_A_TREE, PROPOSED_DEPTH = 5, 20, 2


class AskArguments(Struct, frozen=True):
    """Of `ask_human`."""

    question: str
    options: tuple[str, ...] = ()
    default: str = ""
    #: What the server calls the question, for the answer that may come before fleet's own.
    id: Annotated[str, Meta(pattern="^[0-9a-f]{16}$")] = ""


class ParkArguments(Struct, frozen=True):
    """Of `park_question`."""

    id: str


class ReportArguments(Struct, frozen=True):
    """Of `report_progress`."""

    text: str
    done: int | None = None
    of: int | None = None

    @property
    def line(self) -> str:
        """The report in one line."""
        text = " ".join(self.text.split())[:REPORT]
        if self.done is None:
            return text
        return f"{text} ({self.done}{'' if self.of is None else f' of {self.of}'})"


class ProposeArguments(Struct, frozen=True):
    """Of `propose_task`."""

    title: str
    description: str
    after_this: bool = False


def read_ask(data: bytes) -> AskArguments:
    """Raises BadInput."""
    asked = _read(data, AskArguments)
    _check("question", asked.question, QUESTION)
    if len(asked.options) > MOST_OPTIONS:
        raise BadInput(f"a question has at most {MOST_OPTIONS} options")
    for option in asked.options:
        _check("option", option, OPTION)
    if asked.default:
        _check("default", asked.default, OPTION)
    return asked


def read_park(data: bytes) -> ParkArguments:
    """Raises BadInput."""
    return _read(data, ParkArguments)


def read_report(data: bytes) -> ReportArguments:
    """Raises BadInput."""
    report = _read(data, ReportArguments)
    if not report.text.strip():
        raise BadInput("the text is empty")
    return report


def read_proposal(data: bytes) -> ProposeArguments:
    """Raises BadInput."""
    proposal = _read(data, ProposeArguments)
    _check("title", proposal.title, TITLE)
    _check("description", proposal.description, DESCRIPTION)
    return proposal


def check_proposals(in_run: int, in_tree: int, depth: int) -> None:
    """Refuse a proposal beyond what a run, a tree of tasks or a row of them may have."""
    way = "Put what is left to do into the reason that you close this task with."
    if depth >= PROPOSED_DEPTH:
        raise Refused(
            f"this task was itself proposed, and {PROPOSED_DEPTH} in a row is as far as it goes",
            hint=way,
        )
    if in_run >= PROPOSED_A_RUN:
        raise Refused(f"a run may propose {PROPOSED_A_RUN} tasks", hint=way)
    if in_tree >= PROPOSED_A_TREE:
        raise Refused(f"{PROPOSED_A_TREE} tasks came of one task by now", hint=way)


def _read(data: bytes, kind: type[T]) -> T:
    """The arguments of a call; a null was left out, as models do."""
    try:
        given = msgspec.json.decode(data, type=dict[str, Any])
        return msgspec.convert({k: v for k, v in given.items() if v is not None}, kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"the arguments cannot be used: {error}") from None


def _check(name: str, text: str, longest: int) -> None:
    if not text.strip():
        raise BadInput(f"the {name} is empty")
    if len(text) > longest:
        raise BadInput(f"the {name} has {len(text)} characters; at most {longest} are read")
