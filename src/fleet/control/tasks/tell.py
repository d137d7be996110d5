"""`fleet tell`: leave a message for the agent of a task, for now or for the task's next run."""

from contextlib import suppress
from datetime import UTC, datetime
from typing import Literal

from msgspec import Struct

from fleet.control import Control
from fleet.control.hosts.other_hosts import is_elsewhere_now
from fleet.control.tasks.retry import lives
from fleet.errors import Refused
from fleet.home import AGENT_BIN, HOOK, messages
from fleet.home.messages import Delivery, Message
from fleet.processes.supervisor_lock import supervisor_of
from fleet.runs import agent_claim
from fleet.runs.run_directory import Run, latest_run
from fleet.schemas import Task
from fleet.spool.drop_box import DropBox
from fleet.spool.post_messages import post_messages

#: Characters of a message that a refusal repeats.
_QUOTED = 80
#: Which agent reads a message, and when.
MessageReader = Literal[
    #: The running agent, with its next step.
    "agent",
    #: The running agent, if it goes on: it has said that its work is done.
    "agent_done",
    #: The running agent, which is stopped and carried on with the message.
    "interrupted",
    #: The agent of the next run: the running one was started without fleet's hook.
    "next_run_deaf",
    #: The agent of the next run: none runs now.
    "next_run",
    #: The agent of the next run, if there is one: the last has ended and claimed that it is done.
    "claimed",
    #: The running agent of another host, which hands the message on.
    "other_host",
]


class LeftMessage(Struct, frozen=True, kw_only=True):
    """A message that was left, and which agent reads the message."""

    tell: Delivery
    reader: MessageReader
    run: int | None = None

    def told(self, task_id: str) -> str:
        """What the person is told: when the message is read, and by which agent."""
        return f"Told {task_id}: {self.words}."

    @property
    def words(self) -> str:
        """When the message is read, and by which agent."""
        match self.reader:
            case "agent":
                return f"its agent (run {self.run}) reads it with its next step"
            case "agent_done":
                return (
                    f"its agent (run {self.run}) has said that it is done, and may end without"
                    " reading it; to be sure: fleet tell --now"
                )
            case "interrupted":
                return f"its agent (run {self.run}) is stopped and goes on with it"
            case "next_run_deaf":
                return "its agent cannot be reached; the message waits for its next run"
            case "next_run":
                return "the message waits for the task's next run"
            case "claimed":
                return (
                    "its agent has ended and said that the work is done, so the message is read"
                    " only if the task runs again"
                )
            case "other_host":
                return "the host that runs it hands the message to its agent"


def tell(
    fleet: Control,
    task: Task,
    text: str,
    *,
    now: bool,
    review: bool = False,
) -> LeftMessage:
    """Leave a message for a task's agent. `now`: a running agent is stopped and carried on.
    `review`: the session that did the work goes on with it, also after its run has ended. Raises
    Refused for a closed task, whose agents are over.
    """
    if task.status == "closed" and not review:
        way = f'To have its work changed: fleet review {task.id} --reject "{text[:_QUOTED]}"'
        raise Refused(f"{task.id} is closed: no agent would read the message", hint=way)
    by, task_dir = fleet.by, fleet.home.task(task.id)
    if fleet.is_shared and not lives(fleet, task):
        return _tell_through_queue(fleet, task, text, by=by, now=now, review=review)
    left = messages.add(task_dir, text, by=by, at=datetime.now(UTC), review=review)
    run = latest_run(task_dir)
    if run is None or not lives(fleet, task):
        claimed = run is not None and task.status != "open" and _says_done(run)
        return LeftMessage(tell=left, reader="claimed" if claimed else "next_run")
    _post(run)
    if now and supervisor_of(fleet.home) is not None:
        fleet.queue.request(task.id, "tell", asked_by=by)
        return LeftMessage(tell=left, reader="interrupted", run=run.number)
    reader: MessageReader = "agent" if _hears(fleet, task) else "next_run_deaf"
    if reader == "agent" and _says_done(run):
        reader = "agent_done"
    return LeftMessage(tell=left, reader=reader, run=run.number)


def _tell_through_queue(
    fleet: Control, task: Task, text: str, *, by: str, now: bool, review: bool
) -> LeftMessage:
    """Leave the message in the queue: the host that has the task in hand, or will, takes it."""
    text = messages.checked(text)
    message = Message(text=text, by=by, at=datetime.now(UTC), review=review)
    fleet.queue.request(task.id, "tell", text=messages.packed(message), asked_by=by)
    elsewhere = is_elsewhere_now(fleet, task)
    if now and elsewhere:
        fleet.queue.request(task.id, "tell", asked_by=by)
    left = Delivery(number=0, message=message)
    return LeftMessage(tell=left, reader="other_host" if elsewhere else "next_run")


def _post(run: Run) -> None:
    """Put the message where the hook of the running agent finds it. Where that fails, a supervisor
    tries again, and the next run is told in any case.
    """
    with suppress(OSError):
        box = DropBox(run.spool)
        try:
            post_messages(run, box)
        finally:
            box.close()


def _says_done(run: Run) -> bool:
    return agent_claim.read(run.path).done is not None


def _hears(fleet: Control, task: Task) -> bool:
    """The running agent was started with fleet's hook."""
    run = latest_run(fleet.home.task(task.id))
    hook = str(fleet.home.path / AGENT_BIN / HOOK)
    spec = run.known_spec() if run else None
    return spec is not None and any(hook in word for word in spec.argv)
