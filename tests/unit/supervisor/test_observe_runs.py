"""Observers follow each run in their order; the first that ends a run gives the reason."""

import errno
from importlib.metadata import EntryPoint

import pytest
from msgspec import structs

from fleet import extend
from fleet.extend import AtOnce, RunObserver, Tick
from fleet.home import messages
from fleet.processes.keeper_client import Ended
from fleet.runs.run_directory import Exit, RunSpec, new_run
from fleet.schemas import Event, Failed, LimitExceeded
from fleet.settlement.run_record import ExitedRun
from fleet.supervisor.active import follow_runs, observe_runs
from fleet.supervisor.active.observe_runs import Observers
from fleet.supervisor.assignments import Active, ActiveRun, Finishing, Stopping
from fleet.supervisor.finish_run import finish
from tests.builders import NOW, a_lease
from tests.unit.supervisor.conftest import ScriptedCoder

OVER = LimitExceeded(limit="cost", detail="too dear")
TICK = Tick(1.0, 1.0)


class Noted(RunObserver):
    """Notes what it is called for, and ends each run with what it was given."""

    def __init__(self, stop=None):
        self.stop, self.calls = stop, []

    def events(self, run, events):
        self.calls.append([event.kind for event in events])
        return self.stop

    def tick(self, run, tick):
        self.calls.append("tick")
        return self.stop


class OfActive(Noted):
    active_only = True


@pytest.fixture
def assignment(state):
    made = state.assignments.take(a_lease())
    task = made.lease.task
    spec = RunSpec(argv=("true",), cwd="/")
    run = new_run(state.home.task(task.id), spec)
    made.stage = Active(ActiveRun(task, run, ScriptedCoder(), env={}, spec=spec))
    return made


@pytest.fixture
def no_descriptors(monkeypatch):
    """The messages of a task cannot be read."""

    def none_left(*_):
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(follow_runs, "note_messages", none_left)


@pytest.fixture
def stops(monkeypatch):
    """What was asked to be stopped, instead of a keeper that is told."""
    found = []

    def stop(assignment, reason, *, now=False):
        found.append((reason, now))
        assignment.stage = Stopping(assignment.run, reason)

    monkeypatch.setattr(observe_runs, "stop_assignment", stop)
    return found


def test_the_first_observer_that_ends_a_run_gives_the_reason(assignment, stops):
    """Later ones that watch only runs at work are not called; those that record are."""
    records, late, late_record = Noted(), OfActive(Failed(reason="unknown")), Noted(OVER)
    Observers([records, OfActive(OVER), late, late_record]).tick(assignment, assignment.run, TICK)
    assert stops == [(OVER, False)]
    assert (records.calls, late.calls, late_record.calls) == (["tick"], [], ["tick"])


def test_an_observer_can_end_a_run_without_grace(assignment, stops):
    """Where each more second does harm."""
    watch = Observers([Noted(AtOnce(OVER))])
    watch.events(assignment, assignment.run, ())
    assert stops == [(OVER, True)]


def test_an_observer_without_a_method_is_not_called_for_it(assignment, stops):
    """Most observers leave most methods out, and a run prints thousands of lines."""

    class Ticks(RunObserver):
        def tick(self, run, tick):
            return None

    assert Observers([Ticks()])._events == ()
    Observers([Ticks()]).tick(assignment, assignment.run, TICK)
    assert stops == []


def test_observers_get_the_events_that_a_run_has_printed(state, follower, assignment):
    """All of a portion at once; the totals count them already."""
    noted = Noted()
    state.observers = Observers([noted])
    run = assignment.run
    run.coder.events = [Event(kind="session_started", session_id="s"), Event(kind="bad")]
    run.run.stdout.write_text("0\n1\n")
    follower.attend(assignment)
    follower.read()
    assert noted.calls == [["session_started", "bad"]]
    assert run.totals.session_id == "s"


def test_an_observer_replaces_the_outcome_of_a_run(state, queue, assignment):
    """What the run is judged by, and what its ending says, is the observer's."""

    class Spares(RunObserver):
        def exited(self, run, outcome):
            return Failed(reason="stale_login")

        def ended(self, run, end):
            return structs.replace(end.ending, why="nobody's fault")

        def settled(self, run, ending, receipt):
            settled.append((ending.outcome, ending.why, receipt is not None))

    settled = []
    state.observers = Observers([Spares()])
    run = assignment.run
    run.run.stdout.touch()
    over = Ended(Exit(code=0, started_at=NOW, ended_at=NOW, seconds=1))
    finishing = Finishing(run, ExitedRun(record=run, process_end=over))
    assignment.stage = finishing
    finish(state, assignment, finishing)
    assert settled == [(Failed(reason="stale_login"), "nobody's fault", True)]
    assert "fleet-1" in queue.settled


def test_every_observer_that_is_registered_is_one(state):
    """The names in the tuple lead somewhere; the hosts' alone is not wanted on this queue."""
    made = list(extend.observers(state))
    assert all(RunObserver in type(each).__mro__ for each in made)
    assert len(made) == len(extend.OBSERVERS) - 1


def test_an_installed_package_adds_an_observer(state, monkeypatch, assignment, stops):
    """It follows runs like fleet's own, and after them."""
    point = EntryPoint("theirs", "tests.unit.supervisor.test_observe_runs", extend.GROUP)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [point])
    state.observers.tick(assignment, assignment.run, TICK)
    assert stops == [(OVER, False)]


OBSERVERS = (lambda _state: Noted(OVER),)


def test_a_message_that_cannot_be_read_lifts_no_limit(
    state, follower, assignment, no_descriptors, monkeypatch
):
    """The machine is short of descriptors: the message waits, and the run is checked."""
    noted = Noted()
    monkeypatch.setattr(state, "observers", Observers([noted]))
    messages.add(state.home.task(assignment.task_id), "go on", by="me", at=NOW)
    follower.tick(TICK)
    follower.tick(TICK)
    assert noted.calls == ["tick", "tick"]
