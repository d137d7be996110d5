"""What an agent says of its own task: recorded as a claim, whichever way it is said."""

import json

import pytest

from fleet.errors import BadInput, Refused
from fleet.runs.agent_claim import AgentClaim
from fleet.spool.agent_rights import allowed
from fleet.spool.claim_line import claim_of


def said(line, **files):
    asked = allowed("bd", line.split(), task="fleet-own", follow_ups=())
    assert asked.kind == "claim"
    return claim_of(asked, "fleet-own", files.__getitem__)


@pytest.mark.parametrize(
    ("line", "claim"),
    [
        ("close fleet-own --reason wrote", AgentClaim(done="wrote")),
        ("close own -r wrote", AgentClaim(done="wrote")),
        ("close --reason=wrote -- fleet-own", AgentClaim(done="wrote")),
        ("close fleet-own -m wrote", AgentClaim(done="wrote")),
        ("done fleet-own all of it", AgentClaim(done="all of it")),
        ("close fleet-own", AgentClaim(done="Closed")),
        ("update fleet-own --status closed", AgentClaim(done="Closed")),
        ("update fleet-own --status blocked --notes QUESTION", AgentClaim(blocked="QUESTION")),
        ("update fleet-own -s blocked --append-notes Q", AgentClaim(blocked="Q")),
        ("update fleet-own --status blocked", AgentClaim(blocked="")),
        ("reopen fleet-own", AgentClaim()),
        ("update fleet-own --status open", AgentClaim()),
        ("update fleet-own --claim", AgentClaim()),
    ],
)
def test_a_word_about_the_own_task_is_a_claim(line, claim):
    """The last word counts, and a claim can be taken back."""
    assert said(line)[0] == claim


def test_a_reason_may_come_from_a_file():
    """It is the agent's file, and not one of fleet's."""
    assert said("close own --reason-file why", why="all of it")[0].done == "all of it"


def test_json_is_answered_with_json():
    """An array, as bd prints it."""
    (shape,) = json.loads(said("close fleet-own --json")[1])
    assert (shape["id"], shape["status"]) == ("fleet-own", "closed")


def test_other_statuses_are_no_claims():
    """And notes that would be dropped are not dropped without a word."""
    with pytest.raises(Refused, match="deferred"):
        said("update fleet-own --status deferred")
    with pytest.raises(BadInput, match="its notes were not changed"):
        said("update fleet-own --status in_progress --notes x")
