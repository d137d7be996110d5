"""A task on its way to a branch is never shown as plainly blocked."""

from datetime import timedelta

import pytest
from msgspec import structs

from fleet.bd.output.lines import page, row
from fleet.cli.inspect.task import receipt_lines
from fleet.cli.run.status import rows
from fleet.cli.tracker import show
from fleet.control.landing.open_landings import (
    landing_of,
    landing_of_run,
    landing_words,
    with_landings,
)
from fleet.control.status import fleet_status
from fleet.control.tasks.questions import questions
from fleet.control.view.read_now import NowReader
from fleet.control.view.task.whole_task import read_whole_task
from fleet.home import landing_json
from fleet.home.landing_json import LandedAs
from fleet.queue.protocol import Draft
from fleet.schemas import Blocked, Receipt
from fleet.schemas.waits import SetAside
from tests.builders import NOW
from tests.conftest import need
from tests.settled import settle
from tests.unit.control.landed import WaitingHome

TTL = timedelta(minutes=5)


@pytest.fixture
def place(tmp_path):
    need("git")
    place = WaitingHome(tmp_path)
    yield place
    place.fleet.close()


def test_status_says_how_it_stands_and_what_it_waits_for(place):
    """What waits for a person has a line of its own, with the command."""
    asks = place.waits("asks", title="Ask me")
    place.waits("waiting")
    stuck = place.fleet.queue.add(Draft(title="Stuck"))
    (lease,) = place.fleet.queue.claim("us", ttl=TTL)
    settle(place.fleet.queue, lease, Blocked(waits=SetAside(note="why")))
    shown = rows(fleet_status(place.fleet, NOW), NOW)
    assert ("queue", "embedded, 3 blocked") in shown
    words = "checked, waits for you to land it on main"
    assert ("needs approval", f"{asks} Ask me: {words} (fleet land {asks})") in shown
    assert ("to land", "1: fleet land") in shown
    assert [name for name, text in shown if stuck.id in text] == ["stopped"]


def test_it_asks_no_question(place):
    """And is not counted among the blocked ones either."""
    place.waits("asks")
    assert questions(place.fleet) == ([], 0)


def test_tasks_shows_what_the_lander_has(place):
    """What waits for a person is not being worked on."""
    task = place.waits("testing", title="Land me")
    place.waits("asks")
    (shown,) = with_landings(place.fleet, [])
    assert (shown.id, shown.doing, shown.title) == (task, "landing", "Land me")
    assert shown.reason == "checked, landing on main"
    assert not shown.lives


def test_show_says_how_far_it_is(place, capsys):
    """In the first lines, with why; and what a dependent waits for."""
    task = place.waits("asks", why="land = ask")
    waits = place.fleet.queue.add(Draft(title="Later", depends_on=(("blocks", task),)))
    show.show_task(place.fleet, place.fleet.get(task), NOW)
    text = capsys.readouterr().out
    assert "state:       needs approval (blocked in the tracker)" in text
    assert "landing:     checked, waits for you to land it on main" in text
    assert "land = ask" in text
    show.show_task(place.fleet, place.fleet.get(waits.id), NOW)
    text = capsys.readouterr().out
    assert f"waits for:   {task} (needs approval): Make it loud" in text
    assert f"waits:       waits for Make it loud ← your approval: fleet land {task}" in text


def test_the_tracker_says_it_too(place):
    """By the row alone, so that it is known on every machine that shares the queue."""
    task = place.fleet.get(place.waits())
    assert "(to land)" in row(task)
    assert "blocked (to land: waits to land on main)" in page(task, (), (), ())


def test_a_landed_task_does_not_say_that_it_waits(place, capsys):
    """The wait ends by itself, so that no note of it is left behind."""
    task = place.fleet.get(place.waits())
    assert "waits to land" in task.why_blocked
    done = place.fleet.queue.close_task(task, by="us", reason="done")
    assert (done.waits, done.notes) == (None, "")
    show.show_task(place.fleet, done, NOW)
    shown = capsys.readouterr().out + page(done, (), (), ())
    whole = read_whole_task(place.fleet, done.id, NOW)
    assert "waits to land" not in shown + whole.task.notes


def test_a_landed_task_says_as_what(place):
    """The receipt of the landing is in the receipt of the run."""
    landed = LandedAs(commit="abc1234def", parents=("1" * 40, "2" * 40), checks=(".: make test",))
    task_id = place.waits("landed", landed=landed, approved_by="ada")
    task = place.fleet.queue.close_task(place.fleet.get(task_id), by="us", reason="done")
    landing = landing_of(place.fleet, task)
    assert landing_words(place.fleet, task_id, landing) == "landed on main as abc1234"
    receipt = Receipt(task_id=task_id, run=1, coder="claude")
    text = "\n".join(receipt_lines(receipt, landing_of_run(place.fleet, receipt)))
    assert "landing:    landed on main as abc1234, approved by ada" in text
    assert "passed there: make test" in text


def test_what_landed_without_a_check_says_so(place):
    """Nothing proved it."""
    task_id = place.waits("landed", landed=LandedAs(commit="abc1234def"))
    words = landing_json.read(place.home, task_id).words()
    assert words == "landed on main as abc1234, unchecked"


def test_a_task_that_a_person_closed_meanwhile_is_closed(place):
    """A landing that counts no more is not shown."""
    task = place.fleet.get(place.waits("waiting"))
    assert landing_of(place.fleet, task) is not None
    done = place.fleet.queue.close_task(task, by="ada", reason="by hand")
    assert landing_of(place.fleet, done) is None


def test_work_that_has_landed_is_not_blocked_until_the_queue_is_told(place):
    """The branch moves before the task is closed: no person is to retry what has landed."""
    task_id = place.waits("testing")
    landing = landing_json.read(place.home, task_id)
    task = place.fleet.get(task_id)
    landed = structs.replace(landing, state="landed", at=task.updated_at + timedelta(minutes=1))
    landing_json.write(place.home, task_id, landed)
    (row,) = NowReader(place.fleet).read(NOW).rows
    assert (row.group, row.landing, row.way_on) == ("running", "landed", None)
    landing_json.forget_mark(place.home, task_id)  # the queue was told since the task was read
    assert landing_of(place.fleet, task).state == "landed"
    anew = structs.replace(task, updated_at=task.updated_at + timedelta(hours=1))
    assert landing_of(place.fleet, anew) is None  # a person blocked it after it had landed
