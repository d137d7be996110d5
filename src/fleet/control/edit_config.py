"""Changes runtime.toml: whole or not at all, under a lock, and only to a file that can be read."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from fleet.config import KEYS, Config, Project, Setting, projects, runtime_toml
from fleet.control import Control
from fleet.control.task_directory import without_commit
from fleet.errors import BadInput, ConfigError
from fleet.files.atomic_write import write_atomically
from fleet.files.file_lock import exclusive
from fleet.home.task_policy import cost_of_no_check, policy_of
from fleet.queue import without_password
from fleet.schemas import Settings


def change_settings(fleet: Control, change: Callable[[str], str]) -> Config:
    """Replace the text of runtime.toml by `change(text)`; returns the new settings.

    Raises BadInput where those could not be read.
    """
    path = fleet.home.config
    with exclusive(path.with_suffix(".lock")):
        text = change(runtime_toml.read_text(path))
        try:
            data = text.encode()
            settings = runtime_toml.checked(text, path)
        except UnicodeEncodeError:
            raise BadInput("a setting is not valid UTF-8", hint=f"{path} is as it was.") from None
        except ConfigError as error:
            raise BadInput(error.message, hint=f"{path} is as it was.") from None
        write_atomically(path, data)
    return settings


def shown_settings(fleet: Control) -> dict[str, Any]:
    """Every setting by name, without the passwords of the queue and of addresses; in `sources`
    whether the file or the default says so.
    """
    shown = msgspec.to_builtins(fleet.config) | {"queue": without_password(fleet.config.queue)}
    shown["notify"]["to"] = [f"{each.partition(':')[0]}:…" for each in fleet.config.notify.to]
    given = runtime_toml.given_keys(fleet.home.config)
    shown["sources"] = {name: "file" if name in given else "default" for name in KEYS}
    return shown


def set_settings(fleet: Control, assignments: Sequence[str]) -> dict[str, str]:
    """Carry out `KEY=VALUE` assignments; returns the new values as they may be shown."""
    changes = dict(runtime_toml.read_assignment(word) for word in assignments)
    fleet.check(changes)
    change_settings(fleet, lambda text: runtime_toml.changed(text, changes, fleet.home.config))
    return {
        name: without_password(str(value)) if name == "queue" else str(value)
        for name, value in changes.items()
    }


class ProjectChange(NamedTuple):
    """One setting of a project, now and before; None: as for all projects."""

    now: Setting | list[str] | None
    before: Setting | list[str] | None


def set_project_settings(
    fleet: Control, directory: str, assignments: Sequence[str]
) -> dict[str, ProjectChange]:
    """Carry out assignments for one project; returns what changed, by name.

    The lines that one call has for a list take the place of those that it had, or come to them. A
    directory that has a table under another spelling keeps that one.
    """
    directory = projects.name_of(fleet.config.projects, directory, inside=False) or directory
    known = fleet.config.projects.get(directory)
    changes: dict[str, Setting | list[str] | None] = {}
    for name, value, adds in map(runtime_toml.read_project_assignment, assignments):
        if isinstance(value, list):
            before = changes.get(name, _lines(known, name) if adds else [])
            assert isinstance(before, list)
            changes[name] = [*before, *value] if value or adds else []
        else:
            changes[name] = value
    fleet.check({name: value for name, value in changes.items() if isinstance(value, int | str)})
    path = fleet.home.config
    change_settings(
        fleet, lambda text: runtime_toml.changed(text, changes, path, "projects", directory)
    )
    settings = known.settings if known is not None else {}
    return {
        name: ProjectChange(
            value, _lines(known, name) if isinstance(value, list) else settings.get(name)
        )
        for name, value in changes.items()
    }


def _lines(project: Project | None, name: str) -> list[str]:
    """What a list of a project holds."""
    return list(getattr(project, name, ()))


class NewTaskLacks(NamedTuple):
    """What a task that was made lacks, while it is easily mended."""

    #: What it costs that no verify command checks the task; empty: one does.
    unchecked: str
    #: The repository that a clone would be made of, if it has no commit; empty: not so.
    commit: str
    #: The work would land, and no branch was checked out.
    branch: bool


def lacks(fleet: Control, settings: Settings) -> NewTaskLacks:
    """What a task with these settings lacks."""
    cwd = settings.cwd or ""
    policy = policy_of(fleet.config, settings, cwd).policy
    return NewTaskLacks(
        unchecked="" if policy.verify else cost_of_no_check(policy),
        commit=without_commit(cwd) if policy.work_in == "clone" else "",
        branch=policy.land.lands and policy.land.asks_branch,
    )
