"""What a host tells the others and hears from them."""

from types import SimpleNamespace

import pytest

from fleet import config
from fleet.errors import Refused
from fleet.git.remote.trusted_remotes import trust_remote
from fleet.home.status_file import PAUSED
from fleet.queue.sql.hosts.shared_news import RunSpend
from fleet.schemas import Spend
from fleet.spending.day_ledger import SpendEntry
from fleet.supervisor.hosts import host_offer
from fleet.supervisor.hosts.heartbeat import Heartbeat
from fleet.supervisor.hosts.host_offer import machine_of
from fleet.supervisor.hosts.share_news import tell_spending
from fleet.supervisor.hosts.take_part import HostDuty, exchange_host_news
from fleet.supervisor.state import QueueChanged, SettingsApplied
from tests.builders import NOW, trust_coders
from tests.contract.test_hosts import TTL, a_host

DAY = "2026-01-01"


class Ledger:
    def __init__(self):
        self.heard = []

    def add_elsewhere(self, day, entry):
        self.heard.append((day, entry))


class OneTask(list):
    """The tasks in hand, none of which has a run yet."""

    def living(self):
        return []


class Rooms:
    """Accounts that all have room, or none."""

    full = False

    def with_room(self, config, coders, now):
        return () if self.full else tuple(f"{coder}/work" for coder in coders)


@pytest.fixture
def state(home):
    beat = Heartbeat(lambda: None, a_host(), machine="m", lease=TTL, say=lambda *_: None)
    settings = config.Config(max_concurrent=4, host_name="one", host_labels="gpu, linux")
    return SimpleNamespace(
        home=home, heartbeat=beat, meter=SimpleNamespace(ledger=Ledger()), config=settings,
        assignments=OneTask(["a task"]), events=[], now=lambda: NOW, accounts=Rooms(),
        backoff=SimpleNamespace(why=""),
        pool=SimpleNamespace(submit=lambda job, done: done(job())),
    )  # fmt: skip


def test_a_host_asks_again_for_what_it_declined_once_its_settings_change(state):
    """They may have what the tasks lacked: a verify command, or another `require`."""
    made = []
    queue = SimpleNamespace(rows=lambda name, values: made.append((name, values)))
    state.queue = SimpleNamespace(call=lambda do, then: then(do(queue)))
    HostDuty(state, state.heartbeat, None).on_event(SettingsApplied())
    assert made == [("hosts.forget_declines", {"id": state.heartbeat.host.id})]


def test_a_host_that_starts_nothing_tells_why(state):
    """Other hosts say it of tasks that wait for this one."""
    state.backoff.why = "the disk is almost full"
    exchange_host_news(state, state.heartbeat, ending=False)
    assert state.heartbeat.host.why_idle == "the disk is almost full"
    (state.home.path / PAUSED).touch()
    exchange_host_news(state, state.heartbeat, ending=False)
    assert state.heartbeat.host.why_idle == "paused (fleet resume)"


def test_what_runs_spend_is_told_and_heard(state):
    """Day budgets are for all hosts together."""
    entry = SpendEntry(task="t", run=3, project="/p", spend=Spend(tokens=5))
    tell_spending(state, DAY, entry)
    (told,) = state.heartbeat.exchange.spent
    assert (told.task_id, told.run, told.day, told.host) == ("t", 3, DAY, "home1")
    other = RunSpend(task_id="u", run=1, day=DAY, host="home2", spend=Spend(tokens=7))
    state.heartbeat.exchange.spent_elsewhere.append(other)
    exchange_host_news(state, state.heartbeat, ending=False)
    assert state.meter.ledger.heard == [(DAY, SpendEntry(task="u", run=1, spend=Spend(tokens=7)))]


def test_a_host_tells_its_free_slots_and_labels(state):
    """None are free while it ends, so that no other host waits for it."""
    exchange_host_news(state, state.heartbeat, ending=False)
    assert (state.heartbeat.host.slots, state.heartbeat.host.free) == (4, 3)
    assert state.heartbeat.host.offer.labels == ("gpu", "linux")
    exchange_host_news(state, state.heartbeat, ending=True)
    assert state.heartbeat.host.free == 0


def test_a_supervisor_whose_id_another_has_ends(state):
    """The loop raises what the heartbeat was told."""
    state.heartbeat.refused = Refused("another supervisor works on this queue")
    with pytest.raises(Refused):
        exchange_host_news(state, state.heartbeat, ending=False)


def test_a_copy_of_a_home_is_another_machine(home, tmp_path):
    """The same home is the same after a restart."""
    assert machine_of(home) == machine_of(home)
    copy = SimpleNamespace(path=tmp_path / "copy")
    copy.path.mkdir()
    assert machine_of(copy) != machine_of(home)


def test_a_host_tells_its_accounts_mirrors_and_what_it_does_not_reach(state, tmp_path):
    """Placement goes by that: the warm mirror first, and nothing that cannot be fetched."""
    common = tmp_path / "project" / ".git"
    (common / "refs" / "heads").mkdir(parents=True)
    (common / "refs" / "heads" / "main").touch()
    upstream = SimpleNamespace(url="https://git.example.org/app.git/")
    trust_remote(state.home.path, str(common), upstream, NOW)
    trust_remote(state.home.path, str(tmp_path / "gone"), upstream, NOW)
    state.heartbeat.update(coders={"claude": "1"})
    state.heartbeat.reach.miss("https://git.example.org/far.git")
    exchange_host_news(state, state.heartbeat, ending=False)
    host = state.heartbeat.host
    assert host.accounts == ("claude/work",)
    assert host.mirrors == ("https://git.example.org/app.git",)
    assert host.unreachable == ("https://git.example.org/far.git",)


def test_a_host_without_room_leaves_tasks_to_one_that_has_some(state, monkeypatch):
    """And asks for tasks again once it has room."""
    state.heartbeat.update(coders={"claude": "1"})
    state.heartbeat.exchange.others = (a_host("home2", "two", accounts=("claude/theirs",)),)
    monkeypatch.setattr(type(state.heartbeat.reach), "is_due", True)
    state.accounts.full = True
    exchange_host_news(state, state.heartbeat, ending=False)
    offer = state.heartbeat.offer_now("claude")
    assert (offer.resting, offer.rests, "coder:claude" in offer.has) == (("claude",), True, False)
    state.accounts.full = False
    exchange_host_news(state, state.heartbeat, ending=False)
    assert state.heartbeat.offer_now("claude").rests is False
    assert state.events == [QueueChanged()]


def test_a_coder_that_is_trusted_while_a_supervisor_runs_is_offered(state, monkeypatch):
    """A task that waits for it need not wait for the next supervisor."""
    monkeypatch.setattr(host_offer, "_LOOK_EVERY", 0.0)
    exchange_host_news(state, state.heartbeat, ending=False)
    before = state.heartbeat.host.coders
    folder = state.home.path / "coders"
    folder.mkdir()
    (folder / "mine.toml").write_text('argv = ["sh", "{prompt}"]\n')
    exchange_host_news(state, state.heartbeat, ending=False)
    assert "mine" not in state.heartbeat.host.coders
    trust_coders(state.home.path)
    state.events.clear()
    exchange_host_news(state, state.heartbeat, ending=False)
    assert "mine" in state.heartbeat.host.coders
    assert any(isinstance(event, QueueChanged) for event in state.events)
    assert "mine" not in before
