"""The loop calls its duties when they are due, and those of installed packages too."""

import time
from importlib.metadata import EntryPoint

import pytest

from fleet import config, extend
from fleet.config import Config
from fleet.errors import BadInput
from fleet.extend import Duty, TickingDuty
from fleet.home import make_home
from fleet.supervisor.duties import SettingsDuty
from fleet.supervisor.loop import Supervisor
from fleet.supervisor.state import QueueChanged, SettingsApplied


@pytest.fixture
def supervisor(home):
    """A supervisor that was not started."""
    make_home(home)
    return Supervisor(home, Config(), echo=None)


class Noted(Duty):
    """Notes what it is called for."""

    def __init__(self):
        self.calls = []
        self.due = float("inf")

    @property
    def next_moment(self):
        return self.due

    def when_due(self):
        self.calls.append("due")
        self.due = float("inf")

    def on_event(self, event):
        self.calls.append(type(event).__name__)


def test_the_coder_that_a_supervisor_was_started_with_outlives_new_settings(home):
    """`fleet run --coder` stands in the place of the configured coder, whatever that is by then."""
    make_home(home)
    home.config.write_text('coder = "claude"\n')
    supervisor = Supervisor(home, config.load(home.config), coder="codex", echo=None)
    assert supervisor.state.config.coder == "codex"
    home.config.write_text('coder = "agy"\nmax_concurrent = 7\n')
    settings = next(duty for duty in supervisor.duties if isinstance(duty, SettingsDuty))
    settings.when_due()
    applied = supervisor.state.config
    assert (applied.coder, applied.max_concurrent) == ("codex", 7)
    assert supervisor.state.events.pop() == SettingsApplied()


def test_the_loop_sleeps_until_the_first_duty_is_due(supervisor):
    """A duty says itself when it is due, so none has to be asked in vain."""
    noted = Noted()
    supervisor.duties = (noted,)
    noted.due = due = time.monotonic() + 0.05
    supervisor.turn()
    assert time.monotonic() >= due
    assert noted.calls == ["due"]


def test_what_one_duty_causes_the_next_one_knows(supervisor):
    """An event is delivered before the next duty is called, in the same turn."""

    class Causes(Duty):
        def when_due(self):
            supervisor.state.events.append(QueueChanged())

    noted = Noted()
    noted.due = 0.0
    supervisor.duties = (Causes(), noted)
    supervisor.turn()
    assert noted.calls == ["QueueChanged", "due"]


def test_a_supervisor_that_ends_begins_no_new_work(supervisor):
    """Its other duties go on until the last run is settled; the loop does not wait for the rest."""

    class Begins(Noted):
        begins_work = True

    begins, goes_on = Begins(), Noted()
    begins.due, goes_on.due = 0.0, (due := time.monotonic() + 0.05)
    supervisor.duties = (begins, goes_on)
    supervisor.shutdown.stops = 1
    supervisor.turn()
    assert time.monotonic() >= due
    assert (begins.calls, goes_on.calls) == ([], ["due"])


def test_duties_that_tick_share_their_moments():
    """All are due in one turn of a second, whenever they began."""
    first, second = Ticks(), Ticks()
    first.when_due()
    while time.monotonic() % 1 > 0.9:
        time.sleep(0.02)
    first.tick_soon()
    first.when_due()
    time.sleep(0.01)
    second.when_due()
    assert first.next_moment == second.next_moment > time.monotonic()


class Ticks(TickingDuty):
    def tick(self):
        pass


def test_every_duty_that_is_registered_is_a_duty(supervisor):
    """The names in the tuple lead somewhere."""
    assert all(Duty in type(duty).__mro__ for duty in supervisor.duties)
    made = list(extend.duties(supervisor.state))
    assert len(made) == len(extend.DUTIES) - 1, "hosts alone are not wanted on this queue"


def test_an_installed_package_adds_a_duty(home, monkeypatch):
    """It is called like fleet's own, with the state of the supervisor."""
    plugin(monkeypatch, "tests.unit.supervisor.test_loop")
    make_home(home)
    supervisor = Supervisor(home, Config(), echo=None)
    added = next(duty for duty in supervisor.duties if isinstance(duty, Noted))
    supervisor.handle(QueueChanged())
    assert added.calls == ["QueueChanged"]


def test_a_package_that_cannot_be_loaded_is_named(home, monkeypatch):
    """A person sees which package it is, and not a traceback."""
    plugin(monkeypatch, "tests.no_such_module")
    make_home(home)
    with pytest.raises(BadInput, match="plugin theirs cannot be loaded: ModuleNotFoundError"):
        Supervisor(home, Config(), echo=None)


def plugin(monkeypatch, module):
    """Have this module installed as a plugin."""
    point = EntryPoint("theirs", module, extend.GROUP)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [point])


DUTIES = (lambda _state: Noted(),)
