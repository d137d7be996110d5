"""Messages that go through a queue which many hosts share."""

import pytest

from fleet.control import Control
from fleet.control.tasks.tell import tell
from fleet.home import messages
from fleet.queue.protocol import Draft
from fleet.supervisor.hosts.host_travel import hand_on, is_message

ENV = {"USER": "ada"}


@pytest.fixture
def shared(fleet, monkeypatch):
    monkeypatch.setattr(Control, "is_shared", property(lambda _: True))
    fleet.env = ENV
    return fleet


@pytest.mark.parametrize("review", [True, False])
@pytest.mark.parametrize("text", ["Use the other table", "now", '{"text": 1}'])
def test_a_message_comes_out_as_it_was_left(shared, text, review):
    """With the person's name, and a review as a review: its session goes on."""
    task = shared.queue.add(Draft(title="t"))
    told = tell(shared, task, text, now=False, review=review)
    assert told.words == "the message waits for the task's next run"
    (request,) = shared.queue.requests()
    assert is_message(request)
    hand_on(shared.home, request)
    (left,) = messages.read(shared.home.task(task.id))
    assert (left.message.text, left.message.by) == (text, "ada")
    assert left.message.review is review


def test_words_that_an_earlier_version_left_are_a_message(shared):
    """Hosts are brought to a new version one after another."""
    task = shared.queue.add(Draft(title="t"))
    hand_on(shared.home, shared.queue.request(task.id, "tell", text="Quick", asked_by="bob"))
    (left,) = messages.read(shared.home.task(task.id))
    assert (left.message.text, left.message.by) == ("Quick", "bob")
