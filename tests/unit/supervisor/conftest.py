"""A dispatcher with a queue that settles at once."""

import selectors

import pytest

from fleet.coders.base import Coder
from fleet.config import Config
from fleet.home.journal import Log
from fleet.schemas.hosts.lease_terms import ALONE
from fleet.supervisor.dispatcher import Dispatcher
from fleet.supervisor.state import SupervisorState
from tests.builders import NOW, trust_coders


class ScriptedCoder(Coder):
    """Line n of a run is event n of `events`."""

    name = "told"
    context_limit = 1000

    def __init__(self):
        super().__init__()
        self.events = []

    def build_argv(self, task, task_dir):
        return ["true"]

    def normalize_event(self, raw_line):
        return self.events[int(raw_line)]


class SettlingQueue:
    """Settles at once; `settled` holds the settlement of each task."""

    terms = ALONE
    travel = None

    def __init__(self):
        self.settled = {}

    def settle(self, lease, settlement, then, evidence):
        self.settled[lease.task.id] = evidence() or settlement
        then(None)


@pytest.fixture
def queue():
    return SettlingQueue()


@pytest.fixture
def pool(dispatcher):
    return dispatcher.state.pool


@pytest.fixture
def log(home, said):
    """The journal of the home; what it prints goes to `said` without the time."""
    return Log(home.logging, lambda: NOW, lambda text: said.append(text.split("  ", 1)[1]))


@pytest.fixture
def dispatcher(home, queue, log):
    """A dispatcher whose agent is `true`."""
    (home.path / "coders").mkdir()
    (home.path / "coders/none.toml").write_text('argv = ["true"]\nprompt = "stdin"\n')
    trust_coders(home.path)
    selector = selectors.DefaultSelector()
    config = Config(coder="none", model="none")
    state = SupervisorState(home, config, queue=queue, log=log, now=lambda: NOW)
    made = Dispatcher(state, selector)
    yield made
    made.follower.close()
    selector.close()
