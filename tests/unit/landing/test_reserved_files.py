"""Tasks that change one file take turns: each is sent back once, however many there are."""

from datetime import timedelta

import pytest
from msgspec import structs

from fleet.home import landing_json
from fleet.queue.protocol import Filter
from fleet.schemas import Blocked
from fleet.schemas.waits import SetAside, ToLand
from tests.landings import NOW, LandHome
from tests.settled import settle


@pytest.fixture
def place(tmp_path):
    made = LandHome(tmp_path)
    made.repo.commit(README="read me\n", **{"part-0": "zero\n"})
    yield made
    made.queue.close()


def redone(place, task_id, text):
    """The agent of a task that was sent back merged the line, and its work is verified again."""
    repo, landing = place.repo, place.landing(task_id)
    repo.git("checkout", "-q", "-b", f"redo-{task_id}", "main")
    commit = repo.commit("merged", **{"part-0": text})
    repo.git("checkout", "-q", "main")
    tree = repo.git("rev-parse", f"{commit}^{{tree}}")
    (lease,) = place.queue.claim("me", ttl=timedelta(hours=1))
    assert lease.task.id == task_id
    given = {"merged": repo.git("rev-parse", "main"), "why": ""}
    again = structs.replace(landing, state="waiting", commit=commit, tree=tree, **given)
    landing_json.write(place.home, task_id, again)
    assert settle(place.queue, lease, Blocked(waits=ToLand(into="main"))) is None


def test_each_of_many_that_change_one_file_is_sent_back_once(place):
    """The first lands, the second goes back, and the third waits for it: what it would land would
    send the second back again.
    """
    first, second, third = (
        place.accepted(f"Say {word}", part_0=f"{word}\n") for word in ("one", "two", "three")
    )
    place.land()
    states = [place.state(each) for each in (first, second, third)]
    assert states == ["landed", "back", "waiting"]
    assert place.landing(third).why.startswith(f"{second} was sent back")
    assert place.status(third) == "blocked"
    redone(place, second, "one, two\n")
    place.land()
    states = [place.state(each) for each in (first, second, third)]
    assert states == ["landed", "landed", "back"]
    assert second in {each.task_id for each in place.landing(third).against}
    redone(place, third, "one, two, three\n")
    place.land()
    assert [place.landing(each).tries for each in (first, second, third)] == [0, 1, 1]
    assert place.shown("part-0") == "one, two, three"


def test_a_newcomer_waits_too_though_it_conflicts_with_nothing_yet(place):
    """Its clone is newer than what landed, and it changes the file that is being merged."""
    first = place.accepted("Say one", part_0="one\n")
    second = place.accepted("Say two", part_0="two\n")
    place.land()
    newcomer = place.verified_beside(second, "Say four", part_0="four\n")
    other = place.verified_beside(second, "Add five", part_5="five\n")
    place.land()
    assert [place.state(each) for each in (first, second)] == ["landed", "back"]
    assert (place.state(newcomer), place.state(other)) == ("waiting", "landed")
    place.approve(newcomer)
    place.land()
    assert place.state(newcomer) == "landed", "what a person approved waits for no other"


@pytest.mark.parametrize("way", ["blocked", "late"])
def test_no_candidate_waits_for_an_agent_that_does_not_come(place, way):
    """The task that was sent back is blocked for a person, or an hour has gone by."""
    place.accepted("Say one", part_0="one\n")
    second, third = (place.accepted(f"Say {word}", part_0=f"{word}\n") for word in ("two", "three"))
    place.land()
    assert place.state(third) == "waiting"
    if way == "blocked":
        (lease,) = place.queue.claim("me", ttl=timedelta(hours=1))
        assert settle(place.queue, lease, Blocked(waits=SetAside(note="a question"))) is None
    else:
        landing = place.landing(second)
        late = structs.replace(landing, at=NOW - timedelta(hours=2))
        landing_json.write(place.home, second, late)
    place.land()
    assert place.state(third) == "back"
    assert {task.id for task in place.queue.find(Filter())} >= {second, third}
