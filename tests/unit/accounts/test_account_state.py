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


def test_a_refused_login_rests_for_a_while():
    """So that not every task meets it."""
    assert history(LoginRefused()).pace.until == NOW + timedelta(minutes=5)


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
    assert written.replace(',"login_refusal":""', "").replace(',"used":false', "") == old
