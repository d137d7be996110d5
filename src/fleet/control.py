"""The one door for every surface: what the command line, the page and the table ask for is asked
of these functions, which know the home, its configuration and its queue.
"""

import os
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from fleet import coders, config, taskdir
from fleet.config import Config
from fleet.errors import BadInput, ConfigError, NotFound
from fleet.queue.base import Filter, Queue
from fleet.schemas import Settings, Task, check_id
from fleet.taskdir import Home, task_json

if TYPE_CHECKING:
    from fleet.queue.sql import SqlQueue

PREFIX = "fleet"
_POSTGRES = ("postgresql://", "postgres://")


class Place(Struct, frozen=True, kw_only=True):
    """Where and with what a task would run, and which of it the task itself asked for."""

    cwd: str
    coder: str
    model: str
    own_cwd: bool
    own_coder: bool
    own_model: bool


class Control:
    """An open fleet home. The queue is opened when it is first needed."""

    def __init__(self, home: Home, settings: Config) -> None:
        self.home = home
        self.config = settings
        self._queue: Queue | None = None

    @property
    def queue(self) -> Queue:
        if self._queue is None:
            self._queue = open_queue(self.home, self.config)
        return self._queue

    @property
    def tracker(self) -> "SqlQueue":
        """The queue as the bd commands need it; only for queues where fleet answers them."""
        from fleet.queue.sql import SqlQueue

        queue = self.queue
        assert isinstance(queue, SqlQueue)
        return queue

    def ready(self, limit: int) -> Sequence[Task]:
        return self.queue.find(Filter(ready=True, limit=limit))

    def get(self, word: str) -> Task:
        """A task by its id, or by its id without the prefix."""
        try:
            return self.queue.get(check_id(word))
        except NotFound as missing:
            try:
                return self.queue.get(f"{PREFIX}-{word}")
            except NotFound:
                raise missing from None

    def place(self, task: Task) -> Place:
        """Where and with what the supervisor would run this task. Raises InvalidTask."""
        own = self.settings(task)
        return Place(
            cwd=own.cwd or str(self.home.path),
            coder=own.coder or self.config.coder,
            model=own.model or self.config.model,
            own_cwd=own.cwd is not None,
            own_coder=own.coder is not None,
            own_model=own.model is not None,
        )

    def settings(self, task: Task) -> Settings:
        """task.json where there is one; otherwise what was recorded when the task was made."""
        recorded = Settings(cwd=task.cwd, coder=task.coder, model=task.model)
        return task_json.read(self.home, task.id) or recorded

    def check_coder(self, name: str) -> None:
        """Refuse a coder that nobody registered."""
        known = coders.names(self.home.path)
        if name not in known:
            raise BadInput(
                f"there is no coder {name!r}", hint=f"Registered coders: {', '.join(known)}"
            )

    def check(self, changes: Mapping[str, config.Setting]) -> None:
        """Refuse settings that are well-formed and still mean nothing."""
        if "coder" in changes:
            self.check_coder(str(changes["coder"]))
        if "queue" in changes:
            check_queue(str(changes["queue"]))

    def close(self) -> None:
        if self._queue is not None:
            self._queue.close()
            self._queue = None


def opened(env: Mapping[str, str] = os.environ) -> Control:
    """The home that the environment names, with a configuration that was read and is sound."""
    home = taskdir.opened(taskdir.home_from(env))
    return Control(home, config.load(home.config))


def check_queue(address: str) -> None:
    """Refuse an address that names no queue."""
    if address not in ("embedded", "beads") and not address.startswith(_POSTGRES):
        raise ConfigError(
            f"{address!r} is not a queue that fleet knows",
            hint="Use embedded, beads, or postgresql://user@host/database.",
        )


def open_queue(home: Home, settings: Config) -> Queue:
    """The queue that runtime.toml names."""
    check_queue(settings.queue)
    if settings.queue == "beads":
        from fleet.queue.beads.queue import open_beads

        return open_beads(home.path, timeout=timedelta(seconds=settings.bd_timeout_s))
    if settings.queue.startswith(_POSTGRES):
        from fleet.queue.postgres import open_postgres

        return open_postgres(settings.queue, prefix=PREFIX)
    from fleet.queue.embedded import open_embedded

    busy = timedelta(seconds=settings.busy_timeout_s)
    return open_embedded(home.path, prefix=PREFIX, busy_timeout=busy)


def checked_directory(path: str) -> str:
    """An absolute directory that exists, for a task to run in."""
    if "\0" in path:
        raise BadInput("the directory's name holds a NUL byte")
    full = Path(path).expanduser().absolute()
    if not full.exists():
        raise BadInput(
            f"there is no directory {full}", hint="Make it first, or give another --cwd."
        )
    if not full.is_dir():
        raise BadInput(
            f"{full} is not a directory", hint="Give the directory to work in: --cwd DIR"
        )
    return str(full)
