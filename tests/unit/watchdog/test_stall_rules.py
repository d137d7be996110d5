"""Every rung of the ladder, both ways: who stands on it, and who comes close and does not."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as some

from fleet.coders.stream.tool_calls import ASK_HUMAN, OpenCall
from fleet.schemas import Failed, Limits, NeedsHuman, RateLimit, RateLimited, Stalled
from fleet.watchdog.stall_rules import (
    LOOP_ENDED,
    LOOP_REPORTED,
    REPEATS_ENDED,
    REPEATS_REPORTED,
    AwaitedLimit,
    ParkedFor,
    Patience,
    Repeats,
    RunFacts,
    SecondLook,
    quiet_for,
    silence_limit,
    stall_state,
)

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
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
    assert at(0, repeats=Repeats(errors=LOOP_REPORTED - 1)).rung == "fine"
    assert (
        at(0, repeats=Repeats(errors=LOOP_REPORTED)).rung,
        at(0, repeats=Repeats(errors=LOOP_REPORTED)).reaction,
    ) == (
        "looping",
        "report",
    )
    assert at(0, repeats=Repeats(errors=LOOP_ENDED - 1)).reaction == "report"
    ended = at(0, repeats=Repeats(errors=LOOP_ENDED, error="Bash: no"))
    assert ended.outcome == Stalled(rung="looping", detail="Bash: no")


def test_an_agent_that_is_done_and_stays_is_stopped_and_judged_by_its_word():
    """It is not stalled: the outcome is what its stream says."""
    assert at(14, ended=True).rung == "fine"
    stays = at(15, ended=True)
    assert (stays.rung, stays.reaction, stays.outcome) == ("finished_not_gone", "stop", None)


PRINTS = SecondLook(moved=("output", "session file"), session_file=True)
TASK, SERVER = OpenCall(name="Task"), OpenCall(name="mcp__db__query", since=NOW)


def test_a_run_that_only_prints_is_looked_at_and_ended():
    """A dot a second is a sign of life, and nothing of it is new."""
    assert at(0, repeats=Repeats(stale=419)).rung == "fine"
    assert (at(0, repeats=Repeats(stale=421)).rung, at(0, repeats=Repeats(stale=421)).reaction) == (
        "repeating",
        "look",
    )
    assert at(0, repeats=Repeats(stale=100_000)).reaction == "look", "time alone ends no run"
    ended = at(0, repeats=Repeats(stale=421), look=PRINTS)
    assert (ended.rung, ended.reaction) == ("repeating", "stop")
    assert ended.outcome.silent_seconds == 421
    assert "it only prints" in ended.outcome.detail


def test_a_run_that_works_may_print_the_same_for_long():
    """A build that prints dots; without a command half an hour at most."""
    at_work = SecondLook(moved=("CPU", "output"))
    assert at(0, repeats=Repeats(stale=1600), look=at_work).reaction == "look"
    assert at(0, repeats=Repeats(stale=1681), look=at_work).reaction == "stop"
    assert at(0, repeats=Repeats(stale=100_000), look=at_work, open=(BASH,)).reaction == "look"
    assert (
        at(0, repeats=Repeats(stale=421), look=PRINTS, open=(BASH,), command_lives=True).reaction
        == "look"
    )
    assert (
        at(0, repeats=Repeats(stale=421), look=PRINTS, open=(TASK,), command_lives=True).reaction
        == "stop"
    )


def test_the_same_results_over_and_over_are_told_before_they_end_a_run():
    """Later than the same errors: a call that succeeds may wait for something."""
    assert at(0, repeats=Repeats(same=REPEATS_REPORTED - 1)).rung == "fine"
    told = at(0, repeats=Repeats(same=REPEATS_REPORTED, words="Bash"))
    assert (told.rung, told.reaction, told.why) == (
        "repeating",
        "report",
        "20 times nothing new: Bash",
    )
    ended = at(0, repeats=Repeats(same=REPEATS_ENDED, stale=30.0, words="Bash"))
    assert ended.outcome == Stalled(
        rung="repeating", silent_seconds=30.0, detail="60 times nothing new: Bash"
    )


def test_an_open_call_of_a_server_or_an_agent_is_shown_with_its_time():
    """For a person who wonders why nothing happens; a command is not one."""
    assert at(59, repeats=Repeats(stale=59), open=(SERVER,)).rung == "fine"
    shown = at(60, repeats=Repeats(stale=60), open=(SERVER,))
    assert (shown.rung, shown.reaction) == ("waiting_call", "report")
    assert shown.why == f"waits for mcp__db__query since {NOW.astimezone():%H:%M:%S}"
    assert at(60, repeats=Repeats(stale=60), open=(TASK,)).why == "waits for Task"
    assert at(60, repeats=Repeats(stale=60), open=(BASH,)).rung == "fine"
    assert (
        quiet_for(RunFacts(silent=1, repeats=Repeats(stale=1), open=(TASK,)), LIMITS, PATIENCE)
        == 59
    )


knowledge = some.fixed_dictionaries(
    {
        "silent": some.floats(0, 1e6),
        "age": some.floats(0, 1e6),
        "begun": some.booleans(),
        "asks": some.sampled_from(["", "", "AskUserQuestion"]),
        "parked": some.one_of(
            some.none(), some.builds(ParkedFor, some.just("?"), some.floats(0, 1e4))
        ),
        "repeats": some.builds(
            Repeats,
            errors=some.integers(0, 3),
            same=some.integers(0, REPEATS_ENDED - 1),
            stale=some.floats(0, 1e6),
        ),
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
