"""When a person is told of what: once, together, not at night, and again where it matters."""

from datetime import UTC, datetime, timedelta
from itertools import count

import pytest

from fleet.config.notify import NotifySettings
from fleet.control.notify.notices import Notice
from fleet.control.notify.telling_rules import (
    SAME,
    TOGETHER,
    after_telling,
    compare,
    due_now,
    first_due,
    notifications,
)

NOON = datetime(2031, 5, 4, 12, 0, tzinfo=UTC)
NIGHT = NOON.replace(hour=23)
PLAIN = NotifySettings(command=("true",))
QUIET = NotifySettings(command=("true",), quiet="22:00-07:30")


def question(task="fleet-a", text="Which database?", **more):
    return Notice(topic="question", task=task, title="Store it", state="asks", text=text, **more)


def blocked(task):
    return Notice(
        topic="blocked",
        task=task,
        title="Fix it",
        state="failed",
        text="tests fail",
        way_on="fleet x",
    )


def known(changes, before=()):
    return {each.key: each for each in (*before, *changes)}


def told(ready, now=NOON, settings=PLAIN):
    numbers = count()
    return list(notifications(ready, now, settings, (f"n{number}" for number in numbers)))


def test_the_same_is_told_once():
    """A task that stays blocked is no news a second later."""
    first = known(compare({}, [blocked("fleet-a")], NOON, PLAIN))
    assert compare(first, [blocked("fleet-a")], NOON + timedelta(hours=1), PLAIN) == []


def test_what_comes_back_soon_is_the_same():
    """And what comes back later is told again."""
    first = known(compare({}, [blocked("fleet-a")], NOON, PLAIN))
    sent = known([after_telling(each, NOON, PLAIN) for each in first.values()])
    gone = known(compare(sent, [], NOON + timedelta(minutes=1), PLAIN))
    (soon,) = compare(gone, [blocked("fleet-a")], NOON + timedelta(minutes=2), PLAIN)
    assert (soon.due, soon.ended_at) == (None, None)
    (late,) = compare(gone, [blocked("fleet-a")], NOON + SAME * 2, PLAIN)
    assert late.due is not None


def test_what_ended_before_it_was_told_is_not_told():
    """A task that was unblocked within seconds needs no one."""
    first = known(compare({}, [blocked("fleet-a")], NOON, PLAIN))
    gone = known(compare(first, [], NOON + timedelta(seconds=5), PLAIN))
    assert due_now(gone.values(), NOON + timedelta(minutes=5)) == []


def test_what_comes_together_is_one_message():
    """Three blocked tasks are one ring of the phone, and the question is its own."""
    found = [blocked("fleet-a"), blocked("fleet-b"), question("fleet-c")]
    state = known(compare({}, found, NOON, PLAIN))
    (asked,) = told(due_now(state.values(), NOON))
    assert (asked[0].subject, asked[0].nonce) == ("fleet-c Store it: asks", "n0")
    later = NOON + TOGETHER
    both = [each for each in due_now(state.values(), later) if each.notice.topic != "question"]
    ((message, _),) = told(both)
    assert message.subject == "fleet: 2 things need you"
    assert message.tasks == ("fleet-a", "fleet-b")


@pytest.mark.parametrize(
    ("notice", "hour", "minute"),
    [(question(), 7, 30), (blocked("fleet-a"), 7, 30), (question(urgent=True), 23, 0)],
)
def test_at_night_only_urgent_questions_pass(notice, hour, minute):
    """The others wait for the morning."""
    due = first_due(notice, NIGHT, QUIET)
    assert (due.hour, due.minute) == (hour, minute)
    assert due >= NIGHT


def test_an_open_question_is_told_three_times():
    """Every half hour, and not at night."""
    (state,) = compare({}, [question()], NOON, PLAIN)
    moments = []
    while state.due is not None:
        moments.append(state.due)
        state = after_telling(state, state.due, PLAIN)
    assert moments == [NOON + timedelta(minutes=30 * number) for number in range(3)]
    evening = NOON.replace(hour=21, minute=50)
    (state,) = compare({}, [question()], evening, QUIET)
    assert after_telling(state, evening, QUIET).due.hour == 7


def test_what_is_not_told_at_once_comes_with_the_digest():
    """Tasks that are done are no reason to ring, until eight in the morning."""
    closed = Notice(
        topic="closed", task="fleet-a", title="Fix it", state="done", lasts=False, name="1"
    )
    state = known(compare({}, [closed], NOON, PLAIN))
    state = known(compare(state, [], NOON + timedelta(hours=2), PLAIN), state.values())
    morning = NOON.replace(hour=8) + timedelta(days=1)
    assert due_now(state.values(), morning - timedelta(minutes=1)) == []
    ((message, _),) = told(due_now(state.values(), morning))
    assert message.subject == "fleet-a Fix it: done"


def test_a_first_look_tells_no_old_news():
    """A fleet that was idle all along is not worth a message; an open question is."""
    idle = Notice(topic="idle", name="idle")
    state = known(compare({}, [idle, question()], NOON, PLAIN, first=True))
    assert [each.notice.topic for each in due_now(state.values(), NOON + TOGETHER)] == ["question"]


def test_a_person_who_looks_is_not_told_of_what_is_on_the_screen():
    """But questions are told all the same."""
    idle = Notice(topic="idle", name="idle")
    state = known(compare({}, [idle, question()], NOON, PLAIN))
    ready = due_now(state.values(), NOON + TOGETHER, looking=True)
    assert [each.notice.topic for each in ready] == ["question"]


def test_by_title_alone_no_text_of_an_agent_leaves():
    """What an agent writes may be a secret of the project."""
    state = compare({}, [question(text="The key is hunter2?")], NOON, PLAIN)
    settings = NotifySettings(command=("true",), detail="title")
    ((message, _),) = told(state, settings=settings)
    assert "hunter2" not in message.subject + message.text


def test_a_message_has_the_same_key_when_it_is_made_again():
    """So that what was sent and not noted can be told from what is new."""
    state = compare({}, [blocked("fleet-a")], NOON, PLAIN)
    first, second = (told(state)[0][0].key for _ in range(2))
    assert first == second
    again = [after_telling(each, NOON, PLAIN) for each in state]
    assert told(again)[0][0].key != first
