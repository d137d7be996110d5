"""Why a task waits: a value that is stored with the task. Pure.

Settlements and acts write the value, and `words` makes the text that people see. No code reads a
text back: a kind with its facts is what decides.
"""

from typing import assert_never

from msgspec import Struct

#: How the note of a question to a person begins, for clients of bd; and that of a proposed task.
MARK, PROPOSED = "QUESTION:", "PROPOSED:"


class WaitFacts(Struct, frozen=True, kw_only=True, tag_field="kind"):
    """The facts of one kind of wait."""


class Asks(WaitFacts, frozen=True, kw_only=True, tag="question"):
    """An agent or a person asked something. The question is open until the task leaves `blocked`:
    it was answered then, or withdrawn.
    """

    #: Empty: the agent gave no reason.
    text: str = ""


class Proposed(WaitFacts, frozen=True, kw_only=True, tag="proposal"):
    """An agent proposed the task, and a person accepts or refuses it."""

    by: str = "an agent"


class PlanWritten(WaitFacts, frozen=True, kw_only=True, tag="plan"):
    """The task's plan is written, and a person approves it."""


class NeedsApproval(WaitFacts, frozen=True, kw_only=True, tag="approval"):
    """The claim holds, and a person decides whether it is enough."""

    reasons: tuple[str, ...]


class ToLand(WaitFacts, frozen=True, kw_only=True, tag="landing"):
    """The claim holds, and the task is closed once its work is on the branch. `landing.json` says
    how far the work is.
    """

    #: Empty: a person has to name a branch.
    into: str = ""


class OnLine(ToLand, frozen=True, kw_only=True, tag="line"):
    """The line of the branch has the work, and the branch does not yet, since a checkout is in the
    way. Tasks that wait for this one can begin: their code comes from the line.
    """


class CannotLand(WaitFacts, frozen=True, kw_only=True, tag="unlandable"):
    """The work was sent back as often as it may be, and still cannot land."""

    why: str
    #: How often it was sent back; 0: that is not known.
    tries: int = 0
    into: str = ""
    #: The tasks that landed there since.
    against: str = ""


class Compared(WaitFacts, frozen=True, kw_only=True, tag="comparison"):
    """Several coders work on copies of the task."""

    by: str = ""


class OutOfAttempts(WaitFacts, frozen=True, kw_only=True, tag="attempts"):
    """The last attempt failed as well."""

    why: str
    made: int
    limit: int


class OutOfScope(WaitFacts, frozen=True, kw_only=True, tag="scope"):
    """A run changed files that it must not change."""

    what: str


class BudgetSpent(WaitFacts, frozen=True, kw_only=True, tag="budget"):
    """The task's own budget is spent."""

    what: str


class ToMend(WaitFacts, frozen=True, kw_only=True, tag="broken"):
    """Something has to be mended before the task can run."""

    what: str
    #: What a person can do about it; empty: nothing more is known.
    hint: str = ""


class Halted(WaitFacts, frozen=True, kw_only=True, tag="stopped"):
    """A person stopped the task."""

    by: str


class TakenBack(WaitFacts, frozen=True, kw_only=True, tag="reverted"):
    """A person took the task's work off the branch again."""

    into: str
    commit: str
    by: str


class ClosedPastFleet(WaitFacts, frozen=True, kw_only=True, tag="unproved_close"):
    """The task was closed past fleet while its agent was at work, again and again."""


class SetAside(WaitFacts, frozen=True, kw_only=True, tag="by_hand"):
    """A person or a client of bd set the task to blocked."""

    #: What they noted; empty: nothing.
    note: str = ""


class PutOff(WaitFacts, frozen=True, kw_only=True, tag="put_off"):
    """The supervisor claims the task again at the `not_before` of the task, which stays open."""

    why: str
    #: The gate that holds the task; empty: none does.
    gate: str = ""
    #: The command line that would change it; empty: none is known.
    line: str = ""
    #: Only a person can change it.
    person: bool = False


Waits = (
    Asks
    | Proposed
    | PlanWritten
    | NeedsApproval
    | ToLand
    | OnLine
    | CannotLand
    | Compared
    | OutOfAttempts
    | OutOfScope
    | BudgetSpent
    | ToMend
    | Halted
    | TakenBack
    | ClosedPastFleet
    | SetAside
    | PutOff
)

#: Why a task that was closed past fleet is opened again.
PAST_FLEET = (
    "it was closed past fleet while its agent was at work, and nothing shows that it is done"
)


def reason_of(waits: Waits) -> str:
    """Why the task waits, without the command that helps; empty: no reason was given."""
    match waits:
        case PutOff(why=why):
            return why
        case Asks(text=text):
            return text or "the agent blocked the task and gave no reason"
        case Proposed(by=by):
            return f"proposed by {by}"
        case PlanWritten():
            return "a plan waits for you"
        case NeedsApproval(reasons=reasons):
            return "; ".join(reasons)
        case ToLand(into=into) | OnLine(into=into):
            return f"waits to land on {into or 'a branch'}"
        case CannotLand(why=why, tries=tries):
            times = "once" if tries == 1 else f"{tries} times"
            often = f" (sent back {times}, land_tries)" if tries else ""
            return f"its work cannot land: {why}{often}"
        case Compared(by=by):
            return f"{by} has it compared"
        case OutOfAttempts(why=why, made=made, limit=limit):
            return f"{why} (attempt {made} of {limit})"
        case OutOfScope(what=what) | ToMend(what=what):
            return what
        case BudgetSpent(what=what):
            return f"limit exceeded (task_budget): {what}"
        case Halted(by=by):
            return f"stopped by {by}"
        case TakenBack(into=into, commit=commit, by=by):
            return f"its work was taken off {into} by {by} (commit {commit[:12]})"
        case ClosedPastFleet():
            return PAST_FLEET
        case SetAside(note=note):
            return note
        case _:
            assert_never(waits)


def words(waits: Waits, task_id: str) -> str:
    """Why the task waits, and the commands that help, as people and clients of bd read it."""
    why = reason_of(waits)
    match waits:
        case Asks():
            return f"{MARK} {why}"
        case Proposed(by=by):
            return f"{PROPOSED} by {by}; fleet answer {task_id} accept, or refuse"
        case PlanWritten():
            return (
                f"{why}: fleet plan show {task_id}. Then: fleet plan approve"
                f' {task_id}, or fleet plan revise {task_id} "…", or fleet plan cancel {task_id}'
            )
        case NeedsApproval():
            return (
                f"{why}. To take it as done: fleet bd close {task_id}. To try again: fleet retry"
                f" {task_id}. To set its check first: fleet bd update {task_id} --verify 'CMD'"
            )
        case CannotLand(into=into, against=against):
            others = f", landed by {against}" if against else ""
            return (
                f"{why}\nThe two sides: the work of {task_id} (fleet review {task_id}), and"
                f" {into}{others}. To have its agent try again: fleet retry {task_id}"
            )
        case Compared():
            return f"{why}: fleet compare {task_id}"
        case OutOfScope():
            return (
                f"{why}\nSee: fleet task {task_id} receipt. To go on all the same: fleet retry"
                f" {task_id}"
            )
        case ToMend(hint=hint):
            first = f"{why}. {hint}".rstrip(" .")
            return f"{first}. Once that is mended: fleet retry {task_id}"
        case Halted():
            return f"{why}; to go on: fleet retry {task_id}"
        case TakenBack():
            return (
                f"{why}. To have it done anew: fleet retry --fresh {task_id}. To leave it:"
                f" fleet bd close {task_id}"
            )
        case ClosedPastFleet():
            return f"{why}; to close it all the same: fleet bd close {task_id}"
        case PutOff(line=line):
            return f"{why}: {line}" if line else why
        case ToLand() | OutOfAttempts() | BudgetSpent() | SetAside():
            return why
        case _:
            assert_never(waits)


def note_of(waits: Waits, task_id: str) -> str:
    """What is added to the task's notes for clients of bd; empty: nothing, since the wait ends by
    itself and the note would not.
    """
    return "" if isinstance(waits, ToLand | Compared | PutOff) else words(waits, task_id)
