"""Where and with what a task runs: its own settings first, then the configuration's."""

import msgspec
from msgspec import Struct

from fleet.config import Config
from fleet.errors import BadInput, InvalidTask
from fleet.home import Home, task_json
from fleet.home.task_policy import Ruled, policy_of
from fleet.schemas import Settings, Step, Task
from fleet.schemas.account import read_chain


class Place(Struct, frozen=True, kw_only=True):
    """Directory, coder and model, and which of them the task itself asked for."""

    cwd: str
    coder: str
    model: str
    #: The account that the task insists on; empty: any of its coder's.
    account: str
    #: Where it goes when there is no room.
    fallback: tuple[Step, ...]
    own_cwd: bool
    own_coder: bool
    own_model: bool
    own_fallback: bool
    ruled: Ruled


def settings_of(home: Home, task: Task) -> Settings:
    """task.json where there is one; otherwise what was recorded when the task was made."""
    return task_json.read(home, task.id) or recorded_settings(task)


def recorded_settings(task: Task) -> Settings:
    """What the queue holds of a task beside the tracker's own fields. Raises InvalidTask."""
    own = task.metadata.get("fleet")
    place = {"cwd": task.cwd, "coder": task.coder, "model": task.model}
    try:
        return msgspec.convert({**(own if isinstance(own, dict) else {}), **place}, Settings)
    except msgspec.ValidationError as error:
        raise InvalidTask(
            f"task {task.id} is invalid: its metadata for fleet: {error}",
            hint=f"Mend it: fleet bd update {task.id} --metadata '…'",
        ) from None


def place_of(home: Home, config: Config, task: Task, *, coder: str | None = None) -> Place:
    """The task's place; `coder` replaces the configured default. Raises InvalidTask."""
    own = settings_of(home, task)
    cwd = own.cwd or str(home.path)
    theirs = config.accounts.get(own.account or "")
    return Place(
        cwd=cwd,
        coder=own.coder or (theirs.coder if theirs else None) or coder or config.coder,
        model=own.model or config.model,
        account=own.account or "",
        fallback=_chain(config, own, cwd),
        own_cwd=own.cwd is not None,
        own_coder=own.coder is not None,
        own_model=own.model is not None,
        own_fallback=own.fallback is not None,
        ruled=policy_of(config, own, cwd),
    )


def _chain(config: Config, own: Settings, cwd: str) -> tuple[Step, ...]:
    """A task's own chain; one that insists on its account goes nowhere else unless it says so."""
    if own.fallback is None and own.account is not None:
        return ()
    project = config.project(cwd).settings.get("fallback")
    try:
        return read_chain(own.fallback or str(project or config.fallback))
    except BadInput as error:
        raise InvalidTask(f"its chain to fall back on: {error.message}", hint=error.hint) from None
