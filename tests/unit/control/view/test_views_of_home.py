"""What surfaces show beside *now*: the graph around a task, usage for charts, accounts."""

from datetime import timedelta

import pytest

from fleet.config import default_text
from fleet.control.accounts import accounts_view
from fleet.control.usage import read_usage
from fleet.control.view import task_graph
from fleet.control.view.task_graph import read_graph
from fleet.errors import NotFound
from fleet.queue.protocol import Draft
from fleet.runs import receipt_json
from fleet.runs.outcome_history import write_ending
from fleet.schemas import Blocked, Closed, Finished
from fleet.schemas.waits import SetAside
from tests.builders import HOUR, NOW, a_run, an_ending
from tests.settled import settle
from tests.unit.control.test_usage import receipt


def chain(fleet, count):
    """Tasks that each wait for the one before."""
    ids = []
    for number in range(count):
        waits = tuple(("blocks", each) for each in ids[-1:])
        ids.append(fleet.queue.add(Draft(title=f"task {number}", depends_on=waits)).id)
    return ids


def test_a_graph_reaches_two_steps_each_way_and_says_what_it_frees(fleet):
    """Nearest first; only what waits for nothing else becomes ready."""
    ids = chain(fleet, 7)
    two = Draft(title="two", depends_on=(("blocks", ids[3]), ("blocks", ids[0])))
    waits_for_two = fleet.queue.add(two).id
    found = read_graph(fleet, ids[3], NOW)
    assert found.center == ids[3]
    assert {node.id for node in found.nodes} == {*ids[1:6], waits_for_two, ids[0]}
    assert found.nodes[0].id == ids[3]
    edges = {(edge.task, edge.waits_for) for edge in found.edges}
    assert (ids[3], ids[2]) in edges
    assert (waits_for_two, ids[0]) in edges
    assert (ids[6], ids[5]) not in edges
    assert found.unblocks == 1


def test_a_closed_neighbour_is_in_the_graph_and_holds_nothing_up(fleet):
    """A person sees what was waited for."""
    first, second = chain(fleet, 2)
    (lease,) = fleet.queue.claim("us", ttl=HOUR)
    settle(fleet.queue, lease, Closed(reason="done"))
    found = read_graph(fleet, second, NOW)
    groups = {node.id: node.group for node in found.nodes}
    assert (groups[first], groups[second]) == ("done", "waiting")


def test_a_graph_that_is_too_large_says_what_it_leaves_out(fleet, monkeypatch):
    """Its task is always there."""
    monkeypatch.setattr(task_graph, "MOST_NODES", 5)
    center = fleet.queue.add(Draft(title="center")).id
    for number in range(8):
        fleet.queue.add(Draft(title=f"{number}", depends_on=(("blocks", center),)))
    found = read_graph(fleet, center, NOW)
    assert (len(found.nodes), found.more, found.unblocks) == (5, 4, 8)
    assert found.nodes[0].id == center


def test_a_graph_of_no_task_is_refused(fleet):
    """As any other page of a task that is not there."""
    with pytest.raises(NotFound):
        read_graph(fleet, "fleet-nope", NOW)


def ran(fleet, *, closed=True, **facts):
    task = fleet.queue.add(Draft(title="t"))
    run = a_run(fleet.home.task(task.id))
    settlement = Closed(reason="ok") if closed else Blocked(waits=SetAside(note="failed"))
    write_ending(run, an_ending(Finished(), settlement, counts=True, at=NOW))
    told = receipt(task_id=task.id, good=closed, started_at=NOW - HOUR, **facts)
    receipt_json.write(run, told)


def test_usage_keeps_known_estimated_and_unknown_cost_apart(fleet):
    """And what was lost in runs that closed nothing."""
    ran(fleet, cost=1.0)
    ran(fleet, cost=None, estimated_usd=0.25)
    ran(fleet, cost=None, model="other")
    ran(fleet, cost=2.0, closed=False)
    found = read_usage(fleet, "model", NOW)
    total = found.total
    assert (total.runs, total.unpriced) == (4, 1)
    assert (total.cost_usd, total.estimated_usd) == (3.0, 0.25)
    assert total.wasted_usd == 2.0
    assert [row.name for row in found.rows] == ["claude sonnet", "claude other"]
    (day,) = found.days
    assert day.runs == 4


def test_usage_counts_from_a_moment_on(fleet):
    """A chart of a week has nothing of the week before."""
    ran(fleet)
    assert read_usage(fleet, "day", NOW, NOW - 2 * HOUR).total.runs == 1
    later = read_usage(fleet, "day", NOW, NOW - timedelta(minutes=1))
    assert (later.total.runs, later.rows, later.days) == (0, (), ())


def test_accounts_are_listed_with_the_persons_own_login_where_none_is_declared(fleet):
    """Both get work, and nothing is shut without a reason."""
    fleet.home.config.write_text(default_text(queue="embedded"))
    found = accounts_view(fleet, NOW)
    assert found.as_of == NOW
    assert all(each.own and not each.shut for each in found.accounts)
    assert found.held == ()
