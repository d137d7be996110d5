"""How a task stands, as people see it on every surface: one function from what is known of the task
to its state, the reason, and the act that would change it. Pure.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal, assert_never

from msgspec import Struct

from fleet.schemas.shown_text import cut, first_line
from fleet.schemas.task import Status, Task
from fleet.schemas.waits import (
    Asks,
    BudgetSpent,
    CannotLand,
    ClosedPastFleet,
    Compared,
    Halted,
    NeedsApproval,
    OutOfAttempts,
    OutOfScope,
    PlanWritten,
    Proposed,
    PutOff,
    SetAside,
    TakenBack,
    ToLand,
    ToMend,
    Waits,
    reason_of,
)

TaskState = Literal[
    "ready", "waiting", "running", "asks", "verifying", "to land", "needs approval", "sent back",
    "landed", "done", "failed", "stopped",
]  # fmt: skip
#: By what the person has to do, most urgent first.
Group = Literal["needs_you", "running", "waiting", "done"]

_GROUPS: Mapping[TaskState, Group] = {
    "ready": "waiting", "waiting": "waiting", "running": "running", "asks": "needs_you",
    "verifying": "running", "to land": "running", "needs approval": "needs_you",
    "sent back": "waiting", "landed": "done", "done": "done", "failed": "needs_you",
    "stopped": "needs_you",
}  # fmt: skip
#: Steps of a run beside the plain work of its agent, by the word of `Doing`.
_STEPS: Mapping[str, str] = {
    "starting": "starting",
    "stopping": "stopping",
    "settling": "finishing",
    "unsupervised": "unsupervised",
}
#: What a task waits for at the end of a chain, by the state of the last task of the chain.
_ROOTS: Mapping[TaskState, str] = {
    "ready": "its turn", "running": "its run", "verifying": "its verification",
    "to land": "its landing", "sent back": "its agent", "asks": "your answer",
    "needs approval": "your approval", "failed": "your retry",
}  # fmt: skip
#: How much of a title a chain shows.
_TITLE = 40


class WayOn(Struct, frozen=True, kw_only=True):
    """The act that would change how a task stands, and the act's command line."""

    #: A verb of `control/acts/act_table.py`; empty: only the command line does it.
    verb: str
    line: str
    #: Another task that is to be looked at first; empty: none.
    task: str = ""


class Wait(Struct, frozen=True, kw_only=True):
    """Why a task does not start now, and the act that would change that. A gate makes one. The
    subclasses of a subject carry more facts.
    """

    #: The name of the gate, for programs and the log.
    gate: str = ""
    reason: str
    #: When it is over, or when the task is tried again.
    until: datetime | None = None
    way_on: WayOn | None = None
    #: Only a person can set the task going; with `again` it is tried again at `until` all the same.
    person: bool = False
    again: bool = False
    #: What a task that was claimed is blocked with; None: it is put off.
    blocks: Waits | None = None
    #: The task is ready: what is missing is a fact of the home, not of the task.
    ready: bool = False
    #: On a queue that hosts share: what this host lacks for the task, as other hosts show it.
    declined: str = ""

    @property
    def words(self) -> str:
        """The reason, with the command that helps."""
        line = self.way_on.line if self.way_on is not None else ""
        return f"{self.reason}: {line}" if line else self.reason


class OnTheWay(Struct, frozen=True, kw_only=True):
    """How far accepted work is on the way to its branch."""

    step: Literal["waiting", "asks", "testing", "ahead", "landed", "back", "held"]
    words: str
    #: Why it asks, is held, or was sent back.
    why: str = ""
    #: The work was sent back as often as it may be.
    is_out_of_tries: bool = False
    #: The branch fails by itself: the work is tried again when the branch moves.
    waits_for_line: bool = False


class AskedNow(Struct, frozen=True, kw_only=True):
    """What is asked of a person."""

    text: str
    way_on: WayOn
    #: A plan is to be approved, and nothing is asked.
    plan: bool = False


class AtWork(Struct, frozen=True, kw_only=True):
    """What goes on with a task in progress."""

    #: A word of `Doing`.
    doing: str
    reason: str = ""
    way_on: WayOn | None = None


class TaskFacts(Struct, frozen=True, kw_only=True):
    """What a task's state follows from, as far as a surface knows it."""

    id: str
    status: Status
    waits: Waits | None = None
    close_reason: str = ""
    #: A question that is open, also while the agent runs.
    asked: AskedNow | None = None
    #: Of a task in progress.
    work: AtWork | None = None
    landing: OnTheWay | None = None
    #: Of a task that is being compared: how many entries are over, and how many there are.
    entries: tuple[int, int] | None = None
    #: Why an open task cannot start now; None: nothing is known to be in its way.
    hindrance: Wait | None = None


class Standing(Struct, frozen=True, kw_only=True):
    """How a task stands: the state, why, until when, and what would change it."""

    state: TaskState
    reason: str = ""
    until: datetime | None = None
    way_on: WayOn | None = None
    #: Of a task that waits: only a person can set it going.
    person: bool = False

    @property
    def group(self) -> Group:
        """What the person has to do about it."""
        return "needs_you" if self.person else _GROUPS[self.state]

    @property
    def words(self) -> str:
        """State and reason on one line."""
        reason = first_line(self.reason)
        return f"{self.state}: {reason}" if reason else self.state


def row_state(task: Task) -> Standing:
    """How a blocked task stands, by its row alone: the landing's own record may know more."""
    return state_of(TaskFacts(id=task.id, status=task.status, waits=task.waits))


def state_of(facts: TaskFacts) -> Standing:
    """How a task stands. The one place where facts turn into the word that people see."""
    match facts.status:
        case "closed" if facts.landing is not None and facts.landing.step == "ahead":
            return _on_the_way(facts.id, facts.landing)  # closed by hand: it lands all the same
        case "closed":
            landed = facts.landing is not None and facts.landing.step == "landed"
            return Standing(state="landed" if landed else "done", reason=facts.close_reason)
        case "in_progress":
            return _in_progress(facts)
        case "blocked" | "pinned" | "hooked":
            return _blocked(facts)
        case _:
            return _open(facts)


def _in_progress(facts: TaskFacts) -> Standing:
    if facts.asked is not None:
        return Standing(state="asks", reason=facts.asked.text, way_on=facts.asked.way_on)
    work = facts.work or AtWork(doing="running")
    match work.doing:
        case "waiting" | "held" | "invalid":
            state: TaskState = "waiting"
        case "verifying":
            state = "verifying"
        case _:
            state = "running"
    person = work.doing == "invalid"
    reason = ": ".join(filter(None, (_STEPS.get(work.doing, ""), work.reason)))
    return Standing(state=state, reason=reason, way_on=work.way_on, person=person)


def _open(facts: TaskFacts) -> Standing:
    landing, held = facts.landing, facts.hindrance
    sent_back = landing is not None and landing.step == "back"
    if landing is not None and sent_back and (held is None or not held.person):
        reasons = (landing.why or landing.words, held.reason if held is not None else "")
        return Standing(
            state="sent back",
            reason="; ".join(filter(None, reasons)),
            until=held.until if held is not None else None,
            way_on=held.way_on if held is not None else None,
        )
    if held is not None:
        return Standing(
            state="ready" if held.ready else "waiting", reason=held.reason, until=held.until,
            way_on=held.way_on, person=held.person and not held.again,
        )  # fmt: skip
    return Standing(state="ready")


def _blocked(facts: TaskFacts) -> Standing:
    if facts.entries is not None:
        return _compared(facts.id, *facts.entries)
    landing = facts.landing
    if landing is not None and isinstance(facts.waits, ToLand | CannotLand | None):
        return _on_the_way(facts.id, landing)
    if facts.asked is not None:
        state: TaskState = "needs approval" if facts.asked.plan else "asks"
        return Standing(state=state, reason=facts.asked.text, way_on=facts.asked.way_on)
    if facts.waits is None:
        return Standing(state="stopped", way_on=_retry(facts.id))
    return _waiting_for(facts.waits, facts.id)


def _waiting_for(waits: Waits, task_id: str) -> Standing:
    """By the value in the row alone."""
    why = reason_of(waits)
    match waits:
        case Asks():
            return Standing(state="asks", reason=why, way_on=answer_line(task_id))
        case Proposed():
            way = WayOn(verb="answer", line=f"fleet answer {task_id} accept")
            return Standing(state="asks", reason=why, way_on=way)
        case PlanWritten():
            way = _line(f"fleet plan approve {task_id}")
            return Standing(state="needs approval", reason=why, way_on=way)
        case NeedsApproval() | ClosedPastFleet():
            way = _line(f"fleet bd close {task_id}")
            return Standing(state="needs approval", reason=why, way_on=way)
        case ToLand():
            return Standing(state="to land", reason=why)
        case PutOff():
            return Standing(state="waiting", reason=why, way_on=_retry(task_id))
        case Compared():
            return Standing(state="waiting", reason=why, way_on=_line(f"fleet compare {task_id}"))
        case CannotLand() | OutOfAttempts() | OutOfScope():
            return Standing(state="failed", reason=why, way_on=_retry(task_id))
        case BudgetSpent() | ToMend():
            return Standing(state="waiting", reason=why, way_on=_retry(task_id), person=True)
        case Halted() | SetAside():
            return Standing(state="stopped", reason=why, way_on=_retry(task_id))
        case TakenBack():
            way = _line(f"fleet retry --fresh {task_id}")
            return Standing(state="stopped", reason=why, way_on=way)
        case _:
            assert_never(waits)


def _on_the_way(task_id: str, landing: OnTheWay) -> Standing:
    """Accepted work that is not on its branch."""
    why = landing.why or landing.words
    match landing.step:
        case "held":
            way = WayOn(verb="release", line=f"fleet land --release {task_id}")
            return Standing(state="stopped", reason=why, way_on=way)
        case "asks" if landing.waits_for_line:
            way = WayOn(verb="land", line=f"fleet land {task_id}")
            return Standing(state="waiting", reason=why, way_on=way, person=True)
        case "asks" if landing.is_out_of_tries:
            way = WayOn(verb="reject", line=f'fleet review {task_id} --reject "…"')
            return Standing(state="failed", reason=why, way_on=way)
        case "asks":
            way = WayOn(verb="land", line=f"fleet land {task_id}")
            return Standing(state="needs approval", reason=why, way_on=way)
        case "ahead":  # a person's checkout is in the way
            return Standing(state="to land", reason=why, person=True)
        case "back":  # its agent went on and was stopped, or failed
            return Standing(state="failed", reason=why, way_on=_retry(task_id))
        case _:
            return Standing(state="to land", reason=landing.words)


def _compared(task_id: str, over: int, entries: int) -> Standing:
    way = WayOn(verb="pick", line=f"fleet compare {task_id}")
    if over < entries:
        reason = f"{over} of {entries} entries are over"
        return Standing(state="waiting", reason=reason, way_on=way)
    reason = f"{entries} entries are over; pick one"
    return Standing(state="needs approval", reason=reason, way_on=way)


class Link(Struct, frozen=True, kw_only=True):
    """One task of a chain of tasks that wait for each other."""

    id: str
    title: str
    standing: Standing
    blockers: tuple[str, ...] = ()


def with_root(first: Sequence[str], known: Mapping[str, Link]) -> Standing:
    """How a task stands that waits for other tasks: for what the last of them waits, and the act
    that would change that. Of several blockers the one is followed that needs a person.
    """
    chain, names = list[Link](), list[str]()
    waits_for, seen = tuple(first), set[str]()
    while waits_for:
        links = [known[each] for each in waits_for if each in known and each not in seen]
        if not links:
            names += [] if chain else [waits_for[0]]
            break
        link = min(links, key=lambda each: each.standing.group != "needs_you")
        seen.add(link.id)
        chain.append(link)
        names.append(cut(first_line(link.title), _TITLE))
        waits_for = link.blockers if link.standing.group == "waiting" else ()
    root = chain[-1] if chain else None
    task = root.id if root is not None else first[0]
    names += [_end(root.standing)] if root is not None else []
    way = root.standing.way_on if root is not None else None
    line = way.line if way is not None else f"fleet show {task}"
    return Standing(
        state="waiting",
        reason=f"waits for {' ← '.join(each for each in names if each)}",
        way_on=WayOn(verb="", line=line, task=task),
    )


def _end(root: Standing) -> str:
    why = first_line(root.reason)
    return why if root.state == "ready" and why else _ROOTS.get(root.state, why)


def answer_line(task_id: str) -> WayOn:
    """The command that answers a question."""
    return WayOn(verb="answer", line=f'fleet answer {task_id} "…"')


def _retry(task_id: str) -> WayOn:
    return WayOn(verb="retry", line=f"fleet retry {task_id}")


def _line(line: str) -> WayOn:
    return WayOn(verb="", line=line)
