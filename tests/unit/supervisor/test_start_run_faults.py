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
from fleet.schemas.waits import SetAside, words
from fleet.settlement.settle_table import NEVER_STARTED
from fleet.supervisor import adopt_runs
from fleet.supervisor.assignments import Unknown
from fleet.supervisor.shortage import BACKOFF
from fleet.supervisor.start import launch
from fleet.supervisor.stop_runs import stop_all, stop_task
from tests.builders import NOW, a_lease


def take(state, *leases):
    for lease in leases:
        state.assignments.take(lease)


def make_due(state):
    """The pause of a run is over of which it is not known what became."""
    assignment = state.assignments.get("fleet-1")
    assert isinstance(assignment.stage, Unknown)
    assignment.stage = structs.replace(assignment.stage, due=0.0)


def follow(state, follower):
    """What the loop does with the runs in one turn."""
    follower.read()
    follower.see_to_ends()
    adopt_runs.recheck_unknown_runs(state, follower)


def see_ends(state, follower):
    """One turn to see that a run is over, one to settle it once all of it is read."""
    follow(state, follower)
    follow(state, follower)


@pytest.fixture
def no_processes(monkeypatch):
    """The machine has no process left to give."""

    def refuse(*_, **__):
        raise FleetError("no keeper can be started: Resource temporarily unavailable")

    monkeypatch.setattr(launch, "start_keeper", refuse)


def test_a_machine_without_processes_pauses_everything_and_blames_no_task(
    state, starter, follower, queue, said, no_processes
):
    """One start fails: the others wait for better times, and the task goes back uncounted."""
    take(state, a_lease("fleet-1"), a_lease("fleet-2"))
    starter.when_due()
    assert state.backoff.active
    assert "Resource temporarily unavailable" in state.backoff.why
    see_ends(state, follower)
    assert min(follower.next_moment, starter.next_moment) > 0  # it does not spin while it waits
    assert queue.settled == {"fleet-1": Released()}
    ending = read_ending(latest_run(state.home.task("fleet-1")))
    assert (ending.counts, ending.never_started) == (False, 1)
    assert "Resource temporarily unavailable" in ending.why
    starter.when_due()
    assert latest_run(state.home.task("fleet-2")) is None
    assert len(state.assignments) == 1


def test_a_run_that_never_starts_is_left_to_a_person_in_the_end(
    state, starter, follower, queue, no_processes
):
    """Eight times in a row, and it is blocked with the reason."""
    for number in range(1, NEVER_STARTED + 1):
        state.backoff.until = 0.0
        take(state, a_lease(fence=number))
        starter.when_due()
        see_ends(state, follower)
    settled = queue.settled["fleet-1"]
    assert isinstance(settled, Blocked)
    assert f"({NEVER_STARTED} times in a row)" in words(settled.waits, "fleet-1")


def test_a_full_disk_pauses_everything_and_blames_no_task(state, starter, queue, said, monkeypatch):
    """Nothing could be made: the task goes back, and nothing is started for a while."""

    def full(*args, **options):
        raise OSError(errno.ENOSPC, "No space left on device", "run.json")

    monkeypatch.setattr(launch, "reserve_run", full)
    take(state, a_lease())
    starter.when_due()
    assert queue.settled == {"fleet-1": Released()}
    assert state.backoff.active
    assert [line for line in said if "No space left" in line]


def test_a_session_that_goes_before_it_can_be_moved_costs_its_task_a_moment(
    state, starter, queue, monkeypatch
):
    """Its CLI tidied up while the directory was made ready: the next look finds none."""
    monkeypatch.setattr(launch, "_put_session", lambda ready, env, own: False)
    take(state, a_lease())
    starter.when_due()
    assert queue.settled == {"fleet-1": Released()}
    assert not state.backoff.active


def test_a_pause_grows_and_is_told_once(state, said):
    """And is over with the first start that succeeds."""
    for _ in range(3):
        state.backoff.begin("no memory")
    assert len([line for line in said if "no memory" in line]) == 1
    assert state.backoff.pause == 8 * BACKOFF.first
    state.backoff.end()
    assert (state.backoff.why, state.backoff.pause) == ("", BACKOFF.first)


def test_a_task_whose_directory_cannot_be_used_is_blocked(state, starter, queue):
    """A file in its place is a matter for a person."""
    state.home.task("fleet-1").write_text("not a directory")
    take(state, a_lease())
    starter.when_due()
    assert "is not a directory" in words(queue.settled["fleet-1"].waits, "fleet-1")
    assert not state.backoff.active


def test_an_id_that_no_file_can_bear_is_blocked(state, starter, queue):
    """It came from another tracker."""
    take(state, a_lease("../../etc"))
    starter.when_due()
    assert "is not a task id" in words(queue.settled["../../etc"].waits, "fleet-1")


def test_a_stop_before_the_start_is_a_stop(state, starter, queue):
    """Claimed and not yet started: it is not started."""
    take(state, a_lease())
    assert stop_task(state, "fleet-1", Stopped(by="ada"), now=False)
    assert not stop_task(state, "fleet-1", Stopped(by="ada"), now=False)
    starter.when_due()
    assert words(queue.settled["fleet-1"].waits, "fleet-1").startswith("stopped by ada")
    assert latest_run(state.home.task("fleet-1")) is None


def test_what_is_claimed_as_all_ends_goes_back(state, starter, queue):
    """Nothing new is begun."""
    stop_all(state, Stopped(by="the end"), now=False)
    take(state, a_lease())
    starter.when_due()
    assert queue.settled == {"fleet-1": Released()}


def test_a_coder_that_rests_costs_its_tasks_no_directory(state, starter, queue, home):
    """Ten thousand of them may wait for one limit."""
    limit = RateLimit(kind="five_hour", resets_at=NOW + timedelta(hours=1))
    state.accounts.accounts.apply({"none": LimitRefused(limit, 1)}, NOW)
    take(state, a_lease())
    starter.when_due()
    settled = queue.settled["fleet-1"]
    assert NOW + timedelta(hours=1) <= settled.not_before <= NOW + timedelta(minutes=61)
    assert not home.task("fleet-1").exists()


def test_an_ending_under_another_lease_is_not_this_ones(
    state, starter, follower, queue, no_processes
):
    """Claimed anew and never started: the last run's ending says nothing of that."""
    take(state, a_lease(fence=1))
    starter.when_due()
    see_ends(state, follower)
    run = latest_run(state.home.task("fleet-1"))
    ending = read_ending(run)
    queue.settled.clear()
    adopt_runs.adopt_task(state, a_lease(fence=2))
    assert queue.settled == {"fleet-1": Released()}
    blocked = structs.replace(ending, settlement=Blocked(waits=SetAside(note="look")), fence=2)
    write_ending(run, blocked)
    adopt_runs.adopt_task(state, a_lease(fence=2))
    assert queue.settled == {"fleet-1": Blocked(waits=SetAside(note="look"))}


@pytest.mark.parametrize(("number", "settled"), [(errno.EMFILE, Released), (errno.EACCES, Blocked)])
def test_a_task_whose_runs_cannot_be_listed_goes_back_or_is_left_to_a_person(
    state, queue, monkeypatch, number, settled
):
    """A machine that is short of something gets over it; what stands in the way does not go."""

    def refuse(task_dir):
        raise OSError(number, "no", str(task_dir))

    monkeypatch.setattr(adopt_runs, "latest_run", refuse)
    adopt_runs.adopt_task(state, a_lease())
    assert isinstance(queue.settled["fleet-1"], settled)
    assert len(state.assignments) == 0


def test_a_run_that_cannot_be_looked_at_is_looked_at_again(
    state, starter, follower, queue, monkeypatch
):
    """A machine without descriptors: it ends neither the supervisor nor the task, and its account
    counts as used meanwhile.
    """
    spec = RunSpec(argv=("true",), cwd="/", coder="none", account="work")
    run = new_run(state.home.task("fleet-1"), spec)

    monkeypatch.setattr(adopt_runs, "state_now", lambda run: Running(None))
    adopt_runs.adopt_task(state, a_lease())
    assert state.assignments.by_account() == {"work": 1}

    def short(run):
        raise OSError(errno.EMFILE, "Too many open files", str(run.lock))

    monkeypatch.setattr(adopt_runs, "state_now", short)
    make_due(state)
    follow(state, follower)
    assert len(state.assignments) == 1
    assert queue.settled == {}

    monkeypatch.setattr(adopt_runs, "state_now", lambda run: NeverStarted())
    make_due(state)
    follow(state, follower)
    see_ends(state, follower)
    assert queue.settled == {"fleet-1": Released()}
    assert read_ending(run).account == "work"
