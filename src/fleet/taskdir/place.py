"""Where and with what a task runs: its own settings first, then the configuration's."""

from msgspec import Struct

from fleet.config import Config
from fleet.schemas import Settings, Task
from fleet.taskdir import Home, task_json


class Place(Struct, frozen=True, kw_only=True):
    """Directory, coder and model, and which of them the task itself asked for."""

    cwd: str
    coder: str
    model: str
    own_cwd: bool
    own_coder: bool
    own_model: bool


def settings_of(home: Home, task: Task) -> Settings:
    """task.json where there is one; otherwise what was recorded when the task was made."""
    recorded = Settings(cwd=task.cwd, coder=task.coder, model=task.model)
    return task_json.read(home, task.id) or recorded


def place_of(home: Home, config: Config, task: Task, *, coder: str | None = None) -> Place:
    """The task's place; `coder` replaces the configured default. Raises InvalidTask."""
    own = settings_of(home, task)
    return Place(
        cwd=own.cwd or str(home.path),
        coder=own.coder or coder or config.coder,
        model=own.model or config.model,
        own_cwd=own.cwd is not None,
        own_coder=own.coder is not None,
        own_model=own.model is not None,
    )
