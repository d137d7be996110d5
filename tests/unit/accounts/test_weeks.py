"""Weeks of work on several accounts, on a clock of their own: what no mix of them brings about."""

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from tests.simulated_weeks import START, WINDOW, a_fleet, share_of_ideal

fleets = some.builds(
    a_fleet,
    some.integers(1, 4),
    units=some.integers(20, 300),
    slots=some.integers(1, 30),
    tasks=some.integers(1, 80),
    turns=some.integers(1, 12),
    stop_at=some.sampled_from([50, 80, 90, 100]),
    seed=some.integers(0, 1 << 30),
)


@settings(max_examples=60)
@given(fleets)
def test_nothing_is_started_on_an_account_that_has_only_its_reserve_left(fleet):
    """So it is used beyond that by no more than the runs that were in flight."""
    stop_at = fleet.accounts[0].stop_at
    fleet.go(START + timedelta(days=7))
    assert all(full < stop_at for full in fleet.fullest_start.values())
    turns = max(work.turns for work in fleet.works)
    assert all(beyond <= fleet.slots * turns for beyond in fleet.over.values())


@settings(max_examples=60)
@given(fleets)
def test_no_task_starves_while_there_is_anything_left_to_give(fleet):
    """All the work is done in the windows that it takes, and a few more for waits in between."""
    account, vendor = fleet.accounts[0], fleet.vendors["a0"]
    needed = sum(work.turns for work in fleet.works)
    a_window = int(vendor.units * account.stop_at / 100) * len(fleet.accounts)
    fleet.go(START + WINDOW * (2 * needed // max(a_window, 1) + 3) + timedelta(days=1))
    assert all(work.ended for work in fleet.works)


@settings(max_examples=40)
@given(fleets)
def test_a_refusal_loses_no_work(fleet):
    """What was served was of use: nothing is asked for twice, whatever was refused in between."""
    fleet.go(START + timedelta(days=14))
    assert all(work.done == work.turns for work in fleet.works if work.ended)
    assert sum(work.done for work in fleet.works) <= sum(work.turns for work in fleet.works)
    assert sum(work.runs for work in fleet.works) <= len(fleet.works) + fleet.refusals


@settings(max_examples=40)
@given(some.integers(2, 60), some.integers(0, 1 << 30))
def test_a_herd_comes_back_one_by_one(herd, seed):
    """After a reset one tries, and the others follow as the account bears them."""
    fleet = a_fleet(1, units=10 * herd, slots=herd, tasks=2 * herd, turns=20, seed=seed)
    fleet.go(START + WINDOW + timedelta(hours=1))
    reset = fleet.vendors["a0"].ends - WINDOW
    after = sorted((at - reset).total_seconds() for at, _ in fleet.starts if at >= reset)
    if not after:
        return  # the first window was enough
    assert fleet.refusals > 0
    for second in range(0, 120, 5):
        begun = sum(at < second for at in after)
        assert begun <= 2 + second / 5, f"{begun} had begun after {second} s"


@pytest.mark.parametrize("accounts", [1, 2, 4])
def test_what_an_account_gives_is_used(accounts):
    """At least 0.95 of the tasks that the vendor would serve are done, however many accounts."""
    done, share = share_of_ideal(accounts)
    assert share >= 0.95, f"{done} tasks"
