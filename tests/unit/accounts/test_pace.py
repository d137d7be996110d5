"""How many agents an account bears: halved at once, raised step by step, proven by one."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as some
from msgspec import structs

from fleet.accounts.account_state import (
    FREE,
    STEP,
    after_answer,
    after_pressure,
    after_refusal,
    agents_allowed,
    one_task_tries,
)
from tests.builders import NOW

SECOND = timedelta(seconds=1)


def probing(pace, task_id):
    return structs.replace(pace, probe=task_id)


def test_a_refusal_halves_it_and_one_task_tries():
    """Ten were too many: five, once one has an answer."""
    slow = after_refusal(FREE, 10, None, NOW)
    assert (slow.allowed, slow.unproven, slow.until) == (5, True, NOW + 15 * SECOND)
    tried = probing(slow, "t1")
    assert tried.probe == "t1"
    again = after_answer(tried, "t1", 100, NOW + 20 * SECOND)
    assert not again.unproven
    assert agents_allowed(again, NOW + 20 * SECOND) == 5
    assert agents_allowed(again, NOW + 20 * SECOND + 3 * STEP) == 8


def test_refusals_that_come_together_are_one():
    """Ten agents that meet one wall do not make the pause ten times as long."""
    pace = FREE
    for number in range(10):
        pace = after_refusal(pace, 10 - number, None, NOW + number * 0.3 * SECOND)
    assert pace.allowed == 5
    assert pace.until == NOW + 15 * SECOND


def test_pauses_double_up_to_five_minutes_and_one_that_is_named_counts():
    """A vendor that says when is believed."""
    pace, now, pauses = FREE, NOW, []
    for _ in range(7):
        pace = after_refusal(pace, 4, None, now)
        pauses.append((pace.until - now).total_seconds())
        now = pace.until
    assert pauses == [15, 30, 60, 120, 240, 300, 300]
    assert after_refusal(FREE, 4, 40 * SECOND, NOW).until == NOW + 40 * SECOND


def test_three_signs_at_once_halve_it_and_two_do_not():
    """An agent that was told to come later lives on; a single one may be an accident."""
    two = after_pressure(after_pressure(FREE, 8, NOW), 8, NOW + SECOND)
    assert agents_allowed(two, NOW) is None
    assert agents_allowed(after_pressure(two, 8, NOW + 2 * SECOND), NOW + 2 * SECOND) == 4
    assert agents_allowed(after_pressure(two, 8, NOW + 30 * SECOND), NOW + 30 * SECOND) is None


def test_an_answer_of_another_proves_nothing():
    """It may have begun before the wall was there."""
    tried = probing(one_task_tries(FREE, NOW), "t1")
    assert after_answer(tried, "t2", 10, NOW + SECOND) == tried


def test_once_all_slots_are_allowed_nothing_is_remembered():
    """Of an account that does well there is nothing to keep."""
    pace = after_answer(probing(one_task_tries(FREE, NOW), "t1"), "t1", 3, NOW)
    assert after_answer(pace, "t9", 3, NOW + STEP) == pace
    assert after_answer(pace, "t9", 3, NOW + 2 * STEP) == FREE


@given(
    some.lists(
        some.tuples(some.sampled_from("rpae"), some.integers(1, 50), some.integers(0, 60)),
        max_size=40,
    )
)
def test_whatever_happens_a_task_may_try_in_time(events):
    """At least one is allowed at any time, after five minutes at the latest."""
    pace, now = FREE, NOW
    for kind, running, seconds in events:
        now += seconds * SECOND
        match kind:
            case "r":
                pace = after_refusal(pace, running, None, now)
            case "p":
                pace = after_pressure(pace, running, now)
            case "a":
                pace = after_answer(probing(pace, "t") if pace.unproven else pace, "t", 20, now)
            case _:
                pace = structs.replace(pace, probe="")
    assert pace.until is None or pace.until <= now + timedelta(minutes=5)
    assert (agents_allowed(pace, now) or 1) >= 1
