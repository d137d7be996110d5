"""How the notifier of a home does."""

from datetime import datetime

from msgspec import Struct

from fleet.control import Control
from fleet.control.notify.outbox import FILE, ChannelState, Outbox
from fleet.control.supervise.side_process import NOTIFIER, is_running
from fleet.home import Home


class NotifyStatus(Struct, frozen=True, kw_only=True):
    """What `fleet notify status` shows."""

    #: The settings name a channel.
    on: bool
    running: bool
    channels: tuple[ChannelState, ...] = ()
    #: How many things are told later, for quiet hours or the digest, and when the first of them is.
    later: int = 0
    later_at: datetime | None = None


def notify_status(fleet: Control) -> NotifyStatus:
    """Whether a notifier runs, and what waits in the outbox."""
    channels: tuple[ChannelState, ...] = ()
    held: list[datetime] = []
    if (fleet.home.path / FILE).exists():
        outbox = Outbox(fleet.home)
        channels = tuple(outbox.states())
        states = outbox.notice_states().values()
        held = [each.due for each in states if each.due and not each.times]
        outbox.close()
    return NotifyStatus(
        on=fleet.config.notify.is_on,
        running=is_running(fleet.home, NOTIFIER),
        channels=channels,
        later=len(held),
        later_at=min(held, default=None),
    )


def untold(home: Home) -> list[str]:
    """The channels that do not take what people are to be told, a sentence each."""
    if not (home.path / FILE).exists():
        return []
    outbox = Outbox(home)
    found = outbox.states()
    outbox.close()
    return [
        f"{each.channel}: {each.waiting} wait, {each.dropped} given up after a day"
        f"{f': {each.problem}' if each.problem else ''}"
        for each in found
        if each.dropped or (each.waiting and each.problem)
    ]
