"""A person's word on work that waits to land."""

import json

import pytest

from fleet.control.landing.approve import approve, hold, release
from fleet.control.landing.check_folds import check_folds
from fleet.control.landing.land import land
from fleet.control.landing.open_landings import landing_tasks
from fleet.control.landing.waiting_list import waiting_list
from fleet.control.review.review import send_back
from fleet.errors import FleetError, Refused
from fleet.git import repository
from fleet.home import landing_json, task_json
from fleet.landing.land_target import lander_lock
from fleet.schemas import Settings
from fleet.schemas.waits import ToLand
from tests.conftest import need
from tests.unit.control.landed import WaitingHome


@pytest.fixture
def place(tmp_path):
    need("git")
    place = WaitingHome(tmp_path)
    yield place
    place.fleet.close()


def record(place, task):
    return landing_json.believed(place.home, task)


def test_an_approval_names_the_person_and_lets_the_work_go(place):
    """And is sealed: the lander believes it."""
    task = place.waits("asks", why="land = ask")
    approve(place.fleet, [task])
    now = record(place, task)
    assert (now.state, now.approved_by, now.why) == ("waiting", "ada", "")


def test_all_are_approved_or_none(place):
    """One that has landed already stops the command before anything is written."""
    first, second = place.waits("asks"), place.waits("landed")
    with pytest.raises(Refused, match="already"):
        approve(place.fleet, [first, second])
    assert record(place, first).state == "asks"


def test_work_that_an_agent_approved_itself_is_not_believed(place):
    """The record is sealed, and a forged one is refused with the way out."""
    task = place.waits("asks")
    path = place.home.task(task) / landing_json.FILE
    forged = json.loads(path.read_text()) | {"state": "waiting", "approved_by": "ada"}
    path.write_text(json.dumps(forged))
    with pytest.raises(Refused, match="not as fleet wrote it"):
        approve(place.fleet, [task])


@pytest.mark.parametrize("verb", [lambda f, t: approve(f, [t]), hold, release])
def test_an_agent_cannot(place, verb):
    """Inside a run all of it is refused."""
    task = place.waits("asks")
    place.fleet.env = {"FLEET_RUN_ID": "us:x:1"}
    with pytest.raises(Refused, match="an agent cannot"):
        verb(place.fleet, task)
    assert record(place, task).state == "asks"


def test_what_is_held_waits_until_it_is_released(place):
    """It goes on as before; and where a person has to be asked, it asks."""
    task = place.waits("waiting")
    assert hold(place.fleet, task).state == "held"
    assert "held by ada" in record(place, task).why
    with pytest.raises(Refused, match="held already"):
        hold(place.fleet, task)
    assert release(place.fleet, task).state == "waiting"
    with pytest.raises(Refused, match="is not held"):
        release(place.fleet, task)


def test_what_is_released_asks_if_it_changes_what_is_protected(place):
    """A hold is no approval."""
    place.configure(f'[projects."{place.repo.root}"]\nland_protect = ["a"]\n')
    task = place.waits("asks", why="it changes what is protected: a")
    hold(place.fleet, task)
    now = release(place.fleet, task)
    assert (now.state, now.approved_by) == ("asks", "")
    assert "it changes what is protected: a" in now.why


def test_landing_what_is_held_says_so(place):
    """The person may have forgotten why."""
    task, lines = place.waits("waiting"), []
    hold(place.fleet, task)
    land(place.fleet.named("bob"), [task], wait=False, tell=lines.append)
    assert lines[0] == f"{task}: it was held back, and is let go: held by ada"


def test_a_branch_from_before_is_not_taken_if_another_task_is_refused(place):
    """Nothing lands of a command that failed."""
    before, _ = place.task("From before", closed=True, a="x\n")
    place.run(before)
    landed = place.waits("landed")
    with pytest.raises(Refused, match="already"):
        land(place.fleet, [before, landed], wait=False, tell=print)
    assert record(place, before) is None
    assert place.fleet.get(before).status == "closed"


@pytest.mark.parametrize("state", ["landed", "back"])
def test_what_is_not_here_cannot_be_held(place, state):
    """It is on its branch, or with its agent."""
    task = place.waits(state, why_back="verify")
    with pytest.raises(FleetError):
        hold(place.fleet, task)
    assert record(place, task).state == state


def test_nothing_that_waits_is_told_so(place):
    """With the command that says how the task stands."""
    task, _ = place.task(a="x\n")
    with pytest.raises(Refused, match="nothing that waits to land") as refused:
        approve(place.fleet, [task])
    assert f"fleet show {task}" in refused.value.hint


def test_work_that_was_done_on_since_is_not_approved(place):
    """The verified commit lands or nothing: an agent gave up on it after three tries."""
    task = place.waits("asks", why_back="conflict", conflict=("a",), tries=3)
    place.run(task)
    with pytest.raises(Refused, match="cannot land on main") as refused:
        approve(place.fleet, [task])
    assert f"fleet retry {task}" in refused.value.hint
    (shown,) = landing_tasks(place.fleet)
    assert not shown.to_approve
    assert record(place, task).state == "asks"


def test_work_without_a_branch_says_what_to_set(place):
    """The directory had none checked out; once one is named, the same command lands the work."""
    task = place.waits("asks", into="")
    task_json.write(place.home, task, Settings(cwd=str(place.repo.root)))
    with pytest.raises(Refused, match="no branch to land on") as refused:
        approve(place.fleet, [task])
    assert "land_into=BRANCH" in refused.value.hint
    place.configure(f'[projects."{place.repo.root}"]\nland_into = "main"\n')
    approve(place.fleet, [task])
    assert (record(place, task).state, record(place, task).into) == ("waiting", "main")


def test_a_branch_that_is_gone_is_replaced_by_the_one_that_the_settings_name(place):
    """A recorded branch that exists stays, whatever the settings name by now."""
    gone, there = place.waits("asks", into="gone"), place.waits("asks", into="main")
    place.repo.git("branch", "trunk")
    place.configure(f'[projects."{place.repo.root}"]\nland_into = "trunk"\n')
    approve(place.fleet, [gone, there])
    assert [record(place, each).into for each in (gone, there)] == ["trunk", "main"]


def test_a_review_takes_work_from_the_lander(place):
    """What is to be changed must not land as it is."""
    task = place.waits("waiting", approved_by="bob")
    place.fleet.queue.reopen_task(place.fleet.get(task), by="us", waits=ToLand())
    send_back(place.fleet, place.fleet.get(task), whole="Not like this")
    now = record(place, task)
    assert (now.state, now.why_back, now.approved_by) == ("back", "review", "")
    assert place.fleet.get(task).status == "open"
    testing = place.waits("testing")
    place.fleet.queue.reopen_task(place.fleet.get(testing), by="us", waits=ToLand())
    with (
        lander_lock(repository.find(str(place.repo.root)), "main"),
        pytest.raises(Refused, match="landing on main right now"),
    ):
        send_back(place.fleet, place.fleet.get(testing), whole="no")


def test_a_dry_run_says_what_would_conflict_and_changes_nothing(place):
    """With the branch, and with each other."""
    one = place.waits(files={"a": "ONE\ntwo\nthree\n"})
    other = place.waits(files={"a": "Uno\ntwo\nthree\n"})
    fits = place.waits(files={"c": "new\n"})
    late = place.waits(files={"b": "B\n"})
    place.repo.commit("main goes on", b="beta\n")
    before = place.repo.git("for-each-ref"), place.repo.git("status", "--porcelain")
    found = check_folds(place.fleet, waiting_list(place.fleet).work)
    told = {(each.id, each.other): each.files for each in found.conflicts}
    pair = (other, one) if (other, one) in told else (one, other)
    assert told == {(late, ""): ("b",), pair: ("a",)}
    assert set(found.tried) == {one, other, fits, late}
    assert before == (place.repo.git("for-each-ref"), place.repo.git("status", "--porcelain"))
    assert record(place, late).state == "waiting"
