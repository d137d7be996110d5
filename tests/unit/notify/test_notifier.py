"""The notifier's threads: one takes an answer while another one looks."""

import threading
from datetime import datetime

import pytest

from fleet.control.notify.outbox import Outbox
from fleet.control.view.read_now import NowReader
from fleet.notify.channels.channel_protocol import PersonReply, Sent
from fleet.notify.connect_channels import ConnectedChannels
from fleet.notify.notifier import Notifier
from tests.unit.control.test_questions import blocked


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


@pytest.fixture
def asks(fleet, monkeypatch):
    """A home with a question that is about to be told, and an outbox that is slow."""
    monkeypatch.setattr("fleet.notify.notifier.Outbox", SlowToNote)
    blocked(fleet, "Which?")
    return fleet


def test_a_look_does_not_end_what_is_answered_just_now(asks):
    """Else the person who answered would read that another one was first."""
    phone = Phone()
    notifier = Notifier(asks, ConnectedChannels((phone,), (phone,), ()), lambda _: None)
    view = NowReader(asks)
    notifier.look(view, datetime.now().astimezone())
    (told,) = notifier.outbox.open_questions()
    notifier.outbox.sent(told.notification, phone.name, "1")
    reply = PersonReply(by="phone 11", nonce=told.nonce, text="SQLite")
    answering = threading.Thread(target=notifier._take, args=(asks, phone, reply))
    answering.start()
    assert notifier.outbox.answered.wait(30)
    notifier.look(view, datetime.now().astimezone())
    notifier.outbox.looked.set()
    answering.join(30)
    assert len(phone.ends) == 1
    assert "answered by phone 11" in phone.ends[0]
    notifier.outbox.close()
