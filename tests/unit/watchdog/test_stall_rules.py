"""Every rung of the ladder, both ways: who stands on it, and who comes close and does not."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from fleet.coders.stream.tool_calls import ASK_HUMAN, OpenCall
from fleet.schemas import Failed, Limits, NeedsHuman, RateLimit, RateLimited, Stalled
from fleet.watchdog.stall_rules import (
    LOOP_ENDED,
    LOOP_REPORTED,
    AwaitedLimit,
    ParkedFor,
    Patience,
    RunFacts,
    SecondLook,
    quiet_for,
    silence_limit,
    stall_state,
)

LIMITS = Limits(start=120.0, idle=420.0)
PATIENCE = Patience()
STILL, BUSY = SecondLook(), SecondLook(moved=("CPU",))
BASH = OpenCall(name="Bash")


def at(silent=0.0, **known):
    return stall_state(RunFacts(silent=silent, age=silent, **known), LIMITS, PATIENCE)


def test_an_agent_that_talks_is_fine():
    """Nothing is done about it."""
    assert at(1.0) == stall_state(RunFacts(silent=0.0), LIMITS, PATIENCE)
    assert (at(1.0).rung, at(1.0).reaction) == ("fine", "none")


def test_an_agent_that_does_not_begin_is_looked_at_and_then_ended():
    """Only a second look that finds nothing moving ends it."""
    assert at(119, begun=False).rung == "fine"
    assert (at(120, begun=False).rung, at(120, begun=False).reaction) == ("suspect", "look")
    assert at(600, begun=False, look=BUSY).rung == "suspect"
    ended = at(180, begun=False, look=STILL)
    assert ended.outcome == Stalled(rung="never_started", silent_seconds=180)


def test_what_keeps_it_from_beginning_is_typed():
    """A login that is missing is no stall: it is never tried again blindly."""
    ended = at(180, begun=False, look=STILL, cause="auth", words="Not logged in")
    assert ended.outcome == Failed(reason="auth", detail="Not logged in")
    assert ended.rung == "never_started"
    assert at(180, cause="auth").rung == "fine"  # it had begun: these are not its first words


def test_an_agent_without_what_it_needs_is_ended_at_once():
    """Before the agent spends anything; what the task does not need is not missed."""
    ended = at(0, lacking=("mcp:db",))
    assert ended.outcome == Stalled(rung="degraded", detail="it has no mcp:db")
    assert at(0).outcome is None


def test_an_agent_that_asks_a_person_is_neither_silent_nor_in_need_of_input():
    """For as long as the tool waits, whatever the limits; a tool that never lets go is a stall."""
    asks = (OpenCall(name=ASK_HUMAN, timeout=3600),)
    for silent in (0, 61, 421, 3719):
        assert (at(silent, open=asks, look=STILL).rung) == "asking"
    assert at(0, open=asks).reaction == "report"
    assert at(3721, open=asks, look=STILL).rung == "silent"


def test_an_agent_that_goes_on_after_it_was_parked_is_ended():
    """However busy it is, and also while it asks once more; until then it may end its turn."""
    asks = (OpenCall(name=ASK_HUMAN, timeout=3600),)
    for known in ({}, {"open": asks}, {"open": (BASH,), "look": BUSY}):
        assert at(1, parked=ParkedFor("Which?", 119), **known).reaction in ("none", "report")
        ended = at(1, parked=ParkedFor("Which?", 120), **known)
        assert (ended.reaction, ended.outcome) == ("stop", NeedsHuman(question="Which?"))
    assert (
        at(1, parked=ParkedFor("Which?", 120), ended=True).reaction == "none"
    )  # it is just leaving


def test_silence_is_looked_at_and_not_ended():
    """Time alone ends no run."""
    assert at(419).rung == "fine"
    assert (at(421).rung, at(421).reaction) == ("suspect", "look")
    assert at(100_000).reaction == "look"


def test_only_what_stands_still_is_silent():
    """A busy child, a socket that receives, a file that changes: all of them are life."""
    ended = at(481, look=STILL)
    assert (ended.rung, ended.reaction) == ("silent", "stop")
    assert isinstance(ended.outcome, Stalled)
    assert at(10_000, look=BUSY).rung == "suspect"
    assert at(481, look=BUSY, open=(BASH,)).rung == "suspect"


@pytest.mark.parametrize(
    ("call", "limit"),
    [
        (BASH, 420),
        (OpenCall(name="Bash", timeout=600), 720),
        (OpenCall(name="Bash", timeout=5), 420),
        (OpenCall(name="mcp__db__query"), 420),
    ],
)
def test_what_is_open_may_take_its_own_time(call, limit):
    """And never less than nothing at all."""
    assert silence_limit((call,), LIMITS, PATIENCE) == limit
    assert at(limit - 1, open=(call,), look=STILL).rung == "fine"
    assert at(limit + 1, open=(call,), look=STILL).rung == "silent"


def test_a_call_of_a_server_has_six_minutes_at_least():
    """Its CLI gives up on it by itself after five."""
    short = Limits(idle=60)
    assert silence_limit((OpenCall(name="mcp__db__query"),), short, PATIENCE) == 360
    assert silence_limit((), short, PATIENCE) == 60


def test_a_command_that_lives_and_waits_gets_longer_and_not_for_ever():
    """It may wait for a machine elsewhere."""
    assert at(421 * 2, open=(BASH,), look=STILL, command_lives=True).rung == "suspect"
    assert at(420 * 4, open=(BASH,), look=STILL, command_lives=True).rung == "silent"
    assert at(421, open=(), look=STILL, command_lives=True).rung == "silent"


def test_a_stream_that_is_lost_is_no_stall():
    """The CLI's own record grows: the run is kept, and told of."""
    seen = at(600, look=SecondLook(moved=("session file",), session_file=True))
    assert (seen.rung, seen.reaction) == ("stream_lost", "look")


def test_a_question_that_nobody_answers_ends_the_run_after_a_grace():
    """A person who could answer has a minute."""
    assert at(59, asks="AskUserQuestion").rung == "fine"
    ended = at(60, asks="AskUserQuestion")
    assert (ended.rung, ended.reaction) == ("needs_input", "stop")


def test_a_limit_is_waited_for_as_long_as_it_is_short():
    """No silence counts meanwhile; a run that waits for a long one gives its slot back."""
    limit = RateLimit(kind="throttle")
    waits = at(10_000, limit=AwaitedLimit(limit, 30.0), look=STILL)
    assert (waits.rung, waits.reaction) == ("waiting_limit", "report")
    ended = at(1, limit=AwaitedLimit(limit, 3600.0))
    assert (ended.reaction, ended.outcome) == ("stop", RateLimited(limit=limit))
    assert at(481, limit=AwaitedLimit(limit, -1.0), look=STILL).rung == "silent"


def test_the_same_error_again_and_again_is_told_before_it_is_ended():
    """Two are an agent that tries once more."""
    assert at(0, repeats=LOOP_REPORTED - 1).rung == "fine"
    assert (at(0, repeats=LOOP_REPORTED).rung, at(0, repeats=LOOP_REPORTED).reaction) == (
        "looping",
        "report",
    )
    assert at(0, repeats=LOOP_ENDED - 1).reaction == "report"
    ended = at(0, repeats=LOOP_ENDED, repeated="Bash: no")
    assert ended.outcome == Stalled(rung="looping", detail="Bash: no")


def test_an_agent_that_is_done_and_stays_is_stopped_and_judged_by_its_word():
    """It is not stalled: the outcome is what its stream says."""
    assert at(14, ended=True).rung == "fine"
    stays = at(15, ended=True)
    assert (stays.rung, stays.reaction, stays.outcome) == ("finished_not_gone", "stop", None)


knowledge = some.fixed_dictionaries(
    {
        "silent": some.floats(0, 1e6),
        "age": some.floats(0, 1e6),
        "begun": some.booleans(),
        "asks": some.sampled_from(["", "", "AskUserQuestion"]),
        "parked": some.one_of(
            some.none(), some.builds(ParkedFor, some.just("?"), some.floats(0, 1e4))
        ),
        "repeats": some.integers(0, 3),
        "ended": some.booleans(),
        "open": some.lists(
            some.builds(
                OpenCall,
                name=some.sampled_from(["Bash", "mcp__a__b"]),
                timeout=some.one_of(some.none(), some.floats(1, 7200)),
            ),
            max_size=3,
        ).map(tuple),
        "look": some.sampled_from([None, BUSY]),
    }
)


@given(knowledge)
def test_whoever_moves_is_never_killed_for_silence(known):
    """However long, whatever is open: only a look that found nothing moving ends a silent run."""
    seen = RunFacts(**known)
    found = stall_state(seen, LIMITS, PATIENCE)
    assert found.rung not in ("silent", "never_started")


@given(knowledge)
def test_nothing_changes_before_its_time(known):
    """A run that is fine need not be looked at before the time that the rules give."""
    seen = RunFacts(**known)
    left = quiet_for(seen, LIMITS, PATIENCE)
    if stall_state(seen, LIMITS, PATIENCE).rung == "fine":
        assert left > 0
