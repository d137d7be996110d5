"""Makes the channels and readers that the settings name."""

from collections.abc import Callable

from msgspec import Struct

from fleet.config.notify import NotifySettings, NtfySettings, TelegramSettings
from fleet.control.notify.channel_settings import channel_address, channel_secret
from fleet.errors import FleetError
from fleet.notify.channels.channel_protocol import Channel, ReplyReader
from fleet.notify.channels.ntfy import Ntfy
from fleet.notify.channels.one_way import AppriseChannel, CommandChannel
from fleet.notify.channels.telegram import Bot, TelegramChannel, TelegramReader


class ConnectedChannels(Struct, frozen=True):
    """What can be used, and what cannot with the reason."""

    channels: tuple[Channel, ...]
    readers: tuple[ReplyReader, ...]
    problems: tuple[str, ...]


def connect_channels(settings: NotifySettings) -> ConnectedChannels:
    """Every way that works; one that does not keeps no other from working."""
    channels: list[Channel] = []
    readers: list[ReplyReader] = []
    problems: list[str] = []

    def attempt(make: Callable[[], tuple[list[Channel], list[ReplyReader]]]) -> None:
        try:
            some, back = make()
        except FleetError as error:
            problems.append(f"{error.message}. {error.hint}".strip(". ") + ".")
            return
        channels.extend(some)
        readers.extend(back)

    if settings.command:
        channels.append(CommandChannel(settings.command))
    for number, text in enumerate(settings.to, 1):
        attempt(lambda number=number, text=text: _apprise(number, text))
    if (telegram := settings.telegram) is not None:
        attempt(lambda: _telegram(telegram))
    if (ntfy := settings.ntfy) is not None:
        attempt(lambda: _ntfy(ntfy))
    return ConnectedChannels(tuple(channels), tuple(readers), tuple(problems))


def telegram_bot(settings: TelegramSettings) -> Bot:
    """The bot of the settings. Raises FleetError if its token is not to be had."""
    return Bot(settings.base_url, channel_secret(settings.token, "notify.telegram.token"))


def _apprise(number: int, text: str) -> tuple[list[Channel], list[ReplyReader]]:
    return [AppriseChannel(number, channel_address(text, f"notify.to, address {number}"))], []


def _telegram(settings: TelegramSettings) -> tuple[list[Channel], list[ReplyReader]]:
    if not settings.users:
        raise FleetError(
            "[notify.telegram] has no users, so that no one is told or heard by it",
            hint="To add one by a code: fleet notify pair telegram",
        )
    bot = telegram_bot(settings)
    channels: list[Channel] = [TelegramChannel(bot, user) for user in settings.users]
    return channels, [TelegramReader(bot, settings.users)] if settings.answers else []


def _ntfy(settings: NtfySettings) -> tuple[list[Channel], list[ReplyReader]]:
    topic = Ntfy(
        settings.url,
        channel_secret(settings.topic, "notify.ntfy.topic"),
        channel_secret(settings.token, "notify.ntfy.token"),
    )
    return [topic], [topic] if settings.answers else []
