"""What a host tells the others and hears from them."""

from types import SimpleNamespace

import pytest

from fleet import config
from fleet.errors import Refused
from fleet.queue.sql.hosts.shared_spending import RunSpend
from fleet.schemas import Spend
from fleet.spending.day_ledger import SpendEntry
from fleet.supervisor.hosts.heartbeat import Heartbeat
from fleet.supervisor.hosts.host_facts import machine_of, share_spending, tell_host
from tests.contract.test_hosts import TTL, a_host

DAY = "2026-01-01"


class Meter:
    def __init__(self):
        self.heard = []
        self.on_record = None

    def add_elsewhere(self, day, entry):
        self.heard.append((day, entry))


@pytest.fixture
def state(home):
    beat = Heartbeat(lambda: None, a_host(), machine="m", lease=TTL, say=lambda *_: None)
    settings = config.Config(max_concurrent=4, host_name="one", host_labels="gpu, linux")
    return SimpleNamespace(
        home=home, host=beat, meter=Meter(), config=settings, assignments=["a task"]
    )


def test_what_runs_spend_is_told_and_heard(state):
    """Day budgets are for all hosts together."""
    share_spending(state)
    state.meter.on_record(DAY, SpendEntry(task="t", run=3, project="/p", spend=Spend(tokens=5)))
    (told,) = state.host.exchange.spent
    assert (told.task_id, told.run, told.day, told.host) == ("t", 3, DAY, "home1")
    other = RunSpend(task_id="u", run=1, day=DAY, host="home2", spend=Spend(tokens=7))
    state.host.exchange.spent_elsewhere.append(other)
    tell_host(state, ending=False)
    assert state.meter.heard == [(DAY, SpendEntry(task="u", run=1, spend=Spend(tokens=7)))]


def test_a_host_tells_its_free_slots_and_labels(state):
    """None are free while it ends, so that no other host waits for it."""
    tell_host(state, ending=False)
    assert (state.host.host.slots, state.host.host.free) == (4, 3)
    assert state.host.offer.labels == ("gpu", "linux")
    tell_host(state, ending=True)
    assert state.host.host.free == 0


def test_a_supervisor_whose_id_another_has_ends(state):
    """The loop raises what the heartbeat was told."""
    state.host.refused = Refused("another supervisor works on this queue")
    with pytest.raises(Refused):
        tell_host(state, ending=False)


def test_a_copy_of_a_home_is_another_machine(home, tmp_path):
    """The same home is the same after a restart."""
    assert machine_of(home) == machine_of(home)
    copy = SimpleNamespace(path=tmp_path / "copy")
    copy.path.mkdir()
    assert machine_of(copy) != machine_of(home)
