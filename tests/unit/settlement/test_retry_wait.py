"""`retry_wait_s`: how long a task waits after a run that failed."""

from datetime import timedelta

import pytest

from fleet.runs.agent_claim import AgentClaim
from fleet.runs.outcome_history import History
from fleet.schemas import Failed, RateLimit, RateLimited, Released
from fleet.settlement.settle_table import Facts, decide
from tests.builders import NOW

CRASH = Failed(reason="killed")


def wait(outcome, seconds=10, **changes):
    facts = {
        "run": 1, "started": True, "claim": AgentClaim(),
        "retry_limit": 100, "progress": False, "jitter": 0.0,
    } | changes  # fmt: skip
    settlement = decide(outcome, Facts(**facts, wait=timedelta(seconds=seconds)), NOW).settlement
    assert isinstance(settlement, Released)
    assert settlement.not_before is not None
    return (settlement.not_before - NOW).total_seconds()


@pytest.mark.parametrize(
    ("first", "attempts", "seconds"),
    [(10, 0, 10), (10, 1, 20), (10, 4, 160), (10, 5, 300), (10, 98, 300), (1, 0, 1), (1, 3, 8)],
)
def test_a_failed_task_waits_twice_as_long_each_time(first, attempts, seconds):
    """By `retry_wait_s`, up to five minutes, however often."""
    assert wait(CRASH, first, past=History(attempts=attempts)) == seconds


def test_a_long_first_wait_is_kept():
    """What a person set is not cut."""
    assert wait(CRASH, 3600, past=History(attempts=3)) == 3600


@pytest.mark.parametrize(("first", "soonest"), [(10, 30), (1, 3), (600, 30)])
def test_a_limit_that_resets_at_once_is_not_asked_at_once(first, soonest):
    """The vendor's clock and ours differ a little."""
    past = RateLimited(limit=RateLimit(kind="five_hour", resets_at=NOW))
    assert wait(past, first) == soonest
