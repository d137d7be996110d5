"""Writes runtime.toml, whole or not at all, and only if every command can read it afterwards."""

from collections.abc import Callable

from fleet import config
from fleet.control import Control
from fleet.errors import BadInput, ConfigError
from fleet.files.atomic_write import write_atomically
from fleet.files.file_lock import exclusive


def write_settings(fleet: Control, text: str) -> config.Config:
    """Put a text in the file's place; the settings that it gives. Raises BadInput."""
    path = fleet.home.config
    try:
        data = text.encode()
        fresh = config.checked(text, path)
    except UnicodeEncodeError:
        raise BadInput("a setting is not valid UTF-8", hint=f"{path} is as it was.") from None
    except ConfigError as error:
        raise BadInput(error.message, hint=f"{path} is as it was.") from None
    write_atomically(path, data)
    return fresh


def change_settings(fleet: Control, change: Callable[[str], str]) -> config.Config:
    """Make a new text of the file's own, which nobody else of us changes meanwhile."""
    path = fleet.home.config
    with exclusive(path.with_suffix(".lock")):
        return write_settings(fleet, change(config.read_text(path)))
