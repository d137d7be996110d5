"""What is held of a login, who may try it, and what gives it work again."""

import json
import os
from datetime import timedelta

import pytest

from fleet.accounts.account_state import (
    EMPTY,
    AccountReset,
    LoginRefused,
    ModelAnswered,
    RunEnded,
    RunStarted,
    after,
    held_logins,
)
from fleet.accounts.account_store import open_accounts
from fleet.accounts.login_faults import Note, RunShowed, Use, hold_for, tries
from tests.builders import NOW

SHOP = Use(model="sonnet", project="/shop")
BOOK = Use(model="sonnet", project="/book")
OPUS = Use(model="opus", project="/shop")
NOBODY = frozenset()


class Login:
    """The health of one login, and runs that end on it."""

    def __init__(self):
        self.state, self.runs = EMPTY, 0

    def ends(self, *faults, task=None, use=SHOP, version="1", now=NOW):
        """Runs of different tasks, unless one is named."""
        for fault in faults:
            self.runs += 1
            note = Note(task or f"t{self.runs}", self.runs, fault)
            self.hears(RunShowed(use=use, note=note, version=version, why="it said so"), now)

    def hears(self, event, now=NOW):
        self.state = after(self.state, event, now)

    def admits(self, use=SHOP, trying=NOBODY, now=NOW):
        return hold_for(self.state.faults, use, trying, now) is None

    def held(self, now=NOW):
        return [each.name for each in held_logins({"work": self.state}, now)]


@pytest.fixture
def login():
    return Login()


@pytest.mark.parametrize("fault", ["program", "login"])
def test_a_missing_program_and_a_refused_login_hold_every_model_at_once(login, fault):
    """No second task has to find out."""
    login.ends(fault)
    assert login.held() == ["work"]
    assert not login.admits(OPUS)


def test_a_model_that_is_not_known_is_held_after_one_run(login):
    """Another model on the same login goes on."""
    login.ends("model")
    assert login.held() == ["work/sonnet"]
    assert not login.admits(BOOK)
    assert login.admits(OPUS)


def test_five_failures_of_ten_hold_a_model_and_four_do_not(login):
    """Good runs between them or not."""
    login.ends(None, "crash", "crash", None, "crash", "crash", None)
    assert login.admits()
    login.ends("crash")
    assert login.held() == ["work/sonnet"]
    assert login.admits(OPUS)


def test_made_up_results_hold_their_model_in_their_project_alone(login):
    """An innocent project goes on, with the same model on the same login."""
    login.ends(*["fabrication"] * 5)
    assert login.held() == ["work/sonnet in /shop"]
    assert not login.admits(SHOP)
    assert login.admits(BOOK)
    assert login.admits(OPUS)


def test_one_bad_task_does_not_speak_for_its_model(login):
    """It fails as often as it likes: its own retry limit ends that."""
    login.ends(*["crash"] * 9, task="poison")
    assert login.held() == []
    login.ends("crash", task="another")
    assert login.held() == ["work/sonnet"]


def test_failures_that_are_long_past_are_forgotten(login):
    """Of a login that works nothing is kept."""
    for _ in range(3):
        login.ends(*["crash"] * 4, *[None] * 10)
    assert login.state == EMPTY


def test_another_version_of_the_program_begins_afresh(login):
    """An upgrade is another program: its first failure is not the fifth."""
    login.ends(*["crash"] * 4)
    login.ends("crash", version="2")
    assert login.held() == []


def test_after_the_pause_one_task_tries_and_the_others_wait(login):
    """As long as that one lives; a trial that was lost makes way for the next."""
    login.ends(*["crash"] * 5)
    later = NOW + timedelta(minutes=5)
    assert not login.admits(now=later - timedelta(seconds=1))
    assert login.admits(now=later)
    login.hears(RunStarted("a", use=SHOP))
    assert tries(login.state.faults, SHOP, "a")
    assert not login.admits(trying=frozenset({"a"}), now=later)
    assert login.admits(trying=frozenset({"b"}), now=later)
    login.hears(RunEnded("a"))
    assert login.admits(trying=frozenset({"a"}), now=later)


def test_a_trial_that_succeeds_gives_work_again(login):
    """And nothing of the past counts any more."""
    login.ends(*["crash"] * 5)
    login.hears(RunStarted("a", use=SHOP))
    login.ends(None, task="a")
    assert login.state.faults == {}


def test_the_first_answer_shows_that_a_login_works(login):
    """The others need not wait for the end of the run; of a made-up result it tells nothing."""
    login.ends(*["fabrication"] * 5)
    login.hears(LoginRefused("expired", "t9"))
    assert login.held() == ["work", "work/sonnet in /shop"]
    login.hears(ModelAnswered("t9", 3, use=SHOP))
    assert login.held() == ["work/sonnet in /shop"]


def test_a_trial_that_fails_doubles_the_pause_up_to_a_limit(login):
    """Five minutes, ten, twenty, and never more than two hours."""
    login.ends(*["crash"] * 5)
    now, pauses = NOW, []
    for _ in range(7):
        (held,) = held_logins({"work": login.state}, now)
        pauses.append((held.until - now).total_seconds() / 60)
        now = held.until
        login.hears(RunStarted("a", use=SHOP), now)
        login.ends("crash", task="a", now=now)
    assert pauses == [5, 10, 20, 40, 80, 120, 120]


def test_a_login_that_cannot_be_renewed_is_held_again_after_its_pause(login):
    """No run is refused for it: fleet renews it itself."""
    login.hears(LoginRefused("it is logged out"))
    first = login.state
    login.hears(LoginRefused("it is logged out"), NOW + timedelta(minutes=1))
    assert login.state == first
    later = NOW + timedelta(minutes=5)
    login.hears(LoginRefused("it is logged out"), later)
    assert not login.admits(now=later)


def test_runs_that_had_begun_before_prolong_no_hold(login):
    """Only the trial's failure counts; but a success of theirs is good news."""
    login.ends("login")
    before = login.state
    login.ends("login", "login")
    login.hears(LoginRefused("expired", "t7"))
    assert login.state == before
    login.ends(None)
    assert login.held() == []


def test_a_restart_counts_no_run_twice(login):
    """Another supervisor hears of the same run again."""
    login.ends(*["crash"] * 4)
    before = login.state
    login.hears(RunShowed(use=SHOP, note=Note("t4", 4, "crash"), version="1"))
    assert login.state == before


def test_a_clock_that_was_set_back_lets_one_task_try(login):
    """Otherwise the login would be held until that time comes again."""
    login.ends("program")
    assert not login.admits()
    assert login.admits(now=NOW - timedelta(days=300))


def test_a_hold_says_its_cause_first_and_how_to_go_on(login):
    """The CLI's own words follow."""
    login.hears(LoginRefused("Not logged in", "t1"))
    (held,) = held_logins({"work": login.state}, NOW)
    assert held.why == "its login or account is refused: Not logged in"
    assert held.way_on == "fleet account resume work"


def test_a_coder_that_is_asked_for_no_model_has_one_scope(login):
    """Its runs are all of the same model."""
    login.ends(*["crash"] * 5, use=Use(project="/shop"))
    assert login.held() == ["work"]


def test_a_restart_and_a_person_find_what_is_held_in_the_file(tmp_path):
    """A person opens the login again, and the supervisor hears of it without a restart."""
    store = open_accounts(tmp_path)
    store.apply({"work": LoginRefused("expired", "t1")}, NOW)
    again = open_accounts(tmp_path)
    assert again.states == store.states
    again.apply({"work": AccountReset()}, NOW)
    assert store.states == {}


def test_processes_that_note_at_once_lose_nothing_of_each_other(tmp_path):
    """A supervisor hears of runs while a person opens another login."""
    children = []
    for coder in ("claude", "codex"):
        child = os.fork()
        if child == 0:
            store = open_accounts(tmp_path)
            for number in range(40):
                store.apply({f"{coder}{number}": LoginRefused("expired", "t1")}, NOW)
            os._exit(0)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0]
    assert len(open_accounts(tmp_path).states) == 80


def test_what_an_earlier_version_held_is_held_still(tmp_path):
    """Its file is taken over and goes; what it held against models shows itself again."""
    circuit = {"recent": [], "version": "", "since": "2026-11-15T12:00:00Z", "pause": 60.0}
    old = {
        "codex": {**circuit, "fault": "missing", "why": "no such file"},
        "claude@work": {**circuit, "fault": "account", "why": "expired"},
        "claude/sonnet": {**circuit, "fault": "fabrication", "why": "no_tools"},
        "claude": {"recent": []},
    }
    (tmp_path / "breaker.json").write_text(json.dumps(old))
    held = held_logins(open_accounts(tmp_path).states, NOW)
    assert [(each.name, each.cause) for each in held] == [("codex", "program"), ("work", "login")]
    assert not (tmp_path / "breaker.json").exists()
    assert held_logins(open_accounts(tmp_path).states, NOW) == held


@pytest.mark.parametrize("text", ["", "[]", '{"claude": {"fault": 3}}'])
def test_a_damaged_file_of_an_earlier_version_holds_nothing(tmp_path, text):
    """What is broken shows itself again."""
    (tmp_path / "breaker.json").write_text(text)
    assert open_accounts(tmp_path).states == {}
