"""The parts of a supervisor, with a queue that settles at once."""

import selectors

import pytest

from fleet.coders.base import Coder
from fleet.config import Config
from fleet.home.journal import Log
from fleet.schemas.hosts.lease_terms import ALONE
from fleet.supervisor.active.follow_runs import RunFollower
from fleet.supervisor.start.start_run import RunStarter
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
    owner = "me"

    def __init__(self):
        self.settled = {}

    def call(self, do, then, *, owed=False):
        self.settled[do.lease.task.id] = do.evidence()
        then(None)


@pytest.fixture
def queue():
    return SettlingQueue()


@pytest.fixture
def pool(state):
    return state.pool


@pytest.fixture
def log(home, said):
    """The journal of the home; what it prints goes to `said` without the time."""
    return Log(home.logging, lambda: NOW, lambda text: said.append(text.split("  ", 1)[1]))


@pytest.fixture
def state(home, queue, log):
    """That of a supervisor whose agent is `true`."""
    (home.path / "coders").mkdir()
    (home.path / "coders/none.toml").write_text('argv = ["true"]\nprompt = "stdin"\n')
    trust_coders(home.path)
    config = Config(coder="none", model="none")
    return SupervisorState(home, config, queue=queue, log=log, now=lambda: NOW)


@pytest.fixture
def follower(state):
    with selectors.DefaultSelector() as selector:
        follower = RunFollower(state, selector)
        yield follower
        follower.close()


@pytest.fixture
def starter(state, follower):
    return RunStarter(state, follower)
