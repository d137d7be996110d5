"""Secrets of channels, from where the settings say that they are kept."""

import os
from collections.abc import Mapping

from fleet.accounts.kept_secret import SecretTrouble, is_secret_place, read_secret
from fleet.errors import FleetError


def channel_secret(place: str, what: str, env: Mapping[str, str] = os.environ) -> str:
    """The secret; empty for `none`. Raises FleetError with `what` was looked for."""
    if place == "none":
        return ""
    try:
        return read_secret(place, env)
    except SecretTrouble as error:
        raise FleetError(f"{what}: {error.message}") from None


def channel_address(text: str, what: str) -> str:
    """An address that stands in the settings, or is kept elsewhere."""
    return channel_secret(text, what) if is_secret_place(text) else text
