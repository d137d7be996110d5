"""What a person may want to know just now, as values that are compared with what was told already.

Everything comes from *now*, which every surface shows: a supervisor that was killed, or that runs
on another machine, has told nothing less. Pure.
"""

from collections.abc import Iterator
from hashlib import sha256
from typing import Literal

from msgspec import Struct

from fleet.config.notify import Topic
from fleet.control.view.now import Now, TaskRow
from fleet.schemas.task_state import TaskState


class Notice(Struct, frozen=True, kw_only=True):
    """One thing that a person may want to know."""

    topic: Topic
    #: The task that the notice is about; empty: the home.
    task: str = ""
    title: str = ""
    #: How the task stands; empty: the notice is about the home.
    state: TaskState | Literal[""] = ""
    #: What is so, in a sentence or the agent's own words.
    text: str = ""
    #: The command that a person would give.
    way_on: str = ""
    #: Of a question: the answers that the agent offers.
    options: tuple[str, ...] = ()
    #: The notice passes in quiet hours.
    urgent: bool = False
    #: The notice holds until a person or fleet changes what it tells; else it happened once.
    lasts: bool = True
    #: What tells the notice from others of the same topic, where the text holds figures that
    #: change.
    name: str = ""

    @property
    def key(self) -> str:
        """Names what is so: it does not change for as long as that lasts."""
        words = self.name or sha256(self.text.encode()).hexdigest()[:12]
        return f"{self.topic}:{self.task}:{words}"


def notices(now: Now) -> list[Notice]:
    """Every notice that follows from *now*, tasks first."""
    return [*(each for row in now.rows if (each := _of_task(row)) is not None), *_of_home(now)]


def _of_task(row: TaskRow) -> Notice | None:
    way_on = row.way_on.line if row.way_on is not None else ""
    if row.group == "done":
        name = f"{row.since.timestamp():.0f}" if row.since is not None else "closed"
        return Notice(
            topic="closed",
            task=row.id,
            title=row.title,
            state=row.state,
            text=row.reason,
            lasts=False,
            name=name,
        )
    if row.question:
        return Notice(
            topic="question", task=row.id, title=row.title, state=row.state, text=row.question,
            way_on=way_on, urgent=row.priority <= 1, options=row.options,
        )  # fmt: skip
    if row.group != "needs_you":
        return None
    topic: Topic = "landing" if row.landing is not None else "blocked"
    if row.status == "open":
        topic = "trust"
    return Notice(
        topic=topic, task=row.id, title=row.title, state=row.state, text=row.reason, way_on=way_on
    )


def _of_home(now: Now) -> Iterator[Notice]:
    state = now.supervisor
    left = now.counts.running + now.counts.waiting
    if not state.alive and left:
        text = f"no supervisor is running, and {left} tasks wait"
        yield Notice(topic="supervisor", text=text, way_on="fleet run --detach", name="gone")
    if state.queue_problem:
        text = f"the queue fails: {state.queue_problem}"
        yield Notice(topic="supervisor", text=text, way_on="fleet status", name="queue")
    if state.shortage:
        yield Notice(topic="supervisor", text=f"nothing new is started: {state.shortage}")
    for text in state.hindrances:  # held coders and spent budgets, with the way out
        yield Notice(topic="held", text=text, name=text.partition(":")[0])
    if state.alive and not left and not state.queue_problem:
        asking = now.counts.needs_you
        waits = f", and {asking} need{'s' if asking == 1 else ''} you" if asking else ""
        yield Notice(topic="idle", text=f"nothing runs and nothing waits{waits}", name="idle")
