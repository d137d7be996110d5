"""Changes runtime.toml: whole or not at all, under a lock, and only to a file that can be read."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from fleet import config
from fleet.config import Config, Setting
from fleet.control import Control
from fleet.errors import BadInput, ConfigError
from fleet.files.atomic_write import write_atomically
from fleet.files.file_lock import exclusive
from fleet.queue import without_password


def change_settings(fleet: Control, change: Callable[[str], str]) -> Config:
    """Replace the file's text by what `change` makes of it; returns the new settings.

    Raises BadInput where those could not be read.
    """
    path = fleet.home.config
    with exclusive(path.with_suffix(".lock")):
        text = change(config.read_text(path))
        try:
            data = text.encode()
            settings = config.checked(text, path)
        except UnicodeEncodeError:
            raise BadInput("a setting is not valid UTF-8", hint=f"{path} is as it was.") from None
        except ConfigError as error:
            raise BadInput(error.message, hint=f"{path} is as it was.") from None
        write_atomically(path, data)
    return settings


def shown_settings(fleet: Control) -> dict[str, Any]:
    """Every setting by its name, without the password of the queue."""
    return msgspec.to_builtins(fleet.config) | {"queue": without_password(fleet.config.queue)}


def set_settings(fleet: Control, assignments: Sequence[str]) -> dict[str, str]:
    """Carry out `KEY=VALUE` assignments; returns the new values as they may be shown."""
    changes = dict(config.read_assignment(word) for word in assignments)
    fleet.check(changes)
    change_settings(fleet, lambda text: config.changed(text, changes, fleet.home.config))
    return {
        name: without_password(str(value)) if name == "queue" else str(value)
        for name, value in changes.items()
    }


def set_project_settings(
    fleet: Control, directory: str, assignments: Sequence[str]
) -> dict[str, Setting | list[str] | None]:
    """Carry out assignments for one project; returns the new values, None: as for all projects."""
    known = fleet.config.projects.get(directory)
    changes: dict[str, Setting | list[str] | None] = {}
    for name, value in map(config.read_project_assignment, assignments):
        if isinstance(value, list) and value:
            before = changes[name] if name in changes else list(getattr(known, name, ()))
            assert isinstance(before, list)
            changes[name] = [*before, *value]
        else:
            changes[name] = value
    fleet.check({name: value for name, value in changes.items() if isinstance(value, int | str)})
    path = fleet.home.config
    change_settings(fleet, lambda text: config.changed(text, changes, path, "projects", directory))
    return changes
