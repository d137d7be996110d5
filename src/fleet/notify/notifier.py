"""The notifier's process: looks at *now*, tells what is new, and takes answers.

One thread looks, one a channel sends, and one a reader listens: a channel that hangs delays no
other. What each has done stands in the outbox, so that the process can be killed at any moment.
"""

import os
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import partial

from fleet import control
from fleet.control import Control
from fleet.control.notify.channel_answer import answer_from_channel, asked_stamps, is_open
from fleet.control.notify.notices import notices
from fleet.control.notify.outbox import Outbox, OutboxTrouble, SentQuestion
from fleet.control.notify.telling_rules import (
    IN_AN_HOUR,
    Notification,
    after_telling,
    compare,
    due_now,
    notifications,
    put_off,
)
from fleet.control.view.read_now import NowReader
from fleet.errors import FleetError
from fleet.home.looked_at import is_looked_at
from fleet.notify.channels.channel_protocol import PersonReply, ReadTrouble, ReplyReader
from fleet.notify.connect_channels import ConnectedChannels
from fleet.notify.send_notifications import ChannelSender

#: Seconds before a look after a change of the queue, between two looks without one, and between
#: two glances at what agents ask.
_SOON, _ANYWAY, _GLANCE = 0.1, 5.0, 0.5
#: How often what is old is forgotten.
_TIDY = timedelta(days=1)
#: How many tasks of each status are looked at: a person may have been away for long.
_MOST = 10_000
#: What a failing look hinders.
_LOOKING = "what is new"
#: Seconds by which a reply may come before the message that it answers is noted.
_NOTED = 1.0
#: Seconds from which on the pause after a failed question for answers is doubled.
_FIRST_PAUSE = 1.0


class Notifier:
    """The notifier of one home: a thread that looks, and one a channel and a reader."""

    def __init__(
        self, fleet: Control, connected: ConnectedChannels, say: Callable[[str], None]
    ) -> None:
        self._fleet, self._connected, self._say = fleet, connected, say
        self.outbox = Outbox(fleet.home)
        self._senders = {
            channel.name: ChannelSender(channel, self.outbox, say) for channel in connected.channels
        }
        #: What is wrong just now, by what it hinders: said once, not with each attempt.
        self._troubles: dict[str, str] = {}
        self._stopped = threading.Event()
        #: Held from a person's answer until the person is noted: no look ends the question
        #: meanwhile.
        self._answering = threading.Lock()

    def run(self, stop: Callable[[], bool]) -> None:
        """Tell and listen until `stop` says so."""
        for name, sender in self._senders.items():
            self._thread(name, sender.send_due)
        for reader in self._connected.readers:
            self._thread(f"answers by {reader.name}", partial(self._listen, reader))
        view = NowReader(self._fleet)
        while not stop():
            try:
                at_work = self.look(view, datetime.now().astimezone())
                self._goes_on(_LOOKING)
                self._wait(at_work, stop)
            except FleetError as error:
                self._complain(_LOOKING, error)
                self._stopped.wait(_ANYWAY)
        self._stopped.set()

    def _wait(self, at_work: list[str], stop: Callable[[], bool]) -> None:
        """Wait until the queue changes, an agent asks something, or the next look is due anyway."""
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
            known = outbox.notice_states()
            for state in compare(known, found, now, settings, first=first):
                outbox.keep(state)
                known[state.key] = state
            if first:
                outbox.remember("began", now.isoformat())
            looking = is_looked_at(self._fleet.home, now)
            ready = due_now(known.values(), now, looking=looking)
            if outbox.made_since(now - timedelta(hours=1)) >= IN_AN_HOUR:
                for each in [each for each in ready if each.notice.topic != "question"]:
                    outbox.keep(put_off(each, now))
                    ready.remove(each)
            for notification, items in notifications(ready, now, settings, _nonces()):
                outbox.add(notification, list(self._senders), items[0].key)
                for each in items:
                    outbox.keep(after_telling(each, now, settings))
        for sender in self._senders.values():
            sender.news.set()
        self._end_questions()
        self._tidy(now)
        return [row.id for row in seen.rows if row.status == "in_progress"]

    def _end_questions(self) -> None:
        """Say at questions that were answered elsewhere, or are asked no more, that they are."""
        for question in self.outbox.open_questions():
            with self._answering:
                gone = not is_open(self._fleet, question)
                ended = gone and self.outbox.end_question(question.nonce, "answered")
            if ended:
                self._tell_end(question, "answered elsewhere, or no longer asked")

    def _tell_end(self, question: SentQuestion, end: str) -> None:
        for name, remote in self.outbox.remotes(question.notification):
            if (sender := self._senders.get(name)) is not None:
                sender.channel.end_question(remote, f"{question.task}: {end}")

    # Answers.

    def _listen(self, reader: ReplyReader) -> None:
        fleet = control.opened({**os.environ, "FLEET_HOME": str(self._fleet.home.path)})
        trouble_lasts, place = _FIRST_PAUSE, f"{reader.name}.since"
        while not self._stopped.is_set():
            try:
                found, since = reader.replies(self.outbox.recall(place))
                for reply in found:
                    self._take(fleet, reader, reply)
                # Only now: a reply whose answer was written twice is refused the second time.
                if since != self.outbox.recall(place):
                    self.outbox.remember(place, since)
                pause, trouble_lasts = reader.pause, _FIRST_PAUSE
                self._goes_on(f"answers by {reader.name}")
            except ReadTrouble as trouble:
                trouble_lasts = max(trouble.retry_after or 0.0, min(trouble_lasts * 2, 600.0))
                pause = trouble_lasts
                self._complain(f"answers by {reader.name}", trouble)
            self._stopped.wait(pause)

    def _take(self, fleet: Control, reader: ReplyReader, reply: PersonReply) -> None:
        question = self._meant(reader, reply)
        if question is None:
            if reply.text and not reply.text.startswith("/"):
                reader.acknowledge(reply, "Reply to the message of the question that you answer.")
            return
        text = reply.text
        if reply.option is not None:
            if reply.option >= len(question.options):
                return
            text = question.options[reply.option]
        if not text.strip():
            return
        with self._answering:
            is_taken = answer_from_channel(fleet, self.outbox, question, text, by=reply.by)
        if is_taken:
            self._say(f"{question.task} was answered by {reply.by}")
            reader.acknowledge(reply, f"{question.task} has your answer.")
            at = datetime.now().astimezone()
            self._tell_end(question, f"answered by {reply.by} at {at:%H:%M}: {text.strip()[:500]}")
        else:
            reader.acknowledge(reply, f"{question.task} does not ask that any more.")

    def _meant(self, reader: ReplyReader, reply: PersonReply) -> SentQuestion | None:
        """The question that a reply answers."""
        if reply.nonce:
            return self.outbox.question(reply.nonce)
        if not reply.remote:
            return None
        name = f"{reader.name}:{reply.remote.partition('/')[0]}"
        end = time.monotonic() + _NOTED
        while (found := self.outbox.question_by_remote(name, reply.remote)) is None:
            sender = self._senders.get(name)
            if sender is not None and (key := sender.unnoted(reply.remote)):
                return self.outbox.question_by_notification(key)
            if time.monotonic() >= end or self._stopped.wait(0.05):
                return None
        return found

    # Trouble.

    def _thread(self, name: str, work: Callable[[], None]) -> None:
        def guarded() -> None:
            while not self._stopped.is_set():
                try:
                    work()
                    self._goes_on(name)
                except (FleetError, OSError) as error:
                    self._complain(name, error)
                    self._stopped.wait(_ANYWAY)

        threading.Thread(target=guarded, name=name, daemon=True).start()

    def _complain(self, what: str, error: Exception) -> None:
        """Report a trouble, once for as long as it lasts. A full disk below the outbox is told past
        the outbox: people would hear of nothing at all.
        """
        text = str(error)
        if self._troubles.get(what) == text:
            return
        if isinstance(error, OutboxTrouble) and text not in self._troubles.values():
            self._tell_aloud(error)
        self._troubles[what] = text
        self._say(f"{what}: {text}")

    def _goes_on(self, what: str) -> None:
        if self._troubles.pop(what, None) is not None:
            self._say(f"{what}: goes on")

    def _tell_aloud(self, error: OutboxTrouble) -> None:
        now = datetime.now().astimezone()
        notification = Notification(
            key=f"outbox-{now.timestamp():.0f}", at=now, topic="supervisor",
            subject="fleet: nothing can be told", text=f"{error.message}\n\n{error.hint}",
        )  # fmt: skip
        for sender in self._senders.values():
            sender.tell_aloud(notification)

    def _tidy(self, now: datetime) -> None:
        """Forget what is old, once a day."""
        last = self.outbox.recall("tidied")
        if not last or now - datetime.fromisoformat(last) > _TIDY:
            with self.outbox.writing():
                self.outbox.forget_old(now)
                self.outbox.remember("tidied", now.isoformat())


def _nonces() -> Iterator[str]:
    while True:
        yield os.urandom(16).hex()
