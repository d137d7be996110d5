"""The notifier's process: it looks at *now*, tells what is new, and takes answers.

One thread looks, one a channel sends, and one a reader listens: a channel that hangs delays no
other. What each has done stands in the outbox, so that the process can be killed at any moment.
"""

import os
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

from fleet import control
from fleet.control import Control
from fleet.control.notify.answer_told import answer_told, is_open
from fleet.control.notify.asked_stamps import asked_stamps
from fleet.control.notify.looking import is_looked_at
from fleet.control.notify.notices import notices
from fleet.control.notify.outbox import Asked, Outbox, OutboxDelivery, OutboxTrouble
from fleet.control.notify.telling_rules import (
    IN_AN_HOUR,
    after_telling,
    compare,
    due_now,
    messages,
    put_off,
)
from fleet.control.view.read_now import NowReader
from fleet.errors import FleetError
from fleet.notify.channels.channel_protocol import Channel, PersonReply, Reader, ReadTrouble, Sent
from fleet.notify.connect_channels import Connected

#: Seconds before a look after a change of the queue, between two looks without one, and between
#: two glances at what agents ask.
_SOON, _ANYWAY, _GLANCE = 0.1, 5.0, 0.5
#: A message that a channel did not take is sent again after this long, doubled up to the longest.
_PAUSE, _LONGEST_PAUSE = timedelta(seconds=5), timedelta(minutes=10)
#: A message that no channel took for so long is given up.
_GIVEN_UP = timedelta(days=1)
#: How many tasks of each status are looked at: a person may have been away for long.
_MOST = 10_000
#: Seconds that a reply may come before it is noted which message it replies to.
_NOTED = 1.0
#: Seconds between two questions for answers, where the other side does not wait itself.
_ASK_AGAIN = 1.0


class Notifier:
    """All of it, for one home. `env` names the home."""

    def __init__(self, home: Control, connected: Connected, say: Callable[[str], None]) -> None:
        self._fleet, self._connected, self._say = home, connected, say
        self.outbox = Outbox(home.home)
        self._channels = {channel.name: channel for channel in connected.channels}
        #: Set when a channel may have something to send.
        self._news = {name: threading.Event() for name in self._channels}
        self._stopped = threading.Event()
        #: Held from a person's answer until it is noted whose it was: no look ends it meanwhile.
        self._answering = threading.Lock()

    def run(self, stop: Callable[[], bool]) -> None:
        """Tell and listen until `stop` says so."""
        for channel in self._connected.channels:
            self._thread(self._deliver, channel)
        for reader in self._connected.readers:
            self._thread(self._listen, reader)
        view = NowReader(self._fleet)
        while not stop():
            try:
                at_work = self.look(view, datetime.now().astimezone())
                self._wait(at_work, stop)
            except FleetError as error:
                self._say(f"cannot look: {error.message}")
                self._stopped.wait(_ANYWAY)
        self._stopped.set()

    def _wait(self, at_work: list[str], stop: Callable[[], bool]) -> None:
        """Until the queue changes, an agent asks something, or it is time to look anyway."""
        asked = asked_stamps(self._fleet, at_work)
        end = time.monotonic() + _ANYWAY
        while time.monotonic() < end and not stop():
            if self._fleet.queue.wait(timedelta(seconds=_GLANCE)):
                time.sleep(_SOON)  # changes come in crowds
                return
            if asked_stamps(self._fleet, at_work) != asked:
                return

    def look(self, view: NowReader, now: datetime) -> list[str]:
        """Compare what is so with what was told, and put what is due into the outbox; the tasks
        that agents work on.
        """
        settings, outbox = self._fleet.config.notify, self.outbox
        first = not outbox.recall("began")
        seen = view.read(now, shown=_MOST)
        found = notices(seen)
        with outbox.writing():
            known = outbox.told()
            for told in compare(known, found, now, settings, first=first):
                outbox.keep(told)
                known[told.key] = told
            if first:
                outbox.remember("began", now.isoformat())
            looking = is_looked_at(self._fleet, now)
            ready = due_now(known.values(), now, looking=looking)
            if outbox.made_since(now - timedelta(hours=1)) >= IN_AN_HOUR:
                for each in [each for each in ready if each.notice.topic != "question"]:
                    outbox.keep(put_off(each, now))
                    ready.remove(each)
            for message, told in messages(ready, now, settings, _nonces()):
                asked = None
                if message.nonce:
                    asked = Asked(
                        nonce=message.nonce, message=message.key, task=told[0].notice.task,
                        notice=told[0].key, options=message.options,
                    )  # fmt: skip
                outbox.add(message, list(self._channels), asked)
                for each in told:
                    outbox.keep(after_telling(each, now, settings))
        for news in self._news.values():
            news.set()
        self._end_questions()
        return [row.id for row in seen.rows if row.status == "in_progress"]

    def _end_questions(self) -> None:
        """Say at questions that were answered elsewhere, or are asked no more, that they are."""
        for asked in self.outbox.open_asked():
            with self._answering:
                gone = not is_open(self._fleet, asked)
                ended = gone and self.outbox.end_asked(asked.nonce, "answered")
            if ended:
                self._tell_end(asked, "answered elsewhere, or no longer asked")

    def _tell_end(self, asked: Asked, end: str) -> None:
        for name, remote in self.outbox.remotes(asked.message):
            if (channel := self._channels.get(name)) is not None:
                channel.end_question(remote, f"{asked.task}: {end}")

    # Sending.

    def _deliver(self, channel: Channel) -> None:
        news = self._news[channel.name]
        while not self._stopped.is_set():
            news.clear()
            due = self.outbox.due(channel.name, datetime.now(UTC))
            for delivery in due:
                self._send(channel, delivery)
            if not due:
                news.wait(1.0)

    def _send(self, channel: Channel, delivery: OutboxDelivery) -> None:
        message = delivery.message
        sent = channel.send(message)
        if isinstance(sent, Sent):
            self.outbox.sent(message.key, channel.name, sent.remote)
            return
        now = datetime.now(UTC)
        pause = min(_PAUSE * 2 ** min(delivery.tries, 10), _LONGEST_PAUSE)
        if sent.retry_after is not None:
            pause = max(pause, timedelta(seconds=sent.retry_after))
        given_up = now - delivery.made_at > _GIVEN_UP
        self.outbox.put_off(
            message.key, channel.name, None if given_up else now + pause, sent.problem
        )
        end = "given up after a day" if given_up else f"again in {pause.total_seconds():.0f} s"
        self._say(f"{channel.name}: not sent, {end}: {sent.problem}")

    # Answers.

    def _listen(self, reader: Reader) -> None:
        fleet = control.opened({**os.environ, "FLEET_HOME": str(self._fleet.home.path)})
        pause, place = _ASK_AGAIN, f"{reader.name}.since"
        while not self._stopped.is_set():
            try:
                found, since = reader.replies(self.outbox.recall(place))
                for reply in found:
                    self._take(fleet, reader, reply)
                # Only now: a reply whose answer was written twice is refused the second time.
                self.outbox.remember(place, since)
                pause = _ASK_AGAIN
            except ReadTrouble as trouble:
                pause = max(trouble.retry_after or 0.0, min(pause * 2, 600.0))
                self._say(f"{reader.name}: no answers can be read: {trouble.problem}")
            self._stopped.wait(pause if pause > _ASK_AGAIN or reader.name == "ntfy" else 0)

    def _take(self, fleet: Control, reader: Reader, reply: PersonReply) -> None:
        asked = self._meant(reader, reply)
        if asked is None:
            if reply.text and not reply.text.startswith("/"):
                reader.acknowledge(reply, "Reply to the message of the question that you answer.")
            return
        text = reply.text
        if reply.option is not None:
            if reply.option >= len(asked.options):
                return
            text = asked.options[reply.option]
        if not text.strip():
            return
        with self._answering:
            is_taken = answer_told(fleet, self.outbox, asked, text, by=reply.by)
        if is_taken:
            self._say(f"{asked.task} was answered by {reply.by}")
            reader.acknowledge(reply, f"{asked.task} has your answer.")
            at = datetime.now().astimezone()
            self._tell_end(asked, f"answered by {reply.by} at {at:%H:%M}: {text.strip()[:500]}")
        else:
            reader.acknowledge(reply, f"{asked.task} does not ask that any more.")

    def _meant(self, reader: Reader, reply: PersonReply) -> Asked | None:
        """The question that a reply answers."""
        if reply.nonce:
            return self.outbox.asked(reply.nonce)
        if not reply.remote:
            return None
        name = f"{reader.name}:{reply.remote.partition('/')[0]}"
        end = time.monotonic() + _NOTED
        while (found := self.outbox.asked_by_remote(name, reply.remote)) is None:
            if time.monotonic() >= end or self._stopped.wait(0.05):
                return None
        return found

    def _thread(self, work: Callable[..., None], way: Channel | Reader) -> None:
        def guarded() -> None:
            while not self._stopped.is_set():
                try:
                    work(way)
                except (FleetError, OSError, OutboxTrouble) as error:
                    self._say(f"{way.name}: {error}")
                    self._stopped.wait(_ANYWAY)

        threading.Thread(target=guarded, name=way.name, daemon=True).start()


def _nonces() -> Iterator[str]:
    while True:
        yield os.urandom(16).hex()
