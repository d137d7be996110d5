"""landing.json: what fleet wrote is acted on, and nothing else is."""

import pytest
from msgspec import structs

from fleet.files import seals
from fleet.home import landing_json
from fleet.home.landing_json import Landing
from tests.builders import NOW

LANDING = Landing(
    state="waiting",
    repository="/srv/app",
    into="main",
    run=1,
    base="b" * 40,
    tree="c" * 40,
    at=NOW,
)


@pytest.fixture
def home(home):
    seals.begin(home.path)
    home.task("fleet-a").mkdir()
    return home


def test_what_was_written_is_believed(home):
    """The lander of the next supervisor goes by the file."""
    landing_json.write(home, "fleet-a", LANDING)
    assert landing_json.believed(home, "fleet-a") == LANDING
    assert landing_json.doubt(home, "fleet-a") == ""


@pytest.mark.parametrize("by", ["an agent", "damage"])
def test_what_fleet_did_not_write_is_shown_and_never_acted_on(home, by):
    """An agent that approves its own work lands nothing."""
    landing_json.write(home, "fleet-a", LANDING)
    path = home.task("fleet-a") / landing_json.FILE
    text = path.read_text()
    path.write_text(text.replace("waiting", "landed") if by == "an agent" else text[:20])
    assert landing_json.believed(home, "fleet-a") is None
    assert str(path) in landing_json.doubt(home, "fleet-a")
    assert landing_json.change(home, "fleet-a", lambda it: structs.replace(it, tries=1)) is None


def test_a_change_is_made_of_the_record_as_it_is_now(home):
    """Two processes that change a landing lose neither change; None changes nothing."""
    landing_json.write(home, "fleet-a", LANDING)
    landing_json.change(home, "fleet-a", lambda it: structs.replace(it, tries=it.tries + 1))
    landing_json.change(home, "fleet-a", lambda it: structs.replace(it, approved_by="ann"))
    assert landing_json.change(home, "fleet-a", lambda _: None) is None
    found = landing_json.believed(home, "fleet-a")
    assert found == structs.replace(LANDING, tries=1, approved_by="ann")
    assert landing_json.change(home, "fleet-b", lambda it: it) is None


def test_a_mark_stands_for_each_landing_that_is_not_at_its_end(home):
    """The lander looks at those alone, not at all tasks of the home."""
    assert landing_json.unlanded(home) == []
    landing_json.write(home, "fleet-a", LANDING)
    assert landing_json.unlanded(home) == ["fleet-a"]
    landing_json.forget_mark(home, "fleet-a")
    landing_json.write(home, "fleet-a", structs.replace(LANDING, state="landed"))
    assert landing_json.unlanded(home) == []


def test_work_that_goes_back_is_told_with_the_rule_that_its_last_claim_broke():
    """A refused claim is a try, too; after the last one it is the person's."""
    back = structs.replace(LANDING, state="back", why_back="rules", tries=1, refusals=1,
                     refused="markers_left: conflict markers are left in f")  # fmt: skip
    assert back.words(3) == "sent back: markers_left, 2 of 3"
    asked = structs.replace(back, state="asks")
    assert asked.words() == "cannot land on main (markers_left), waits for you"
