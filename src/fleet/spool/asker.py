"""The agent that asks: the agent's run, and the name for the record."""

from collections.abc import Callable, Mapping
from datetime import datetime

from msgspec import Struct, field

from fleet.config import Config
from fleet.home import Home
from fleet.home.looked_at import is_looked_at
from fleet.runs import follow_ups
from fleet.runs.agent_claim import AgentClaim
from fleet.runs.run_directory import Run
from fleet.schemas import Task
from fleet.spool.request_files import AgentRequest, Answer


class Asker(Struct, frozen=True, kw_only=True):
    """The agent of one run, known by the box that a request lay in."""

    home: Home
    config: Config
    #: The task as it was claimed.
    task: Task
    run: Run
    #: The run id, which a claim bears.
    mark: str
    #: The supervisor speaks to a terminal, where a question is seen as it is asked.
    on_terminal: bool = False
    #: Makes the secrets of the run unreadable in what the agent asks to have written down.
    mask: Callable[[str], str] = str

    @property
    def task_id(self) -> str:
        return self.task.id

    @property
    def name(self) -> str:
        return f"agent of {self.task_id}, run {self.run.number}"

    @property
    def env(self) -> Mapping[str, str]:
        """What the tracker takes the author of a change from."""
        return {"BEADS_ACTOR": self.name}

    def is_heard(self, now: datetime) -> bool:
        """A question would find a person soon: on a channel, a terminal, a page or a view."""
        told = self.config.notify.is_on or self.on_terminal
        return told or is_looked_at(self.home, now)

    def follow_ups(self) -> tuple[str, ...]:
        """The follow-ups that the task's runs made so far."""
        return follow_ups.of_task(self.run.task_dir)


class Served(Struct, frozen=True, kw_only=True):
    """What a request came to."""

    answer: Answer
    #: The claim that was recorded with it.
    said: AgentClaim | None = None
    #: The name of fleet's own event for this act, and what the event says; empty: no event.
    event: str = ""
    facts: Mapping[str, object] = field(default_factory=dict[str, object])


class FileMissing(Exception):
    """A file that the line names did not come with the request."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class SentFiles:
    """The files that came with a request, in the place of those on the disk: what the supervisor
    may read is not what the agent may read.
    """

    def __init__(self, request: AgentRequest) -> None:
        self._files = request.files

    def bytes(self, name: str) -> bytes:
        """Raises FileMissing."""
        if name not in self._files:
            raise FileMissing(name)
        return self._files[name]

    def text(self, name: str) -> str:
        return self.bytes(name).decode(errors="replace")

    def read(self, size: int = -1) -> str:
        """Standard input, for the tracker's commands."""
        del size
        return self.bytes("-").decode()
