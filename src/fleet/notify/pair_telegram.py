"""Pairing: a person sends the bot a code, and becomes one of the people that the bot tells."""

import secrets
import time
from collections.abc import Callable

from msgspec import Struct

from fleet.config.notify import TelegramSettings
from fleet.control.supervise.side_process import NOTIFIER, sole_process
from fleet.errors import FleetError
from fleet.home import Home
from fleet.notify.channels.channel_protocol import ReadTrouble
from fleet.notify.channels.telegram import updates
from fleet.notify.connect_channels import telegram_bot

#: Seconds that a code is good for, and that one call waits for its sender.
_LASTS, _WAIT = 600.0, 10


class Pairing(Struct, frozen=True, kw_only=True):
    """The person that sent the code."""

    user: int
    name: str


def pair_telegram(
    home: Home, settings: TelegramSettings, show: Callable[[str, str], None]
) -> Pairing:
    """Wait for a person to send the code, which `show` gets with the bot's name."""
    bot, code = telegram_bot(settings), secrets.token_urlsafe(9)
    name = bot.name()
    if not name:
        raise FleetError(
            "Telegram does not know this bot", hint="Check notify.telegram.token in runtime.toml."
        )
    with sole_process(home, NOTIFIER):  # a bot has one reader at a time
        show(name, code)
        end, since = time.monotonic() + _LASTS, ""
        while time.monotonic() < end:
            try:
                found, since = updates(bot, since, _WAIT)
            except ReadTrouble as trouble:
                raise FleetError(trouble.problem) from None
            for said in (update.message for update in found):
                if said is None or said.sender is None:
                    continue
                if said.text.strip() == f"/start {code}":
                    updates(bot, since, 0)  # so that no later reader meets the code again
                    return Pairing(user=said.sender.id, name=said.sender.first_name)
    raise FleetError("the code was not sent in time", hint="Try again: fleet notify pair telegram")
