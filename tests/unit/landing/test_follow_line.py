"""Work that a checkout keeps from its branch: when it lands, and what is said until then."""

import pytest
from msgspec import structs

from fleet import config
from fleet.control import Control
from fleet.control.landing.land import land_all
from fleet.control.landing.waiting_list import waiting_list
from fleet.control.status import fleet_status
from fleet.git import repository
from fleet.home import landing_json
from fleet.landing.land_target import OTHER_LANDER, lander_lock
from tests.landings import NOW, LandHome

LINE = "refs/fleet/land/main"


@pytest.fixture
def place(tmp_path):
    place = LandHome(tmp_path)
    place.repo.commit(README="read me\n", **{"part-0": "zero\n"})
    place.repo.put("part-0", "mine\n")
    place.repo.put("other", "mine\n")
    place.task = place.accepted("Add one", part_1="one\n", files={"other": "one\n"})
    place.land()
    assert place.state(place.task) == "ahead"
    (place.repo.root / "other").unlink()
    assert place.repo.git("rev-list", "--count", f"main..{LINE}") != "0"
    yield place
    place.queue.close()


def fleet_of(place, verify=""):
    lines = f'\n[projects."{place.repo.root}"]\nverify = ["{verify}"]\n' if verify else ""
    place.home.config.write_text(config.default_text(queue="embedded") + lines)
    return Control(place.home, config.load(place.home.config))


def told(fleet):
    lines = []
    land_all(fleet, wait=True, tell=lines.append)
    fleet.close()
    return lines


def test_a_person_who_commits_has_made_the_checkout_clean(place):
    """Their commit and what had landed are merged, verified, and the branch is there."""
    place.repo.git("commit", "-q", "-am", "mine")
    (said,) = told(fleet_of(place, "grep -q mine part-0 && test -e part-1"))
    assert said.startswith(f"{place.task}: landed on main as ")
    assert place.status(place.task) == "closed"
    assert [place.shown("part-0"), place.shown("part-1")] == ["mine", "one"]
    assert place.repo.git("rev-parse", "-q", "--verify", LINE, ok=False) == ""


def test_a_commit_that_fails_together_with_what_landed_is_told_with_the_way_out(place):
    """The branch stays at the person's value, and the two are not tried again and again."""
    place.repo.git("commit", "-q", "-am", "mine")
    mine = place.repo.git("rev-parse", "main")
    check = f"echo x >> {place.ran}; test ! -e part-1"
    for _ in range(2):
        (said,) = told(fleet_of(place, check))
        assert f"together they fail `{check}`" in said
        assert f"git -C {place.repo.root} merge {LINE}" in said
    assert place.runs() == 1
    assert place.repo.git("rev-parse", "main") == mine


def test_a_commit_that_conflicts_with_what_landed_is_told_with_the_way_out(place):
    """Also if no other task waits; and once it is merged by hand, the branch stands right."""
    place.repo.git("checkout", "-q", "part-0")
    place.repo.commit("mine", **{"part-1": "eins\n"})
    (said,) = told(fleet_of(place))
    assert "both conflict in part-1. Merge by hand: git -C" in said
    assert "fleet land ID" not in said
    place.repo.git("merge", "-q", "-X", "ours", LINE)
    (said,) = told(fleet_of(place))
    assert said.startswith(f"{place.task}: landed on main as ")


def test_what_is_in_the_way_is_named_with_its_directory(place, tmp_path):
    """A linked working tree is another directory than the project's; git status there is clean."""
    place.repo.git("checkout", "-q", "--detach")
    place.repo.git("checkout", "-q", "part-0", ok=False)
    other = tmp_path / "other"
    place.repo.git("worktree", "add", "-q", str(other), "main")
    (other / "part-1").write_text("changed\n")
    place.land()
    fleet = fleet_of(place)
    found = waiting_list(fleet)
    (work,) = found.work
    obstacle = "where part-1 is not in git and would be overwritten"
    assert work.why.startswith(f"main is checked out at {other}, {obstacle}: ")
    assert found.behind == fleet_status(fleet, NOW).behind == ()
    fleet.close()


def test_another_lander_at_work_is_no_success(place):
    """The branch stands where it stood."""
    place.repo.git("checkout", "-q", "part-0")
    with lander_lock(repository.find(str(place.repo.root)), "main") as held:
        assert held
        (said,) = told(fleet_of(place))
    assert said.endswith(OTHER_LANDER)


def test_a_task_that_an_earlier_fleet_closed_with_its_line_ahead_gets_its_branch_moved(place):
    """It counted as landed then, and only what its trains have learnt says that a branch waits."""
    landing_json.change(place.home, place.task, lambda now: structs.replace(now, state="landed"))
    place.queue.close_task(place.queue.get(place.task), by="us", reason="landed")
    landing_json.forget_mark(place.home, place.task)
    place.repo.git("checkout", "-q", "part-0")
    (said,) = told(fleet_of(place))
    assert said == "main has moved"
    assert place.shown("part-1") == "one"
