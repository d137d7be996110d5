"""The notifier's threads: one takes an answer while another one looks."""

import threading
from datetime import datetime

import pytest

from fleet.control.notify.outbox import Outbox
from fleet.control.view.read_now import NowReader
from fleet.errors import QueueBusy
from fleet.notify.channels.channel_protocol import PersonReply, Sent
from fleet.notify.connect_channels import ConnectedChannels
from fleet.notify.notifier import Notifier
from tests.unit.control.test_questions import blocked, parked


class Phone:
    """A channel and its way back, which remember how questions ended."""

    name = "phone"

    def __init__(self):
        self.ends = []

    def send(self, message):
        return Sent(remote="1")

    def end_question(self, remote, words):
        self.ends.append(words)

    def acknowledge(self, reply, words):
        pass


class SlowToNote(Outbox):
    """An outbox that notes the end of a question only after a look had time to come between."""

    def __init__(self, home):
        super().__init__(home)
        self.answered, self.looked = threading.Event(), threading.Event()

    def end_question(self, nonce, end):
        if end.startswith("answered by"):
            self.answered.set()
            self.looked.wait(0.5)
        return super().end_question(nonce, end)


class Told:
    """A notifier that has told the one question of a home to a phone."""

    def __init__(self, fleet):
        self.phone, self._fleet = Phone(), fleet
        connected = ConnectedChannels((self.phone,), (self.phone,), ())
        self.notifier = Notifier(fleet, connected, lambda _: None)
        self._view = NowReader(fleet)
        self.look()
        (self._question,) = self.notifier.outbox.open_questions()
        self.notifier.outbox.sent(self._question.notification, self.phone.name, "1")

    def look(self):
        self.notifier.look(self._view, datetime.now().astimezone())

    def reply(self, text):
        reply = PersonReply(by="phone 11", nonce=self._question.nonce, text=text)
        self.notifier._take(self._fleet, self.phone, reply)


def test_a_look_does_not_end_what_is_answered_just_now(fleet, monkeypatch):
    """Else the person who answered would read that another one was first."""
    monkeypatch.setattr("fleet.notify.notifier.Outbox", SlowToNote)
    blocked(fleet, "Which?")
    told = Told(fleet)
    outbox = told.notifier.outbox
    answering = threading.Thread(target=told.reply, args=("SQLite",))
    answering.start()
    assert outbox.answered.wait(30)
    told.look()
    outbox.looked.set()
    answering.join(30)
    assert len(told.phone.ends) == 1
    assert "answered by phone 11" in told.phone.ends[0]
    outbox.close()


def test_an_answer_that_a_busy_queue_held_up_is_taken_when_it_comes_again(fleet, monkeypatch):
    """The answer is written before the task goes back: between the two the question was ended as
    "answered elsewhere", the reply refused as too late, and the task stayed blocked for ever.
    """
    task = parked(fleet, "Plums or pears?", options=("plums", "pears"))
    told = Told(fleet)
    with monkeypatch.context() as broken:
        broken.setattr(type(fleet.queue), "reopen_task", busy)
        with pytest.raises(QueueBusy):
            told.reply("pears")
    told.look()
    assert told.phone.ends == []
    told.reply("pears")
    (end,) = told.phone.ends
    assert "answered by phone 11" in end
    assert fleet.get(task.id).status == "open"
    told.look()
    assert len(told.phone.ends) == 1
    told.notifier.outbox.close()


def busy(*_, **__):
    raise QueueBusy("another process holds the queue")
