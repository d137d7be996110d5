"""After a run: which session the next one goes on with, and what it is told."""

import pytest

from fleet import coders
from fleet.coders.stream.run_outcome import startup_cause
from fleet.schemas import (
    ContextFull,
    Failed,
    Finished,
    LimitExceeded,
    Lost,
    NeedsHuman,
    RateLimit,
    RateLimited,
    Stalled,
    Stopped,
)
from fleet.schemas.decision import MESSAGE, SHUTDOWN
from fleet.settlement.resume_policy import last_ending_words, session_to_carry_on
from tests.builders import an_ending

CLAUDE = coders.make("claude")
LIMIT = RateLimited(limit=RateLimit(kind="five_hour"))


def ended(outcome, **more):
    known = {"session_id": "s1", "coder": "claude", "tool_calls": 3} | more
    return an_ending(outcome, **known)


@pytest.mark.parametrize(
    "outcome",
    [
        Stalled(rung="silent"),
        Stalled(rung="needs_input"),
        Lost(why="gone"),
        LimitExceeded(limit="time"),
        Failed(reason="api_error"),
        Failed(reason="stale_login"),
        Failed(reason="killed"),
        Stopped(by=SHUTDOWN),
        Stopped(by=MESSAGE),
        LIMIT,
    ],
)
def test_a_run_that_was_cut_off_is_carried_on_once(outcome):
    """And then not twice in a row, but for a limit or a stop, which say nothing against it."""
    assert session_to_carry_on(ended(outcome), CLAUDE) == "s1"
    again = session_to_carry_on(ended(outcome, resumed=True), CLAUDE)
    no_fault = isinstance(outcome, RateLimited | Stopped)
    is_stale = outcome == Failed(reason="stale_login")
    assert again == ("s1" if no_fault or is_stale else None)


@pytest.mark.parametrize(
    "outcome",
    [
        Finished(),
        ContextFull(),
        NeedsHuman(),
        Stalled(rung="looping"),
        Stalled(rung="degraded"),
        Stalled(rung="never_started"),
        LimitExceeded(limit="cost"),
        LimitExceeded(limit="turns"),
        Failed(reason="denied"),
        Failed(reason="auth"),
        Failed(reason="session_not_found"),
        Failed(reason="refusal"),
        Stopped(by="ada"),
    ],
)
def test_a_run_whose_memory_led_it_there_is_begun_afresh(outcome):
    """The same memory would lead to the same end."""
    assert session_to_carry_on(ended(outcome), CLAUDE) is None


def test_a_session_whose_work_was_reviewed_goes_on():
    """It knows why the work is as it is; a full context or a loop is no better for a review."""
    assert session_to_carry_on(ended(Finished()), CLAUDE, goes_on=True) == "s1"
    again = ended(Finished(), resumed=True)
    assert session_to_carry_on(again, CLAUDE, goes_on=True) == "s1"
    assert session_to_carry_on(ended(ContextFull()), CLAUDE, goes_on=True) is None
    assert session_to_carry_on(ended(Finished()), coders.make("codex"), goes_on=True) is None
    assert "reviewed its work" in last_ending_words(ended(Finished()), reviewed=True)


def test_a_session_whose_work_is_in_the_wrong_place_goes_on():
    """It knows where; a claim that was wrong in another way begins anew."""
    for broke in (("work_elsewhere",), ("unrelated_history", "shared_path")):
        assert session_to_carry_on(ended(Finished(), broke=broke), CLAUDE) == "s1"
        assert session_to_carry_on(ended(Finished(), broke=broke, resumed=True), CLAUDE) == "s1"
    for broke in (("work_elsewhere", "verify_failed"), ("no_effect", "no_tools"), ()):
        assert session_to_carry_on(ended(Finished(), broke=broke), CLAUDE) is None


def test_a_session_is_carried_on_only_by_whose_it_is():
    """Another coder, one that cannot, or no session at all."""
    last = ended(Lost())
    assert session_to_carry_on(last, coders.make("codex")) is None
    assert session_to_carry_on(ended(Lost(), session_id=""), CLAUDE) is None
    assert session_to_carry_on(ended(Lost(), coder=""), CLAUDE) is None
    assert session_to_carry_on(None, CLAUDE) is None
    assert session_to_carry_on(ended(Lost(), tool_calls=0), CLAUDE) is None


def test_the_next_agent_is_told_what_not_to_repeat():
    """A limit above all: the same waste once more would be the same end."""
    assert "smaller steps" in last_ending_words(ended(LimitExceeded(limit="cost")))
    assert "another way" in last_ending_words(ended(Stalled(rung="looping")))
    assert last_ending_words(ended(Lost())) == "because"
    assert last_ending_words(None) == ""


def test_the_next_agent_is_told_that_its_question_was_answered():
    """And the answer; without one it reads the question alone."""
    asked = ended(NeedsHuman(question="QUESTION: Which db?"), why="QUESTION: Which db?")
    assert last_ending_words(asked, "SQLite") == "It asked: Which db?\n\nIt was answered: SQLite"
    assert last_ending_words(asked) == "QUESTION: Which db?"
    assert last_ending_words(ended(Lost()), "SQLite") == "because"


def test_what_was_refused_is_told_to_every_later_agent():
    """With the command: else the next run tries the same."""
    denied = ("Bash: python3 -m pytest -q", "Write: /etc/passwd\nsecond line")
    words = last_ending_words(ended(Lost(), denied=denied))
    assert words.startswith("because\n\nRefused for want of permission")
    assert "- Bash: python3 -m pytest -q\n- Write: /etc/passwd\n" in words


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("Not logged in · Please run /login", "auth"),
        ("Open https://example.org/oauth/authorize?x=1 in a browser", "auth"),
        (
            "Not inside a trusted directory and --skip-git-repo-check was not specified.",
            "untrusted",
        ),
        ("Do you trust the files in this folder?", "untrusted"),
        ("Error: Raw mode is not supported on the current process.stdin", "no_terminal"),
        ("could not open TTY: open /dev/tty: no such device", "no_terminal"),
        ("Reading additional input from stdin...", "no_terminal"),
        ("Error: thread/resume failed: no rollout found for thread id 2a78", "session_not_found"),
        ("Segmentation fault", None),
        ("WARNING: proceeding, even though we could not create PATH aliases", None),
        ("", None),
    ],
)
def test_the_first_words_of_a_cli_tell_why_it_does_not_begin(words, reason):
    """Or nothing: what is not known is a failure like any other."""
    assert startup_cause(words) == reason


def test_work_that_could_not_land_goes_on_in_the_same_session():
    """As often as it is sent back; what landed is told beside, and refused calls still are."""
    again = ended(Finished(), resumed=True)
    assert session_to_carry_on(again, CLAUDE, goes_on=True) == "s1"
    assert session_to_carry_on(ended(Finished()), CLAUDE) is None
    assert last_ending_words(ended(Finished()), sent_back=True) == ""
    assert "Bash: rm" in last_ending_words(ended(Finished(), denied=("Bash: rm",)), sent_back=True)
    assert "reviewed its work" in last_ending_words(
        ended(Finished()), reviewed=True, sent_back=True
    )


def test_a_claim_without_any_change_is_answered_in_the_same_session():
    """It knows whether a change was needed; the prompt says who decides."""
    unchanged = ended(Finished(), broke=("no_effect",))
    assert session_to_carry_on(unchanged, CLAUDE) == "s1"
    assert "say why in the reason" in last_ending_words(unchanged)
    assert "say why" not in last_ending_words(ended(Finished(), broke=("no_effect", "no_tools")))
