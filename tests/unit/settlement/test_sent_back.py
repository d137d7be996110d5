"""A claim that breaks a rule of landing: a try, and no attempt."""

from msgspec import structs

from fleet.home.landing_json import LandedWork, Landing
from fleet.schemas import Blocked, Finding, Released
from fleet.settlement.sent_back import land_tries, refuse_merge, refused_landing
from tests.builders import NOW

BACK = Landing(
    state="back", why_back="conflict", why="it conflicts", repository="/p", into="main", run=1,
    base="b", tree="t", tries=1, at=NOW, against=(LandedWork(task_id="fleet-2", title="Theirs"),),
)  # fmt: skip
BROKEN = (Finding(rule="markers_left", what="markers in f"),)


def test_a_refusal_is_a_try_until_there_is_none_left():
    """Then a person is asked, and both sides are named."""
    tries = land_tries(BACK, 2, limit=2)
    again = refuse_merge("markers_left: markers in f", tries, "fleet-1")
    assert (type(again.settlement), again.counts) == (Released, False)
    landing = refused_landing(BACK, again, BROKEN, run=2, now=NOW)
    assert (landing.state, landing.why_back, landing.why) == ("back", "rules", "it conflicts")
    last = refuse_merge("markers_left", land_tries(landing, 3, limit=2), "fleet-1")
    assert isinstance(last.settlement, Blocked)
    for words in ("fleet-1", "fleet-2 (Theirs)", "main", "2 times"):
        assert words in last.settlement.note
    asked = refused_landing(landing, last, BROKEN, run=3, now=NOW)
    assert (asked.state, asked.refusals, asked.is_back) == ("asks", 2, True)


def test_the_claim_of_one_run_counts_once():
    """A supervisor that was killed after it wrote the record decides the same again."""
    tries = land_tries(BACK, 2, limit=2)
    decision = refuse_merge("markers_left", tries, "fleet-1")
    once = refused_landing(BACK, decision, BROKEN, run=2, now=NOW)
    assert land_tries(once, 2, limit=2) == tries
    assert refused_landing(once, decision, BROKEN, run=2, now=NOW) == once


def test_work_that_was_not_sent_back_has_no_tries():
    """Nor has work that a review sent back: there is no merge."""
    assert land_tries(None, 2, limit=3) is None
    assert land_tries(structs.replace(BACK, state="waiting"), 2, limit=3) is None
    assert land_tries(structs.replace(BACK, why_back="review"), 2, limit=3) is None
