"""What is done beside the loop is answered in the loop's thread."""

import select
import threading

import pytest

from fleet.supervisor.host.worker_pool import Aside


def answered(aside, count, heard):
    """Deliver until so many answers were heard."""
    while len(heard) < count:
        assert select.select([aside], [], [], 10)[0]
        aside.deliver()


def test_answers_come_in_the_thread_that_asks_for_them():
    """And the work is done in another."""
    aside, heard = Aside(), []
    aside.do(threading.get_ident, lambda where: heard.append((where, threading.get_ident())))
    answered(aside, 1, heard)
    ((there, here),) = heard
    assert here == threading.get_ident() != there
    assert aside.waiting == 0


def test_a_slow_thing_does_not_keep_the_next_one_waiting():
    """As long as there are hands."""
    aside, heard, let_go = Aside(hands=2), [], threading.Event()
    aside.do(lambda: let_go.wait(10), heard.append)
    aside.do(lambda: "quick", heard.append)
    answered(aside, 1, heard)
    assert heard == ["quick"]
    let_go.set()
    answered(aside, 2, heard)
    assert heard == ["quick", True]


def test_more_than_there_are_hands_is_done_in_the_end():
    """What waits is not forgotten."""
    aside, heard = Aside(hands=2), []
    for number in range(50):
        aside.do(lambda number=number: number, heard.append)
    answered(aside, 50, heard)
    assert sorted(heard) == list(range(50))


def test_a_failure_is_raised_in_the_loop():
    """It is a mistake of ours, and must not vanish in a thread."""
    aside = Aside()
    aside.do(lambda: 1 / 0, print)
    assert select.select([aside], [], [], 10)[0]
    with pytest.raises(ZeroDivisionError):
        aside.deliver()
