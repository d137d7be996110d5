"""What events make of an account's state, and that `accounts.json` keeps it."""

from datetime import timedelta

import msgspec
import pytest

from fleet.accounts.account_state import (
    EMPTY,
    AccountReset,
    LimitRefused,
    LimitSeen,
    LoginRefused,
    ModelAnswered,
    RunEnded,
    RunStarted,
    after,
    held_logins,
    is_being_tried,
    own_outages,
)
from fleet.accounts.account_store import open_accounts
from fleet.schemas import RateLimit
from tests.builders import HOUR, NOW

FULL = RateLimit(kind="five_hour", status="rejected", resets_at=NOW + HOUR)
REFUSED = LimitRefused(FULL, 3)


def history(*events, now=NOW):
    state = EMPTY
    for event in events:
        state = after(state, event, now)
    return state


OUTAGE = RateLimit(kind="outage")


def down(task_id):
    """The vendor's service failed for a run of this task."""
    return LimitRefused(OUTAGE, 1, task_id=task_id, why="500 from the vendor")


def test_an_outage_of_one_task_while_others_are_answered_holds_up_no_other():
    """It counts for that task alone, and the account rests no more for it."""
    state = history(down("bad"))
    assert state.pace.until is not None
    assert own_outages(state, "bad") == 0
    for number in (1, 2, 3):
        state = after(state, ModelAnswered("good", 3), NOW + number * HOUR)
        assert own_outages(state, "bad") == number
        before = state.pace
        state = after(state, down("bad"), NOW + number * HOUR)
        assert state.pace == before
    answered = after(state, ModelAnswered("bad", 3), NOW)
    assert own_outages(answered, "bad") == 0


def test_an_outage_that_nobody_gets_through_counts_against_no_task():
    """The vendor is down for all, however often one task tries."""
    state = history(*[down("a"), down("b")] * 5)
    assert own_outages(state, "a") == own_outages(state, "b") == 0


def test_a_task_without_an_outage_tries_beside_one_with():
    """A task that fails again and again is not the only one to try the account for all."""
    state = history(down("bad"), RunStarted("bad"))
    assert state.pace.probe == "bad"
    trying = frozenset({"bad"})
    assert not is_being_tried(state, "urgent", trying)
    state = after(state, RunStarted("urgent"), NOW)
    assert is_being_tried(state, "third", trying | {"urgent"})
    assert is_being_tried(state, "bad", trying | {"urgent"})
    assert not is_being_tried(state, "third", frozenset())


def test_an_outage_of_half_an_hour_is_shown_to_a_person():
    """With the vendor's words, until a task is answered."""
    state = history(down("a"))
    assert held_logins({"work": state}, NOW + timedelta(minutes=29)) == ()
    (held,) = held_logins({"work": state}, NOW + timedelta(minutes=31))
    assert (held.cause, held.name, held.since) == ("outage", "work", NOW)
    assert held.why == "its vendor's service fails: 500 from the vendor"
    answered = after(state, ModelAnswered("b", 3), NOW + HOUR)
    assert held_logins({"work": answered}, NOW + 2 * HOUR) == ()


def test_a_refused_window_is_tried_by_one_task_at_its_end():
    """The task that starts then is the probe; its answer opens the account."""
    state = history(REFUSED)
    assert state.windows["five_hour"].resets_at == NOW + HOUR
    assert state.pace.unproven
    tried = after(state, RunStarted("t1"), NOW + HOUR)
    assert tried.pace.probe == "t1"
    assert not after(tried, ModelAnswered("t1", 3), NOW + HOUR).pace.unproven
    assert after(tried, ModelAnswered("t2", 3), NOW + HOUR) == tried


def test_a_probe_that_ends_without_an_answer_makes_way():
    """Another task may try, and the end of any other run changes nothing."""
    tried = history(REFUSED, RunStarted("t1"))
    assert after(tried, RunEnded("t2"), NOW) == tried
    left = after(tried, RunEnded("t1"), NOW)
    assert (left.pace.probe, left.pace.unproven) == ("", True)


def test_a_login_near_its_end_is_proven_by_the_probe_alone():
    """A run that had begun before may still use the old tokens."""
    tried = history(RunStarted("t1", proving=True))
    assert after(tried, ModelAnswered("t2", 3, NOW), NOW).proven_login is None
    assert after(tried, ModelAnswered("t1", 3, NOW), NOW).proven_login == NOW


def test_a_rejected_window_without_an_end_waits_for_the_outcome():
    """While the run goes on another window may name the end."""
    assert history(LimitSeen(RateLimit(kind="weekly", status="rejected"), 1)) == EMPTY


def test_a_reset_forgets_everything():
    """A person who opens an account knows better."""
    assert history(REFUSED, LoginRefused(), AccountReset()) == EMPTY


def test_a_limit_outlives_the_supervisor(tmp_path):
    """The next supervisor reads the file; no other account is concerned."""
    open_accounts(tmp_path).apply({"work": REFUSED}, NOW)
    again = open_accounts(tmp_path)
    assert again.state("work") == history(REFUSED)
    assert again.state("home") == EMPTY


def test_a_run_without_limits_writes_nothing(tmp_path):
    """Every run would pay for it."""
    store = open_accounts(tmp_path)
    store.apply({"work": RunStarted("t0")}, NOW)  # the first run shows that the account is used
    for event in (RunStarted("t1"), ModelAnswered("t1", 3), RunEnded("t1")):
        assert store.apply({"work": event}, NOW) == {}


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1}',
        '{"a":{"pace":{"until":"2026-11-15T12:00:00"}}}',
        '{"a":{"pace":{"allowed":-1000000,"since":"2026-11-15T12:00:00Z"}}}',
        '{"a":{"windows":{"w":{"kind":"weekly","used_percent":-1,"seen_at":"2026-11-15T12:00:00Z"}}}}',
    ],
)
def test_a_damaged_file_closes_no_account(tmp_path, text):
    """Not even one whose times lack a zone, or whose numbers cannot be."""
    (tmp_path / "accounts.json").write_text(text)
    store = open_accounts(tmp_path)
    assert store.states == {}
    store.apply({"work": REFUSED}, NOW)
    assert set(open_accounts(tmp_path).states) == {"work"}


def test_a_file_of_an_earlier_release_is_read(tmp_path):
    """Its keys are those of today."""
    old = (
        '{"work":{"windows":{"five_hour":{"kind":"five_hour","model":"","status":"rejected",'
        '"used_percent":null,"resets_at":"2026-11-15T13:00:00Z","seen_at":"2026-11-15T12:00:00Z"}},'
        '"pace":{"allowed":1,"since":"2026-11-15T13:00:00Z","until":null,"unproven":true,"probe":"",'
        '"refused_at":null,"refusals":0,"signs":[]},"proven_login":null}}'
    )
    (tmp_path / "accounts.json").write_text(old)
    store = open_accounts(tmp_path)
    assert store.states == {"work": history(REFUSED)}
    written = msgspec.json.encode(dict(store.states)).decode()
    assert written.replace(',"faults":{},"outages":{}', "").replace(',"used":false', "") == old
