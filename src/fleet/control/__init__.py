"""What every surface (command line, page, terminal view) asks of fleet: functions that take an open
home and return values. Surfaces import this room and none below it.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from fleet import coders, config
from fleet.bd.actor import actor
from fleet.config import Config
from fleet.errors import BadInput, InvalidTask, NotFound, Refused
from fleet.files.safe_read import stamp_of
from fleet.home import Home, home_from, open_home, task_json
from fleet.home.task_json import recorded_settings
from fleet.queue import PREFIX, check_address, open_queue
from fleet.queue.protocol import Filter, Queue
from fleet.schemas import Account, Settings, Status, Task, check_id
from fleet.schemas.account import read_chain

if TYPE_CHECKING:
    from fleet.accounts.candidates import Place
    from fleet.queue.sql.sql_queue import SqlQueue


class Control:
    """An open fleet home. The queue is opened when it is first needed."""

    def __init__(self, home: Home, settings: Config, env: Mapping[str, str] = os.environ) -> None:
        self.home = home
        self.config = settings
        #: The environment of the person whose acts these are: it tells the name, and an agent.
        self.env = env
        self._queue: Queue | None = None

    @property
    def by(self) -> str:
        """The name that acts are recorded under."""
        return actor(self.env)

    def named(self, by: str) -> "Control":
        """The same home with the same queue, for acts that are recorded under another name."""
        other = Control(self.home, self.config, {**self.env, "BEADS_ACTOR": by})
        other._queue = self.queue
        return other

    @property
    def queue(self) -> Queue:
        if self._queue is None:
            self._queue = open_queue(self.home.path, self.config)
        return self._queue

    @property
    def is_shared(self) -> bool:
        """Other homes may work on the queue too, on other machines."""
        return self.config.shares_queue

    @property
    def tracker(self) -> "SqlQueue":
        """The queue for the bd commands that fleet answers without bd: any queue but beads."""
        from fleet.queue.sql.sql_queue import SqlQueue

        queue = self.queue
        assert isinstance(queue, SqlQueue)
        return queue

    def ready(self, limit: int) -> Sequence[Task]:
        return self.queue.find(Filter(ready=True, limit=limit))

    def beginning(self, start: str, statuses: tuple[Status, ...], limit: int) -> list[Task]:
        """Tasks whose id begins with `start`, with or without the prefix; no status:
        all open ones.
        """
        found = self.queue.find(Filter(statuses=statuses, limit=limit))
        return [task for task in found if task.id.startswith((start, f"{PREFIX}-{start}"))]

    def get(self, word: str) -> Task:
        """A task by id; the prefix may be left out."""
        try:
            return self.queue.get(check_id(word))
        except NotFound as missing:
            try:
                return self.queue.get(f"{PREFIX}-{word}")
            except NotFound:
                raise missing from None

    def place(self, task: Task) -> "Place":
        """Where and with what the supervisor would run this task. Raises InvalidTask."""
        from fleet.accounts.candidates import place_of  # the tracker's commands need not load it
        from fleet.processes.supervisor_lock import supervisor_of

        holder = supervisor_of(self.home)
        return place_of(self.home, self.config, task, coder=holder.coder if holder else None)

    def edited_settings(self) -> Iterator[tuple[Task, Settings | InvalidTask]]:
        """Tasks whose task.json differs from the settings in the queue, each with the file's
        settings, or with the error if the file cannot be read.
        """
        for task in self.queue.find(Filter(include_closed=True)):
            try:
                recorded = recorded_settings(task)
                own = task_json.read(self.home, task.id)
            except InvalidTask as error:
                yield task, error
                continue
            if own is not None and own != recorded:
                yield task, own

    def coder_names(self) -> tuple[str, ...]:
        """Every coder: built in, installed, or a file of this home."""
        return coders.names(self.home.path)

    def check_coder(self, name: str) -> None:
        """Refuse a coder that is not registered."""
        if not coders.exists(name, self.home.path):
            known = ", ".join(self.coder_names())
            raise BadInput(f"there is no coder {name!r}", hint=f"Registered coders: {known}")

    def account(self, name: str) -> Account:
        """A declared account. Raises NotFound."""
        account = self.config.accounts.get(name)
        if account is None:
            known = ", ".join(self.config.accounts) or "none is declared"
            hint = f"Known: {known}. See: fleet accounts"
            raise NotFound(f"there is no account {name!r}", hint=hint)
        return account

    def check(self, changes: Mapping[str, config.Setting]) -> None:
        """Refuse an unknown coder, an unknown kind of queue, and an unknown step of a chain."""
        if "coder" in changes:
            self.check_coder(str(changes["coder"]))
        if "queue" in changes:
            check_address(str(changes["queue"]))
        if "fallback" in changes:
            self.check_chain(str(changes["fallback"]))

    def check_chain(self, chain: str) -> None:
        """Refuse a chain with an unknown account or coder: tasks would be blocked for that."""
        for step in read_chain(chain):
            if step.kind == "account" and not coders.exists(step.name, self.home.path):
                self.account(step.name)
            elif step.kind == "coder":
                self.check_coder(step.name)

    def settings_stamp(self) -> object:
        """A value that changes with runtime.toml, for surfaces that stay open."""
        return stamp_of(self.home.config)

    def close(self) -> None:
        if self._queue is not None:
            self._queue.close()
            self._queue = None


class KeptHome:
    """The open home of one thread, for a surface that stays open."""

    def __init__(self, reopen: Callable[[], Control]) -> None:
        self._reopen = reopen
        self._known: tuple[object, Control] | None = None

    def fleet(self) -> Control:
        """The home, opened anew when runtime.toml changed. Raises FleetError."""
        if self._known is not None and self._known[0] == self._known[1].settings_stamp():
            return self._known[1]
        if self._known is not None:
            self._known[1].close()
            self._known = None
        fresh = self._reopen()
        self._known = (fresh.settings_stamp(), fresh)
        return fresh


def refuse_agents(env: Mapping[str, str], what: str) -> None:
    """Raise Refused inside a run, and in a process that answers an agent."""
    from fleet.processes.agent_identity import refuse_agent
    from fleet.processes.process_identity import MARK  # for acts that only a person may do

    refuse_agent(what, env)
    if env.get(MARK):
        raise Refused(f"an agent cannot {what}", hint="A person does that, outside of any run.")


def home_exists(env: Mapping[str, str] = os.environ) -> bool:
    """Whether there is a home where the environment names one. Raises HomeError: it names none."""
    return home_from(env).path.exists()


def opened(env: Mapping[str, str] = os.environ) -> Control:
    """Open the home that the environment names; runtime.toml is read and checked."""
    home = open_home(home_from(env))
    return Control(home, config.load(home.config), env)
