"""When a coder gets no more work, who may try it, and what opens and closes the breaker."""

import os
from datetime import timedelta

import pytest

from fleet.accounts.breaker_store import Breaker
from fleet.accounts.circuit_breaker import (
    CLOSED,
    Blamed,
    HeldCoder,
    Note,
    RunNoted,
    after,
    fault_of,
    held_coder,
    spare_probe,
)
from fleet.schemas import (
    Blocked,
    Closed,
    ContextFull,
    Failed,
    Finished,
    Lost,
    NeedsHuman,
    RateLimit,
    RateLimited,
    Released,
    Stalled,
    Stopped,
)
from fleet.schemas.waits import SetAside
from tests.builders import NOW, an_ending

SONNET = Blamed(coder="claude", model="sonnet")
CRASH = Failed(reason="exit_code", detail="exit code 3")
DEAD = lambda _: False  # noqa: E731
ALIVE = lambda _: True  # noqa: E731


GOOD = an_ending(Finished(), Closed(reason="done"), why="closed by its agent")
MADE_UP = an_ending(Finished(), why="rejected: no_tools: it used none", broke=("no_tools",))


class Play:
    """A breaker, and runs that end."""

    def __init__(self, home):
        self.home = home
        self.breaker = Breaker(home)
        self.runs = 0

    def ends(self, *endings, task=None, coder="claude", model="sonnet", version="1", now=NOW):
        """Runs of different tasks, unless one is named; the names in the news."""
        news = []
        for each in endings:
            self.runs += 1
            missing = each.why.startswith("cannot start")
            note = Note(task or f"t{self.runs}", self.runs, fault_of(each, missing=missing))
            noted = RunNoted(note=note, version=version, why=each.why)
            news += self.breaker.note(Blamed(coder=coder, model=model), noted, now)
        return news

    def admitted(self, task="next", now=NOW, alive=DEAD, coder="claude", model="sonnet"):
        blamed = Blamed(coder=coder, model=model)
        if self.breaker.admit(blamed, task, now, alive) is not None:
            return False
        self.breaker.probe(blamed, task, now)
        return True

    def held(self):
        return [each.name for each in self.breaker.held()]


@pytest.fixture
def play(tmp_path):
    return Play(tmp_path)


ABSENT = an_ending(Failed(reason="never_started"), why="cannot start: claude: No such file")
AUTH = an_ending(
    Failed(reason="auth"), Blocked(waits=SetAside(note="auth")), why="auth: not logged in"
)


@pytest.mark.parametrize(
    ("outcome", "fault"),
    [
        (Failed(reason="auth"), "account"),
        (Failed(reason="billing"), "account"),
        (CRASH, "crash"),
        (Failed(reason="killed"), "crash"),
        (Failed(reason="no_ending"), "crash"),
        (Stalled(rung="never_started"), "crash"),
        (Stalled(rung="silent"), "unknown"),
        (Failed(reason="overloaded"), "unknown"),
        (RateLimited(limit=RateLimit(kind="five_hour")), "unknown"),
        (Stopped(by="ada"), "unknown"),
        (Lost(), "unknown"),
        (Finished(), "unknown"),
        (NeedsHuman(), None),
        (ContextFull(), None),
    ],
)
def test_only_what_a_coder_can_be_blamed_for_is_held_against_it(outcome, fault):
    """A limit, a stop or a vendor's trouble says nothing of the coder."""
    assert fault_of(an_ending(outcome), missing=False) == fault


def test_five_failures_of_ten_open_it_and_four_do_not(play):
    """Crashes and made-up results count together, good runs between them or not."""
    assert play.ends(GOOD, an_ending(CRASH), GOOD, an_ending(CRASH), MADE_UP, GOOD, MADE_UP) == []
    assert play.admitted()
    ((name, held),) = play.ends(an_ending(CRASH))
    assert (name, held.fault, held.until) == ("claude/sonnet", "crash", NOW + timedelta(minutes=5))
    assert not play.admitted()


def test_failures_that_are_long_past_are_forgotten(play):
    """Ten runs later they are out of sight, and of a coder that works nothing is kept."""
    for _ in range(3):
        play.ends(*[an_ending(CRASH)] * 4, *[GOOD] * 10)
    assert play.held() == []
    assert (play.home / "breaker.json").read_text() == "{}\n"


def test_one_bad_task_does_not_speak_for_its_coder(play):
    """It fails as often as it likes: its own retry limit ends that."""
    assert play.ends(*[an_ending(CRASH)] * 9, task="poison") == []
    assert len(play.ends(an_ending(CRASH), task="another")) == 1


def test_a_missing_program_opens_it_at_once_for_every_model(play):
    """No second task has to find out."""
    play.ends(ABSENT)
    assert play.held() == ["claude"]
    assert not play.admitted(model="opus")
    assert play.admitted(coder="codex", model="gpt-5")


def test_two_refused_logins_in_a_row_open_it(play):
    """One may be an accident; a run that went well between them breaks the row."""
    play.ends(AUTH, GOOD, AUTH)
    assert play.held() == []
    play.ends(AUTH)
    assert play.held() == ["claude"]


def test_another_model_of_the_same_coder_goes_on(play):
    """Crashes and made-up results are held against the model that had them."""
    play.ends(*[MADE_UP] * 5)
    assert play.held() == ["claude/sonnet"]
    assert play.admitted(model="opus")


def test_another_version_starts_anew(play):
    """An upgrade is another program: its first failure is not the fifth."""
    play.ends(*[an_ending(CRASH)] * 4)
    assert play.ends(an_ending(CRASH), version="2") == []


def test_after_the_pause_one_task_tries_it_and_the_others_wait(play):
    """As long as that one lives; a probe that was lost makes way for the next."""
    play.ends(*[an_ending(CRASH)] * 5)
    later = NOW + timedelta(minutes=5)
    assert not play.admitted("a", now=later - timedelta(seconds=1))
    assert play.admitted("a", now=later)
    assert not play.admitted("b", now=later, alive=ALIVE)
    assert play.admitted("a", now=later, alive=ALIVE)
    assert play.admitted("b", now=later, alive=DEAD)
    held = play.breaker.admit(SONNET, "c", later, ALIVE)
    assert held.until > later


def test_a_probe_that_succeeds_closes_it(play):
    """And nothing of the past counts any more."""
    play.ends(*[an_ending(CRASH)] * 5)
    later = NOW + timedelta(minutes=5)
    assert play.admitted("a", now=later)
    assert play.ends(GOOD, task="a", now=later) == [("claude/sonnet", None)]
    assert play.admitted("b")
    assert play.ends(*[an_ending(CRASH)] * 4) == []


def test_a_probe_that_fails_doubles_the_pause_up_to_a_limit(play):
    """Five minutes, ten, twenty, and never more than two hours."""
    play.ends(*[an_ending(CRASH)] * 5)
    now, pauses = NOW, []
    for _ in range(7):
        (held,) = play.breaker.held()
        pauses.append((held.until - now).total_seconds() / 60)
        now = held.until
        assert play.admitted("a", now=now)
        play.ends(an_ending(CRASH), task="a", now=now)
    assert pauses == [5, 10, 20, 40, 80, 120, 120]


def test_runs_that_had_begun_before_change_nothing_while_it_is_open(play):
    """Only the probe's failure counts; but a success of theirs is good news."""
    play.ends(*[an_ending(CRASH)] * 5)
    (before,) = play.breaker.held()
    play.ends(*[an_ending(CRASH)] * 3)
    assert play.breaker.held() == [before]
    assert play.ends(GOOD) == [("claude/sonnet", None)]


def test_a_probe_that_shows_nothing_lets_another_try(play):
    """It was stopped, or met a limit."""
    play.ends(*[an_ending(CRASH)] * 5)
    later = NOW + timedelta(minutes=5)
    play.admitted("a", now=later)
    assert play.breaker.probed(SONNET, "a")
    play.breaker.give_up_probe("a", later)
    assert play.admitted("b", now=later, alive=ALIVE)


def test_a_failed_probe_costs_its_task_nothing():
    """It goes back, uncounted, until the coder is tried again."""
    held = HeldCoder(name="claude", fault="account", why="no", since=NOW, until=NOW)
    counted = an_ending(CRASH, Blocked(waits=SetAside(note="at its limit")), attempts=3)
    free = spare_probe(counted, held)
    assert (free.counts, free.attempts) == (False, 2)
    assert free.settlement == Released(not_before=NOW)


def test_a_restart_forgets_nothing_and_counts_nothing_twice(play):
    """Another supervisor reads the file, and hears of the same run again."""
    play.ends(*[an_ending(CRASH)] * 4)
    again = Breaker(play.home)
    same = RunNoted(note=Note("t4", 4, "crash"), version="1")
    assert again.note(SONNET, same, NOW) == []
    assert again.held() == []
    fifth = RunNoted(note=Note("t5", 5, "crash"), version="1")
    assert len(again.note(SONNET, fifth, NOW)) == 1
    assert [each.name for each in Breaker(play.home).held()] == ["claude/sonnet"]


def test_a_person_closes_it_and_the_supervisor_hears_of_it(play):
    """By the file, without a restart."""
    play.ends(ABSENT)
    assert not play.admitted()
    assert Breaker(play.home).reset("claude", NOW)
    assert play.admitted()
    assert not Breaker(play.home).reset("claude", NOW)


def test_a_damaged_file_holds_no_coder(play):
    """What is broken shows itself again."""
    play.ends(ABSENT)
    (play.home / "breaker.json").write_text('{"claude": {"fault": 3}}')
    assert play.held() == []


def test_a_clock_that_was_set_back_lets_one_task_try(play):
    """Otherwise the coder would be held until that time comes again."""
    play.ends(ABSENT)
    assert not play.admitted()
    assert play.admitted(now=NOW - timedelta(days=300))


@pytest.mark.parametrize("pause", ["1e300", "-1", "1e18"])
def test_a_pause_that_cannot_be_is_no_circuit(tmp_path, pause):
    """The breaker begins anew."""
    text = f'{{"claude":{{"fault":"missing","probe":"t1","pause":{pause},'
    text += '"since":"2026-11-15T12:00:00Z","until":"2026-11-15T13:00:00Z"}}'
    (tmp_path / "breaker.json").write_text(text)
    play = Play(tmp_path)
    assert play.held() == []
    play.ends(ABSENT, task="t1")
    assert play.held() == ["claude"]


def test_processes_that_note_at_once_lose_nothing_of_each_other(tmp_path):
    """A supervisor hears of runs while a person opens another coder."""
    children = []
    for coder in ("claude", "codex"):
        child = os.fork()
        if child == 0:
            breaker = Breaker(tmp_path)
            for number in range(40):
                noted = RunNoted(note=Note("t1", 1, "missing"))
                breaker.note(Blamed(coder=f"{coder}{number}"), noted, NOW)
            os._exit(0)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0]
    assert len(Breaker(tmp_path).held()) == 80


def test_a_file_of_an_earlier_release_is_read(tmp_path):
    """Its keys are those of today."""
    old = (
        '{"claude":{"recent":[{"task_id":"t1","run":1,"fault":"missing"}],"version":"",'
        '"fault":"missing","why":"no such file","since":"2026-11-15T12:00:00Z",'
        '"until":"2026-11-15T12:01:00Z","pause":60.0,"probe":""}}'
    )
    (tmp_path / "breaker.json").write_text(old)
    noted = RunNoted(note=Note("t1", 1, "missing"), why="no such file")
    assert Breaker(tmp_path).held() == [held_coder("claude", after(CLOSED, noted, NOW))]
