"""Which account a task runs on: by room and weight, along its chain, or until when it waits."""

from datetime import timedelta

import pytest

from fleet.accounts.account_state import (
    EMPTY,
    LimitRefused,
    LimitSeen,
    LoginRefused,
    ModelAnswered,
    RunStarted,
    after,
)
from fleet.accounts.choose_account import AccountStanding, AccountWait, Go, Seat, choose, retry_at
from fleet.errors import BadInput
from fleet.schemas import Account, RateLimit
from fleet.schemas.account import read_chain
from tests.builders import HOUR, NOW


def account(name, **more):
    return Account(name=name, **{"coder": "claude", "directory": f"/{name}", **more})


def seat(name, **more):
    return Seat(account=account(name, **more), model="sonnet")


def used(percent, hours=2, status="allowed"):
    limit = RateLimit(
        kind="five_hour", status=status, used_percent=percent, resets_at=NOW + hours * HOUR
    )
    return after(EMPTY, LimitSeen(limit, 1), NOW)


def chosen(*stages, states=None, now=NOW, session_on="", **standings):
    found = choose(stages, states or {}, standings, now, session_on=session_on)
    return found.seat.account.name if isinstance(found, Go) else found


def test_work_goes_to_the_account_with_room():
    """The emptier of two alike."""
    assert chosen([seat("a"), seat("b")], states={"a": used(60), "b": used(20)}) == "b"


def test_a_refused_login_is_told_in_its_words_and_waits_for_a_person():
    """`was refused and rests` hid that a variable was missing, and a run until idle never ended."""
    states = {"a": after(EMPTY, LoginRefused("Missing environment variable: `KEY`"), NOW)}
    found = chosen([seat("a")], states=states)
    why = "a gets no work: its login or account is refused: Missing environment variable: `KEY`"
    assert (found.reason, found.person, found.again) == (why, True, True)
    assert found.until > NOW


def test_work_is_spread_by_weight():
    """Of thirty runs an account with twice the weight has twice as many."""
    running = {"a": 0, "b": 0}
    for _ in range(30):
        standings = {name: AccountStanding(running=number) for name, number in running.items()}
        running[chosen([seat("a", weight=2), seat("b")], **standings)] += 1
    assert running == {"a": 20, "b": 10}


def test_a_session_stays_where_it_is_unless_that_is_much_fuller():
    """To move it costs a copy, and its cache."""
    seats = [seat("a"), seat("b")]
    assert chosen(seats, session_on="a", a=AccountStanding(running=2)) == "a"
    assert chosen(seats, session_on="a", states={"a": used(90)}) == "b"


def test_the_first_stage_with_a_free_seat_has_it():
    """Account, then model, then coder: as the chain says, whatever room there is further on."""
    full = used(100)
    stages = ([seat("a")], [seat("b")], [seat("c")])
    assert chosen(*stages) == "a"
    assert chosen(*stages, states={"a": full}) == "b"
    assert chosen(*stages, states={"a": full, "b": full}) == "c"


def test_a_task_that_has_no_seat_waits_for_the_first_that_opens():
    """And is told which, and why."""
    wait = chosen([seat("a"), seat("b")], states={"a": used(100, 3), "b": used(100, 2)})
    assert wait.until == NOW + 2 * HOUR
    assert wait.reason == "b waits for its limit to reset (five_hour)"
    assert (wait.busy, wait.person) == (False, False)


def test_an_account_serves_no_more_than_it_may():
    """Its own limit counts, whatever its windows say."""
    wait = chosen([seat("a", max_concurrent=2)], a=AccountStanding(running=2))
    assert wait.busy
    assert chosen([seat("a", max_concurrent=2)], a=AccountStanding(running=1)) == "a"


def test_one_task_tries_an_account_after_its_wait():
    """The others wait for it, not for an hour."""
    limit = RateLimit(kind="five_hour", resets_at=NOW + HOUR)
    state = after(EMPTY, LimitRefused(limit, 5), NOW)
    later = NOW + HOUR
    found = choose([[seat("a")]], {"a": state}, {}, later)
    assert isinstance(found, Go)
    assert found.proving
    state = after(state, RunStarted("t1", proving=True), NOW)
    wait = choose(
        [[seat("a")]],
        {"a": state},
        {"a": AccountStanding(running=1, at_work=frozenset({"t1"}))},
        later,
    )
    assert wait.free_at < later + timedelta(minutes=1)
    state = after(state, ModelAnswered("t1", 50), later)
    found = choose([[seat("a")]], {"a": state}, {"a": AccountStanding(running=1)}, later)
    assert isinstance(found, AccountWait)  # one at a time: the next after a step
    found = choose([[seat("a")]], {"a": state}, {"a": AccountStanding(running=1)}, later + HOUR)
    assert isinstance(found, Go)


def test_a_login_that_is_about_to_end_is_used_by_one_at_a_time():
    """Two that fetch new tokens at once break it."""
    soon = AccountStanding(login_ends=NOW, running=0)
    found = choose([[seat("a")]], {}, {"a": soon}, NOW)
    assert found.proving
    busy = AccountStanding(login_ends=NOW, running=1, at_work=frozenset({"t1"}))
    state = after(EMPTY, RunStarted("t1", proving=True), NOW)
    assert isinstance(choose([[seat("a")]], {"a": state}, {"a": busy}, NOW), AccountWait)


def test_what_only_a_person_can_open_is_told_apart():
    """A supervisor that is to end when idle does not wait for a person."""
    paused = chosen([seat("a", enabled=False)])
    assert paused.person
    assert "fleet account resume a" in paused.words
    broken = AccountStanding(trouble="account b gets no work: its secret is gone")
    assert chosen([seat("a", enabled=False), seat("b")], b=broken).person
    mixed = chosen([seat("a", enabled=False), seat("b")], states={"b": used(100)})
    assert not mixed.person


@pytest.mark.parametrize("busy", [True, False])
def test_tasks_that_wait_come_back_apart(busy):
    """Later than the wait, and the more there are the further apart."""
    wait = AccountWait(free_at=NOW + timedelta(seconds=10), reason="", busy=busy)
    few = [retry_at(wait, 2, dice / 10, NOW) for dice in range(10)]
    many = [retry_at(wait, 50, dice / 10, NOW) for dice in range(10)]
    assert max(many) - min(many) > max(few) - min(few)
    assert busy or min(few) >= wait.free_at


@pytest.mark.parametrize("text", ["", "haiku", "model:", "node:x", "model:a,,model:b"])
def test_a_chain_that_means_nothing_is_refused(text):
    """With the way to write one."""
    with pytest.raises(BadInput) as caught:
        read_chain(text)
    assert "account:NAME" in caught.value.hint


def test_a_clock_that_was_set_back_opens_an_account_that_rests():
    """The account was refused at a time that has not come yet, so that its wait means nothing."""
    limit = RateLimit(kind="throttle", status="rejected")
    for event in (LimitRefused(limit, 4), LoginRefused()):
        rests = after(EMPTY, event, NOW)
        assert isinstance(chosen([seat("a")], states={"a": rests}), AccountWait)
        assert chosen([seat("a")], states={"a": rests}, now=NOW - 300 * 24 * HOUR) == "a"


def test_a_clock_that_was_set_back_does_not_keep_an_account_slow():
    """Its pace is raised from the next answer on, not from a day next year."""
    limit = RateLimit(kind="throttle", status="rejected")
    slow = after(EMPTY, LimitRefused(limit, 8), NOW)
    slow = after(after(slow, RunStarted("t1"), NOW), ModelAnswered("t1", 8), NOW)
    before = NOW - 300 * 24 * HOUR
    slow = after(slow, ModelAnswered("t2", 8), before)
    busy = AccountStanding(running=6)
    assert chosen([seat("a")], states={"a": slow}, now=before + HOUR, a=busy) == "a"


def test_a_model_that_met_another_models_limit_waits_for_it_too():
    """An alias may lead to any model, and would be refused at once again, for ever."""
    limit = RateLimit(kind="weekly_opus", status="rejected", resets_at=NOW + HOUR)
    shut = after(EMPTY, LimitRefused(limit, 0, "default"), NOW)
    alias = Seat(account=account("a"), model="default")
    assert isinstance(chosen([alias], states={"a": shut}), AccountWait)
    assert chosen([Seat(account=account("a"), model="haiku")], states={"a": shut}) == "a"
    again = after(shut, LimitSeen(limit, 1), NOW)
    assert isinstance(chosen([alias], states={"a": again}), AccountWait)
    assert chosen([alias], states={"a": again}, now=NOW + HOUR) == "a"
