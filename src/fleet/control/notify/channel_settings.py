"""What the settings of channels lead to: secrets that are kept elsewhere, a program, people."""

import os
from collections.abc import Sequence
from typing import Any

from fleet.accounts.kept_secret import SecretTrouble, is_secret_place, read_secret
from fleet.config import runtime_toml
from fleet.control import Control
from fleet.control.edit_config import change_settings
from fleet.errors import FleetError
from fleet.processes.bounded_call import CallFailed, call
from fleet.processes.own_distribution import how_to_add

#: Seconds that the program of `notify.command` may take.
_PATIENCE = 30.0


def how_to_add_apprise() -> str:
    """The hint for a channel that needs apprise."""
    return f"Add it: {how_to_add('notify')}"


def channel_secret(place: str, what: str) -> str:
    """The secret; empty for `none`. Raises FleetError with `what` was looked for."""
    if place == "none":
        return ""
    try:
        return read_secret(place, os.environ)
    except SecretTrouble as error:
        raise FleetError(f"{what}: {error.message}") from None


def channel_address(text: str, what: str) -> str:
    """An address that stands in the settings, or is kept elsewhere."""
    return channel_secret(text, what) if is_secret_place(text) else text


def run_command(argv: Sequence[str], message: bytes) -> str:
    """Give a program a message on its standard input; what went wrong, or nothing."""
    done = call(argv, timeout=_PATIENCE, stdin=message)
    if isinstance(done, CallFailed):
        return f"{argv[0]} {done.problem}"
    if done.code != 0:
        return f"{argv[0]} ended with code {done.code}: {done.err.strip()[-200:]}"
    return ""


def add_telegram_user(fleet: Control, user: int) -> None:
    """Write a person's numeric id into [notify.telegram]; one that is there stays there once."""
    telegram = fleet.config.notify.telegram
    assert telegram is not None
    users: list[Any] = list(dict.fromkeys((*telegram.users, user)))
    path = fleet.home.config
    change_settings(
        fleet, lambda text: runtime_toml.changed(text, {"users": users}, path, "notify", "telegram")
    )
