"""Work that an agent goes on with is taken from the lander."""

import pytest

from fleet.control.landing.approve import hold
from fleet.control.landing.withdraw import withdraw
from fleet.errors import Refused
from fleet.git import repository
from fleet.home import landing_json
from fleet.landing.land_target import lander_lock
from fleet.schemas.waits import ToLand
from tests.conftest import need
from tests.unit.control.landed import WaitingHome


@pytest.fixture
def place(tmp_path):
    need("git")
    place = WaitingHome(tmp_path)
    yield place
    place.fleet.close()


def test_what_was_tried_is_counted_anew(place):
    """Both ways in which work comes back: it could not land, or a rule refused its merge."""
    task = place.waits("asks", tries=3, refusals=2, why_back="conflict")
    withdraw(place.fleet, task)
    now = landing_json.believed(place.home, task)
    assert (now.state, now.tries, now.refusals) == ("back", 0, 0)
    assert now.why_back == "conflict", "its agent is told what was in the way"


def test_work_that_a_person_sends_back_no_longer_says_how_to_land_it(place):
    """`fleet land ID` was its way while it asked."""
    task = place.waits("asks", why="land = ask")
    withdraw(place.fleet, task)
    now = landing_json.believed(place.home, task)
    assert (now.why_back, now.why) == ("review", "")


def test_what_lands_now_is_left(place):
    """A train has it in hand."""
    task = place.waits("testing")
    with lander_lock(repository.find(str(place.repo.root)), "main") as held:
        assert held
        with pytest.raises(Refused, match="is landing on main right now"):
            withdraw(place.fleet, task)
        with pytest.raises(Refused, match="is landing on main right now"):
            hold(place.fleet, task)
    assert landing_json.believed(place.home, task).state == "testing"


@pytest.mark.parametrize("verb", [withdraw, hold])
def test_work_that_the_line_has_is_refused_without_a_word_of_other_work(place, verb):
    """There may be none: what is told is that it is merged, what is in the way, and the way out."""
    task = place.waits("ahead", why="a checkout is in the way")
    with pytest.raises(Refused) as refused:
        verb(place.fleet, task)
    said = f"{task} is to land, and its work is merged already: a checkout is in the way"
    assert refused.value.message == said
    assert refused.value.hint.endswith(f"fleet land --revert {task}")


@pytest.mark.parametrize("verb", [withdraw, hold])
def test_work_is_taken_out_of_the_train_of_a_lander_that_was_killed(place, verb):
    """No lander has the branch: there is no moment to wait for."""
    task, other = place.waits("testing"), place.waits("testing", title="Be there, too")
    for each in (task, other):
        place.fleet.queue.reopen_task(place.fleet.get(each), by="us", waits=ToLand())
    verb(place.fleet, task)
    assert landing_json.believed(place.home, task).state in ("back", "held")
    assert landing_json.believed(place.home, other).state == "waiting"


def test_what_is_begun_afresh_was_sent_back_by_no_review(place):
    """`fleet retry --fresh` is no remark on the work."""
    task = place.waits("asks", why_back="conflict")
    withdraw(place.fleet, task, afresh=True)
    assert landing_json.believed(place.home, task).words() == "sent back: it is done again"
