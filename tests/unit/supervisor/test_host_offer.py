"""What a host can reach, and what it leaves to others."""

import pytest

from fleet.supervisor.hosts import host_offer
from fleet.supervisor.hosts.host_offer import Reach, resting_coders
from tests.contract.test_hosts import a_host

CODERS = {"claude": "", "codex": ""}


@pytest.mark.parametrize(
    ("mine", "theirs", "free", "rests"),
    [
        ((), ("claude/claude",), 1, {"claude"}),
        ((), ("claude/claude",), 0, set()),
        (("claude/work",), ("claude/claude",), 1, set()),
        ((), ("other/claude",), 1, set()),
        (("codex/codex",), ("claude/a", "codex/b"), 2, {"claude"}),
    ],
)
def test_a_coder_rests_while_another_host_has_room_for_it(mine, theirs, free, rests):
    """Where no host has room the task waits for the first account, as on one machine."""
    other = a_host("home2", "two", accounts=theirs, free=free)
    assert resting_coders(a_host(coders=CODERS, accounts=mine), [other]) == rests


def test_a_repository_that_did_not_answer_is_tried_again_later(monkeypatch):
    """Meanwhile other hosts take its tasks."""
    now = 100.0
    monkeypatch.setattr(host_offer.time, "monotonic", lambda: now)
    found = Reach()
    found.miss("git@x:y")
    assert found.unreachable == ("git@x:y",)
    now += 121
    assert found.unreachable == ()
