"""What the supervisor does with a lease when its task, or the machine, has a fault."""

import errno
from datetime import timedelta

import pytest
from msgspec import structs

from fleet.accounts.account_state import LimitRefused
from fleet.errors import FleetError
from fleet.processes.keeper_client import NeverStarted, Running
from fleet.runs.outcome_history import read_ending, write_ending
from fleet.runs.run_directory import RunSpec, latest_run, new_run
from fleet.schemas import Blocked, RateLimit, Released, Stopped
from fleet.settlement.settle_table import NEVER_STARTED
from fleet.supervisor import adopt_runs
from fleet.supervisor.assignments import Unknown
from fleet.supervisor.machine.resource_backoff import PAUSE
from fleet.supervisor.start import launch
from tests.builders import NOW, a_lease


def take(dispatcher, *leases):
    for lease in leases:
        dispatcher.state.assignments.take(lease)


def make_due(dispatcher):
    """The pause of a run is over of which it is not known what became."""
    assignment = dispatcher.state.assignments.get("fleet-1")
    assert isinstance(assignment.stage, Unknown)
    assignment.stage = structs.replace(assignment.stage, due=0.0)


def see_ends(dispatcher):
    """One turn to see that a run is over, one to settle it once all of it is read."""
    dispatcher.follow()
    dispatcher.follow()


@pytest.fixture
def no_processes(monkeypatch):
    """The machine has no process left to give."""

    def refuse(run, env, program, *, mark):
        raise FleetError("no keeper can be started: Resource temporarily unavailable")

    monkeypatch.setattr(launch, "start_keeper", refuse)


def test_a_machine_without_processes_pauses_everything_and_blames_no_task(
    dispatcher, queue, said, no_processes
):
    """One start fails: the others wait for better times, and the task goes back uncounted."""
    take(dispatcher, a_lease("fleet-1"), a_lease("fleet-2"))
    dispatcher.start_claimed()
    assert dispatcher.state.backoff.active
    assert "Resource temporarily unavailable" in dispatcher.state.backoff.why
    see_ends(dispatcher)
    assert dispatcher.next_moment > 0  # it does not spin while it waits
    assert queue.settled == {"fleet-1": Released()}
    ending = read_ending(latest_run(dispatcher.state.home.task("fleet-1")))
    assert (ending.counts, ending.never_started) == (False, 1)
    assert "Resource temporarily unavailable" in ending.why
    dispatcher.start_claimed()
    assert latest_run(dispatcher.state.home.task("fleet-2")) is None
    assert len(dispatcher.state.assignments) == 1


def test_a_run_that_never_starts_is_left_to_a_person_in_the_end(dispatcher, queue, no_processes):
    """Eight times in a row, and it is blocked with the reason."""
    for number in range(1, NEVER_STARTED + 1):
        dispatcher.state.backoff.until = 0.0
        take(dispatcher, a_lease(fence=number))
        dispatcher.start_claimed()
        see_ends(dispatcher)
    settled = queue.settled["fleet-1"]
    assert isinstance(settled, Blocked)
    assert f"({NEVER_STARTED} times in a row)" in settled.note


def test_a_full_disk_pauses_everything_and_blames_no_task(dispatcher, queue, said, monkeypatch):
    """Nothing could be made: the task goes back, and nothing is started for a while."""

    def full(*args, **options):
        raise OSError(errno.ENOSPC, "No space left on device", "run.json")

    monkeypatch.setattr(launch, "reserve_run", full)
    take(dispatcher, a_lease())
    dispatcher.start_claimed()
    assert queue.settled == {"fleet-1": Released()}
    assert dispatcher.state.backoff.active
    assert [line for line in said if "No space left" in line]


def test_a_session_that_goes_before_it_can_be_moved_costs_its_task_a_moment(
    dispatcher, queue, monkeypatch
):
    """Its CLI tidied up while the directory was made ready: the next look finds none."""

    def gone(files):
        raise FileNotFoundError(errno.ENOENT, "No such file or directory", "s-1.jsonl")

    monkeypatch.setattr(launch, "move", gone)
    take(dispatcher, a_lease())
    dispatcher.start_claimed()
    assert queue.settled == {"fleet-1": Released()}
    assert not dispatcher.state.backoff.active


def test_a_pause_grows_and_is_told_once(dispatcher, said):
    """And is over with the first start that succeeds."""
    for _ in range(3):
        dispatcher.state.backoff.begin("no memory")
    assert len([line for line in said if "no memory" in line]) == 1
    assert dispatcher.state.backoff.pause == 8 * PAUSE
    dispatcher.state.backoff.end()
    assert (dispatcher.state.backoff.why, dispatcher.state.backoff.pause) == ("", PAUSE)


def test_a_task_whose_directory_cannot_be_used_is_blocked(dispatcher, queue):
    """A file in its place is a matter for a person."""
    dispatcher.state.home.task("fleet-1").write_text("not a directory")
    take(dispatcher, a_lease())
    dispatcher.start_claimed()
    assert "is not a directory" in queue.settled["fleet-1"].note
    assert not dispatcher.state.backoff.active


def test_an_id_that_no_file_can_bear_is_blocked(dispatcher, queue):
    """It came from another tracker."""
    take(dispatcher, a_lease("../../etc"))
    dispatcher.start_claimed()
    assert "is not a task id" in queue.settled["../../etc"].note


def test_a_stop_before_the_start_is_a_stop(dispatcher, queue):
    """Claimed and not yet started: it is not started."""
    take(dispatcher, a_lease())
    assert dispatcher.stop("fleet-1", Stopped(by="ada"), now=False)
    assert not dispatcher.stop("fleet-1", Stopped(by="ada"), now=False)
    dispatcher.start_claimed()
    assert queue.settled["fleet-1"].note.startswith("stopped by ada")
    assert latest_run(dispatcher.state.home.task("fleet-1")) is None


def test_what_is_claimed_as_all_ends_goes_back(dispatcher, queue):
    """Nothing new is begun."""
    dispatcher.stop_all(Stopped(by="the end"), now=False)
    take(dispatcher, a_lease())
    dispatcher.start_claimed()
    assert queue.settled == {"fleet-1": Released()}


def test_a_coder_that_rests_costs_its_tasks_no_directory(dispatcher, queue, home):
    """Ten thousand of them may wait for one limit."""
    limit = RateLimit(kind="five_hour", resets_at=NOW + timedelta(hours=1))
    dispatcher.state.accounts.accounts.apply({"none": LimitRefused(limit, 1)}, NOW)
    take(dispatcher, a_lease())
    dispatcher.start_claimed()
    settled = queue.settled["fleet-1"]
    assert NOW + timedelta(hours=1) <= settled.not_before <= NOW + timedelta(minutes=61)
    assert not home.task("fleet-1").exists()


def test_an_ending_under_another_lease_is_not_this_ones(dispatcher, queue, no_processes):
    """Claimed anew and never started: the last run's ending says nothing of that."""
    take(dispatcher, a_lease(fence=1))
    dispatcher.start_claimed()
    see_ends(dispatcher)
    run = latest_run(dispatcher.state.home.task("fleet-1"))
    ending = read_ending(run)
    queue.settled.clear()
    dispatcher.adopt(a_lease(fence=2))
    assert queue.settled == {"fleet-1": Released()}
    blocked = structs.replace(ending, settlement=Blocked(note="look"), fence=2)
    write_ending(run, blocked)
    dispatcher.adopt(a_lease(fence=2))
    assert queue.settled == {"fleet-1": Blocked(note="look")}


def test_a_run_that_cannot_be_looked_at_is_looked_at_again(dispatcher, queue, monkeypatch):
    """A machine without descriptors: it ends neither the supervisor nor the task, and its account
    counts as used meanwhile.
    """
    spec = RunSpec(argv=("true",), cwd="/", coder="none", account="work")
    run = new_run(dispatcher.state.home.task("fleet-1"), spec)

    monkeypatch.setattr(adopt_runs, "state_now", lambda run: Running(None))
    dispatcher.adopt(a_lease())
    assert dispatcher.state.assignments.by_account() == {"work": 1}

    def short(run):
        raise OSError(errno.EMFILE, "Too many open files", str(run.lock))

    monkeypatch.setattr(adopt_runs, "state_now", short)
    make_due(dispatcher)
    dispatcher.follow()
    assert len(dispatcher.state.assignments) == 1
    assert queue.settled == {}

    monkeypatch.setattr(adopt_runs, "state_now", lambda run: NeverStarted())
    make_due(dispatcher)
    dispatcher.follow()
    see_ends(dispatcher)
    assert queue.settled == {"fleet-1": Released()}
    assert read_ending(run).account == "work"
