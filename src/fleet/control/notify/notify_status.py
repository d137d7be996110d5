"""How the notifier of a home does."""

from msgspec import Struct

from fleet.control import Control
from fleet.control.notify.outbox import FILE, ChannelState, Outbox
from fleet.control.supervise.side_process import NOTIFIER, is_running


class NotifyStatus(Struct, frozen=True, kw_only=True):
    """What `fleet notify status` shows."""

    #: The settings name a channel.
    on: bool
    running: bool
    channels: tuple[ChannelState, ...] = ()


def notify_status(fleet: Control) -> NotifyStatus:
    """Whether a notifier runs, and what waits in its outbox."""
    channels: tuple[ChannelState, ...] = ()
    if (fleet.home.path / FILE).exists():
        outbox = Outbox(fleet.home)
        channels = tuple(outbox.states())
        outbox.close()
    return NotifyStatus(
        on=fleet.config.notify.is_on, running=is_running(fleet.home, NOTIFIER), channels=channels
    )
