"""What becomes of a task after a run, and the reasons of stops by fleet. Pure."""

from datetime import datetime

from msgspec import Struct, structs

from fleet.schemas.task import Blocked, Released, Settlement
from fleet.schemas.waits import PutOff, Waits, words

#: `Stopped.by` of a run that ended with its supervisor.
SHUTDOWN = "the supervisor's shutdown"
#: `Stopped.by` when the lease was lost.
LEASE_LOST = "the loss of its lease"
#: `Stopped.by` of a run whose output could not be written to the end.
NO_ROOM = "a disk without room for its output"
#: Values of `Stopped.by` that say nothing about the task.
OURS = (SHUTDOWN, LEASE_LOST)
#: `Stopped.by` of a run that is stopped for a message and resumed with it.
MESSAGE = "a message"

#: Characters of an agent's or a CLI's text that go into the queue.
_TEXT_CAP = 4000


class Decision(Struct, frozen=True, kw_only=True):
    """What becomes of the task, and why."""

    settlement: Settlement
    #: The run was an attempt and goes into the retry limit.
    counts: bool
    why: str
    #: The same as the log tells it, with the number of the run and the next attempt; empty: `why`.
    told: str = ""


def released(
    why: str,
    not_before: datetime | None = None,
    *,
    declined: str = "",
    waits: PutOff | None = None,
) -> Decision:
    """Back to the queue, and nothing counts. `declined`: what this host lacks for the task.
    `waits`: why the task is put off, if `why` is not all of it.
    """
    settlement = Released(
        not_before=not_before,
        declined=plain_text(declined),
        waits=(waits or PutOff(why=plain_text(why))) if not_before is not None else None,
    )
    return Decision(settlement=settlement, counts=False, why=plain_text(why))


def blocked(waits: Waits, task_id: str) -> Decision:
    """Decision: leave the task to a person; does not count as an attempt."""
    waits = plain_waits(waits)
    return Decision(settlement=Blocked(waits=waits), counts=False, why=words(waits, task_id))


def plain_waits(waits: Waits) -> Waits:
    """The same with words of an agent or a CLI as any queue can store them."""
    given = structs.asdict(waits).items()
    texts = {name: plain_text(value) for name, value in given if isinstance(value, str)}
    return structs.replace(waits, **texts)


def plain_text(text: str) -> str:
    """Words of an agent or a CLI as any queue can store them."""
    kept = "".join(letter for letter in text[:_TEXT_CAP] if letter >= " " or letter in "\n\t")
    return kept.encode(errors="replace").decode()
