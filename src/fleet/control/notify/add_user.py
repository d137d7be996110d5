"""Adds a person to the users of [notify.telegram], whom the bot tells and hears."""

from typing import Any

from fleet.config import runtime_toml
from fleet.control import Control
from fleet.control.edit_config import change_settings


def add_telegram_user(fleet: Control, user: int) -> None:
    """Write a person's numeric id into [notify.telegram]; one that is there stays there once."""
    telegram = fleet.config.notify.telegram
    assert telegram is not None
    users: list[Any] = list(dict.fromkeys((*telegram.users, user)))
    path = fleet.home.config
    change_settings(
        fleet, lambda text: runtime_toml.changed(text, {"users": users}, path, "notify", "telegram")
    )
