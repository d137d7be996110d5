"""Changes runtime.toml: whole or not at all, under a lock, and only to a file that can be read.

A project without a verify command is proposed one, once: `proposed.json` remembers the projects.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from fleet.config import Config, Project, Setting, projects, runtime_toml
from fleet.control import Control
from fleet.control.task_directory import without_commit
from fleet.errors import BadInput, ConfigError
from fleet.evidence.propose_verify import Proposal, propose
from fleet.files.atomic_write import write_atomically
from fleet.files.file_lock import exclusive
from fleet.files.json_record import JsonRecord
from fleet.home.task_policy import policy_of
from fleet.queue import without_password
from fleet.schemas import Settings

PROPOSED = "proposed.json"
_PROPOSED = JsonRecord(list[str])


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
    """Every setting by name, without the passwords of the queue and of addresses."""
    shown = msgspec.to_builtins(fleet.config) | {"queue": without_password(fleet.config.queue)}
    shown["notify"]["to"] = [f"{each.partition(':')[0]}:…" for each in fleet.config.notify.to]
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
    """One setting of a project: as it is now, and as it was; None: as for all projects."""

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

    #: No verify command: the task can be closed as unchecked at best.
    verify: bool
    #: The repository that a clone would be made of, if it has no commit; empty: not so.
    commit: str
    #: The work would land, and no branch was checked out.
    branch: bool


def lacks(fleet: Control, settings: Settings) -> NewTaskLacks:
    """What a task with these settings lacks."""
    cwd = settings.cwd or ""
    policy = policy_of(fleet.config, settings, cwd).policy
    return NewTaskLacks(
        verify=not policy.verify,
        commit=without_commit(cwd) if policy.isolation == "clone" else "",
        branch=policy.land.mode != "off" and policy.land.asks_branch,
    )


def verify_proposal(cwd: str) -> Proposal | None:
    """A verify command for the tasks of a directory; None if no file there names one."""
    return propose(Path(cwd))


def is_first_proposal(fleet: Control, cwd: str) -> bool:
    """Whether a person was never asked about a project; from now on the project counts as asked."""
    path = fleet.home.path / PROPOSED
    asked = _PROPOSED.read_or_none(path) or []
    if cwd in asked:
        return False
    _PROPOSED.write(path, [*asked, cwd], durable=False)
    return True
