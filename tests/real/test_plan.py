"""A plan on the real bd, which has no transaction over several commands."""

from datetime import timedelta

import pytest

from fleet.plan.plan_drafts import PlanPlace, drafts_of
from fleet.plan.write_plan import write_plan
from fleet.queue.beads.queue import open_beads
from fleet.queue.protocol import Filter
from tests.conftest import SLOW
from tests.plans import a_plan

PLACE = PlanPlace(spec="plan.toml", cwd="/srv/app")


@pytest.fixture
def queue(beads_home):
    queue = open_beads(beads_home, timeout=timedelta(seconds=60))
    yield queue
    queue.close()


def write(queue, plan, *, prune=False):
    return write_plan(
        queue, drafts_of(plan, PLACE), PLACE,
        done=frozenset(), actor="ada", owner="", prune=prune,
    )  # fmt: skip


@pytest.mark.skipif(not SLOW, reason="half a minute of calls of bd: make slow")
def test_a_plan_on_beads_is_completed_by_the_next_apply(queue, monkeypatch):
    """Each task is whole when it is there: what it waits for was made before."""
    plan = a_plan({"a": ""})
    real = queue.add
    made = []

    def cut_off(draft):
        if made:
            raise KeyboardInterrupt
        made.append(real(draft))
        return made[-1]

    monkeypatch.setattr(queue, "add", cut_off)
    with pytest.raises(KeyboardInterrupt):
        write(queue, plan)
    monkeypatch.setattr(queue, "add", real)
    assert write(queue, plan).changes.new == ("a", "@acceptance")
    ready = [t.title for t in queue.find(Filter(ready=True)) if t.issue_type != "epic"]
    assert ready == ["Do a"]

    changed = write(queue, a_plan({"c": ""}), prune=True)
    assert (changed.changes.new, changed.pruned) == (("c",), ("a",))
    assert write(queue, a_plan({"c": ""})).changes.writes == 0
