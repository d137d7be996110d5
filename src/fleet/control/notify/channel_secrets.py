"""Secrets of channels, from where the settings say that they are kept."""

import os
from collections.abc import Mapping

from fleet.accounts.credentials import AccountTrouble, secret
from fleet.errors import FleetError
from fleet.schemas import Account

_KINDS = ("env:", "file:", "keyring:")


def channel_secret(place: str, what: str, env: Mapping[str, str] = os.environ) -> str:
    """The secret; empty for `none`. Raises FleetError with `what` was looked for."""
    if place == "none":
        return ""
    try:
        return secret(Account(name="notify", coder="", secret=place), env)
    except AccountTrouble as error:
        raise FleetError(f"{what}: {error.message}") from None


def channel_address(text: str, what: str, env: Mapping[str, str] = os.environ) -> str:
    """An address that stands in the settings, or is kept elsewhere."""
    return channel_secret(text, what, env) if text.startswith(_KINDS) else text
