"""The outbox: what it counts, and what it forgets."""

from datetime import timedelta

import pytest
from msgspec import structs

from fleet.config.notify import NotifySettings
from fleet.control import Control
from fleet.control.notify.notices import Notice
from fleet.control.notify.notify_status import notify_status
from fleet.control.notify.outbox import KEPT, Outbox
from fleet.control.notify.telling_rules import NoticeState, Notification
from fleet.control.status import fleet_status
from fleet.doctor.check_leftovers import channels
from fleet.doctor.check_result import Installation
from tests.builders import HOUR, NOW


@pytest.fixture
def outbox(home):
    """One with a message that the phone took, and one that was given up."""
    outbox = Outbox(home)
    for key in ("a", "b"):
        message = Notification(
            key=key, at=NOW, topic="question", subject="s", text="t", nonce=key, tasks=("fleet-a",)
        )
        outbox.add(message, ["phone"], "n")
    outbox.sent("a", "phone", "7")
    outbox.put_off("b", "phone", None, "it hangs")
    yield outbox
    outbox.close()


def test_what_was_sent_and_given_up_is_counted_for_ever(outbox):
    """A counter of Prometheus never goes back, although old messages are forgotten."""
    (state,) = outbox.states()
    assert (state.waiting, state.dropped) == (0, 1)
    assert (state.sent_total, state.dropped_total) == (1, 1)
    _end_all(outbox)
    outbox.forget_old(NOW + KEPT + HOUR)
    assert outbox.states() == []
    late = Notification(key="c", at=NOW + KEPT, topic="idle", subject="s", text="t")
    outbox.add(late, ["phone"], "n")
    (state,) = outbox.states()
    assert (state.dropped, state.sent_total, state.dropped_total) == (0, 1, 1)


def _end_all(outbox):
    for each in outbox.open_questions():
        assert outbox.end_question(each.nonce, "answered")


def test_what_is_old_is_forgotten_with_its_question(outbox):
    """And nothing that is younger."""
    _end_all(outbox)
    outbox.forget_old(NOW + KEPT - timedelta(minutes=1))
    assert outbox.question("a") is not None
    outbox.forget_old(NOW + KEPT + HOUR)
    assert outbox.question("a") is None


def test_an_open_question_is_never_forgotten(outbox):
    """A person may answer after months, by a reply to the message that asked."""
    outbox.end_question("b", "answered")
    outbox.forget_old(NOW + 10 * KEPT)
    assert [each.nonce for each in outbox.open_questions()] == ["a"]
    assert outbox.question_by_remote("phone", "7") == outbox.question("a")
    assert outbox.remotes("a") == [("phone", "7")]
    assert outbox.question("b") is None


def test_what_is_told_later_is_no_secret(fleet):
    """In quiet hours a person sees that something waits, and until when."""
    outbox = Outbox(fleet.home)
    notice = Notice(topic="blocked", task="fleet-a", text="it failed")
    outbox.keep(NoticeState(notice=notice, since=NOW, due=NOW + HOUR))
    told = Notice(topic="question", task="fleet-b", text="Which?")
    outbox.keep(NoticeState(notice=told, since=NOW, due=NOW + 2 * HOUR, times=1))
    outbox.close()
    status = notify_status(fleet)
    assert (status.later, status.later_at) == (1, NOW + HOUR)


def test_a_channel_that_takes_nothing_is_named_by_status_and_doctor(fleet, outbox):
    """A person who hears nothing learns why, where they look first."""
    settings = NotifySettings(command=("true",))
    here = Control(fleet.home, structs.replace(fleet.config, notify=settings))
    (told,) = fleet_status(here, NOW).untold
    assert told == "phone: 0 wait, 1 given up after a day"
    installation = Installation(home=fleet.home, env={}, now=NOW, config=here.config)
    (finding,) = channels(installation)
    assert finding.what == told
    assert fleet_status(fleet, NOW).untold == ()
