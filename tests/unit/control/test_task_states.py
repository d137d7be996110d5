"""States for lists: the same words as the rows have, without what no line shows."""

from datetime import timedelta

from fleet.control.pause import pause
from fleet.control.view import read_now
from fleet.control.view.read_now import standings_of
from fleet.control.view.task_states import states_of
from fleet.home import landing_json
from fleet.home.landing_json import Landing
from fleet.queue.protocol import Draft
from fleet.schemas import Blocked, Closed
from fleet.schemas.waits import SetAside
from tests.builders import NOW
from tests.settled import settle


def every_kind(fleet):
    """A home with a task of each kind that a list shows."""
    tasks = []
    for settlement in (Closed(reason="done"), Blocked(waits=SetAside())):
        tasks.append(fleet.queue.add(Draft(title="t")))
        (lease,) = fleet.queue.claim("me", ttl=timedelta(minutes=1))
        settle(fleet.queue, lease, settlement)
    first = fleet.queue.add(Draft(title="first"))
    second = fleet.queue.add(Draft(title="second", depends_on=(("blocks", first.id),)))
    back = fleet.queue.add(Draft(title="back"))
    fleet.home.task(back.id).mkdir(parents=True)
    landing_json.write(
        fleet.home, back.id,
        Landing(state="back", why_back="review", repository="/r", into="main", run=1, base="b",
                tree="t", at=NOW),
    )  # fmt: skip
    return [fleet.queue.get(task.id) for task in (*tasks, first, second, back)]


def test_a_list_has_the_words_of_the_rows(fleet):
    """Also where the whole home is held and the tasks are not looked at one by one."""
    tasks = every_kind(fleet)
    found = states_of(fleet, tasks, NOW)
    for held in (False, True):
        if held:
            pause(fleet.home)
        known = standings_of(fleet, tasks, NOW)
        now = states_of(fleet, tasks, NOW)
        assert now == {task_id: standing.state for task_id, standing in known.items()}
    assert [found[task.id] for task in tasks] == [
        "done", "stopped", "ready", "waiting", "sent back",
    ]  # fmt: skip


def test_a_held_home_is_not_read_task_by_task(fleet, monkeypatch):
    """The open tasks of a paused home wait, and no row is made of any."""
    pause(fleet.home)
    tasks = [fleet.queue.add(Draft(title=f"t{number}")) for number in range(3)]
    monkeypatch.delattr(read_now, "standings_of")
    assert set(states_of(fleet, tasks, NOW).values()) == {"waiting"}
