"""The agent that asks: the agent's run, and the name for the record."""

from collections.abc import Callable, Mapping
from datetime import datetime

from msgspec import Struct, field

from fleet.config import Config
from fleet.home import Home, task_json
from fleet.home.looked_at import is_looked_at
from fleet.home.trusted_commands import trust
from fleet.runs import follow_ups
from fleet.runs.agent_claim import AgentClaim
from fleet.runs.run_directory import Run
from fleet.schemas import Settings, Task
from fleet.spool.drop_box import Answer
from fleet.spool.follow_up_rules import check_count, inherited


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
    def proposer(self) -> str:
        """Who proposes a task, as a person reads it."""
        return f"the {self.name}"

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

    def follow_up_settings(self, now: datetime) -> Settings:
        """The settings of the task's follow-ups, trusted: the task runs, so its commands are, also
        while a follow-up has no task.json yet. Raises Refused.
        """
        parent = task_json.settings_of(self.home, self.task)
        settings = inherited(parent, task=self.task_id, depth_limit=self.config.followup_depth)
        trust(self.home, [settings], now)
        return settings

    def check_follow_ups(self, wanted: int) -> None:
        """Refuse more follow-ups than a run may make."""
        check_count(len(follow_ups.of_run(self.run)), wanted, self.config.followup_limit)

    def note_follow_ups(self, ids: tuple[str, ...], settings: Settings) -> None:
        """Record the follow-ups that the run has made."""
        for task_id in ids:
            task_json.write(self.home, task_id, settings)
        follow_ups.note(self.run, ids)


class Served(Struct, frozen=True, kw_only=True):
    """What a request came to."""

    answer: Answer
    #: Why the process that read the line refused it; empty: it did not.
    refused: str = ""
    #: The claim that was recorded with it.
    said: AgentClaim | None = None
    #: The name of fleet's own event for this act, and what the event says; empty: no event.
    event: str = ""
    facts: Mapping[str, object] = field(default_factory=dict[str, object])
