"""Sends what the outbox holds for one channel, in a separate thread.

What the channel made of a notification is kept until the outbox has it: on a full disk nothing is
sent twice, and what the channel asked for (`retry_after`) is obeyed.
"""

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from queue import SimpleQueue

from msgspec import Struct

from fleet.control.notify.outbox import Outbox, OutboxDelivery
from fleet.control.notify.telling_rules import Notification
from fleet.notify.channels.channel_protocol import Channel, NotSent, Sent
from fleet.schemas.backoff import Backoff

#: A notification that a channel did not take is sent again after this long, doubled up to the
#: longest.
_BACKOFF = Backoff(timedelta(seconds=5), timedelta(minutes=10))
#: A notification that no channel took for this long is given up.
_GIVEN_UP = timedelta(days=1)
#: Seconds between two looks into the outbox without news.
_LOOK = 1.0


class _PutOff(Struct, frozen=True):
    """A channel did not take a notification."""

    #: When the notification is sent again; None: it is given up.
    due: datetime | None
    problem: str


class ChannelSender:
    """The way of all notifications through one channel."""

    def __init__(self, channel: Channel, outbox: Outbox, say: Callable[[str], None]) -> None:
        self.channel, self._outbox, self._say = channel, outbox, say
        #: Set when there may be something to send.
        self.news = threading.Event()
        #: What became of notifications while the outbox could not be written, by key.
        self._unnoted: dict[str, Sent | _PutOff] = {}
        #: What is sent past the outbox.
        self._aloud: SimpleQueue[Notification] = SimpleQueue()

    def tell_aloud(self, notification: Notification) -> None:
        """Send a notification once that the outbox cannot hold, as well as that goes."""
        self._aloud.put(notification)
        self.news.set()

    def unnoted(self, remote: str) -> str:
        """The key of a notification that the channel calls so and that the outbox does not know as
        sent yet; empty: there is none.
        """
        taken = list(self._unnoted.items())
        return next((key for key, end in taken if end == Sent(remote)), "")

    def send_due(self) -> None:
        """Send what is due, or wait a while for news. Raises OutboxTrouble."""
        self.news.clear()
        while not self._aloud.empty():
            self.channel.send(self._aloud.get())
        due = self._outbox.due(self.channel.name, datetime.now(UTC))
        for delivery in due:
            self._deliver(delivery)
        if not due:
            self.news.wait(_LOOK)

    def _deliver(self, delivery: OutboxDelivery) -> None:
        key, name = delivery.notification.key, self.channel.name
        if key not in self._unnoted:
            sent = self.channel.send(delivery.notification)
            self._unnoted[key] = sent if isinstance(sent, Sent) else self._put_off(delivery, sent)
        match self._unnoted[key]:
            case Sent(remote=remote):
                self._outbox.sent(key, name, remote)
            case _PutOff(due=due, problem=problem):
                self._outbox.put_off(key, name, due, problem)
        del self._unnoted[key]

    def _put_off(self, delivery: OutboxDelivery, failed: NotSent) -> _PutOff:
        now = datetime.now(UTC)
        pause = _BACKOFF.pause(delivery.tries)
        if failed.retry_after is not None:
            pause = max(pause, timedelta(seconds=failed.retry_after))
        given_up = now - delivery.made_at > _GIVEN_UP
        end = "given up after a day" if given_up else f"again in {pause.total_seconds():.0f} s"
        self._say(f"{self.channel.name}: not sent, {end}: {failed.problem}")
        return _PutOff(due=None if given_up else now + pause, problem=failed.problem)
