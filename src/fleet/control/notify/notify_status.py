"""How the notifier of a home does, and what makes it begin anew."""

from msgspec import Struct

from fleet.control import Control
from fleet.control.notify.notify_lock import is_notifying
from fleet.control.notify.outbox import FILE, ChannelState, Outbox
from fleet.files.safe_read import stamp_of


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
        on=fleet.config.notify.is_on, running=is_notifying(fleet.home), channels=channels
    )


def settings_stamp(fleet: Control) -> tuple[int, int, int]:
    """Changes when the settings do."""
    return stamp_of(fleet.home.config)
