"""What the end of a run is held against, if anything."""

import pytest

from fleet.evidence.claim_rules import MADE_UP, RULES
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
    Stalled,
    Stopped,
)
from fleet.schemas.waits import SetAside, ToMend
from fleet.settlement.login_fault import fault_of, spare_probe
from tests.builders import NOW, an_ending

CRASH = Failed(reason="exit_code", detail="exit code 3")


@pytest.mark.parametrize(
    ("outcome", "fault"),
    [
        (Failed(reason="auth"), "login"),
        (Failed(reason="billing"), "login"),
        (Failed(reason="no_key"), "login"),
        (Failed(reason="model_not_found"), "model"),
        (CRASH, "crash"),
        (Failed(reason="killed"), "crash"),
        (Failed(reason="no_ending"), "crash"),
        (Stalled(rung="never_started"), "crash"),
    ],
)
def test_the_infrastructure_is_held_to_account_for_its_failures(outcome, fault):
    """A login, a program or a model that does not work."""
    assert fault_of(an_ending(outcome), missing=False).fault == fault


@pytest.mark.parametrize(
    "outcome",
    [
        Stalled(rung="silent"),
        Failed(reason="overloaded"),
        Failed(reason="stale_login"),
        RateLimited(limit=RateLimit(kind="five_hour")),
        RateLimited(limit=RateLimit(kind="outage")),
        Stopped(by="ada"),
        Lost(),
        Finished(),
    ],
)
def test_a_limit_a_stop_and_a_vendor_in_trouble_say_nothing(outcome):
    """Neither for the login nor against it."""
    assert fault_of(an_ending(outcome), missing=False) is None


@pytest.mark.parametrize("outcome", [NeedsHuman(), ContextFull()])
def test_a_question_and_a_full_context_show_that_the_login_works(outcome):
    """The model has answered."""
    assert fault_of(an_ending(outcome), missing=False).fault is None


def test_a_task_that_was_closed_shows_that_all_works():
    """Login, model and project."""
    assert fault_of(an_ending(Finished(), Closed(reason="done")), missing=False).fault is None


@pytest.mark.parametrize(
    ("broke", "made_up"),
    [
        (("no_tools",), "no_tools"),
        (("claimed_tests",), "claimed_tests"),
        (("no_effect", "phantom_agents"), "phantom_agents"),
        (("verify_failed",), ""),
        (("verify_failed", "claimed_tests"), ""),
        (("markers_left",), ""),
        (("work_elsewhere",), ""),
        (("no_effect",), ""),
        (("hollow_result",), ""),
    ],
)
def test_only_words_without_anything_behind_them_are_made_up(broke, made_up):
    """A failed check, a conflict and work in the wrong place are honest failures."""
    shown = fault_of(an_ending(Finished(), broke=broke), missing=False)
    assert (shown.why if shown else "") == made_up


def test_a_claim_whose_check_could_not_start_speaks_against_no_model():
    """The model was asked for tests that cannot run here."""
    settlement = Blocked(waits=ToMend(what="verify cannot be started"))
    ending = an_ending(Finished(), settlement, broke=("claimed_tests",))
    assert fault_of(ending, missing=False) is None


def test_every_rule_about_made_up_words_exists():
    """A rule that is renamed would hold no model any more."""
    assert {rule.id for rule in RULES} >= MADE_UP


def test_a_failed_trial_costs_its_task_nothing():
    """It goes back, uncounted, until the login is tried again."""
    counted = an_ending(CRASH, Blocked(waits=SetAside(note="at its limit")), attempts=3)
    free = spare_probe(counted, NOW)
    assert (free.counts, free.attempts) == (False, 2)
    assert free.settlement.not_before == NOW
    assert free.settlement.waits.why == free.why
