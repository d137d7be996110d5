"""What the supervisor does with a lease when its task, or the machine, has a fault."""

import errno
import selectors
from datetime import UTC, datetime, timedelta

import pytest
from msgspec import structs

from fleet.accounts.account_state import LimitRefused
from fleet.config import Config
from fleet.errors import FleetError
from fleet.home import Home, make_home
from fleet.home.journal import Log
from fleet.processes.keeper_client import NeverStarted, Running
from fleet.runs.outcome_history import read_ending, write_ending
from fleet.runs.run_directory import Spec, latest_run, new_run
from fleet.schemas import Blocked, Lease, RateLimit, Released, Stopped, Task
from fleet.settlement.settle_table import NEVER_STARTED
from fleet.supervisor import adopt_runs
from fleet.supervisor.dispatcher import Work
from fleet.supervisor.host.resource_backoff import PAUSE
from fleet.supervisor.host.worker_pool import WorkerPool
from fleet.supervisor.start import launch

NOW = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
CODER = 'argv = ["true"]\nprompt = "stdin"\n'


class FakeDesk:
    """Settles at once, and remembers how."""

    def __init__(self):
        self.settled = {}

    def settle(self, lease, settlement, then, evidence):
        evidence()
        self.settled[lease.task.id] = settlement
        then(lease.task)


@pytest.fixture
def home(tmp_path):
    home = Home(tmp_path / "home")
    make_home(home)
    (home.path / "coders").mkdir()
    (home.path / "coders/none.toml").write_text(CODER)
    return home


@pytest.fixture
def desk():
    return FakeDesk()


@pytest.fixture
def said():
    return []


@pytest.fixture
def job(home, desk, said):
    selector = selectors.DefaultSelector()
    log = Log(home.logging, lambda: NOW, lambda text: said.append(text.split("  ", 1)[1]))
    config = Config(coder="none", model="none")
    clock = lambda: NOW  # noqa: E731
    made = Work(
        home,
        config,
        coder=None,
        desk=desk,
        aside=WorkerPool(),
        log=log,
        clock=clock,
        selector=selector,
    )
    yield made
    made.runs.close()
    selector.close()


def a_lease(task_id="fleet-1", fence=1):
    task = Task(id=task_id, title="a task", created_at=NOW, updated_at=NOW)
    return Lease(task=task, owner="me", fence=fence, until=NOW + timedelta(minutes=10))


def see_ends(job):
    """One turn to see that a run is over, one to settle it once all of it is read."""
    job.follow()
    job.follow()


@pytest.fixture
def no_processes(monkeypatch):
    """The machine has no process left to give."""

    def refuse(run, env, program):
        raise FleetError("no keeper can be started: Resource temporarily unavailable")

    monkeypatch.setattr(launch, "start_keeper", refuse)


def test_a_machine_without_processes_pauses_everything_and_blames_no_task(
    job, desk, said, no_processes
):
    """One start fails: the others wait for better times, and the task goes back uncounted."""
    job.take([a_lease("fleet-1"), a_lease("fleet-2")])
    job.start_some()
    assert job.held
    assert "Resource temporarily unavailable" in job.shortage
    see_ends(job)
    assert job.next_moment > 0  # it does not spin while it waits
    assert desk.settled == {"fleet-1": Released()}
    ending = read_ending(latest_run(job.home.task("fleet-1")))
    assert (ending.counts, ending.never_started) == (False, 1)
    assert "Resource temporarily unavailable" in ending.why
    job.start_some()
    assert latest_run(job.home.task("fleet-2")) is None
    assert len(job) == 1


def test_a_run_that_never_starts_is_left_to_a_person_in_the_end(job, desk, no_processes):
    """Eight times in a row, and it is blocked with the reason."""
    for number in range(1, NEVER_STARTED + 1):
        job._shortage.until = 0.0
        job.take([a_lease(fence=number)])
        job.start_some()
        see_ends(job)
    settled = desk.settled["fleet-1"]
    assert isinstance(settled, Blocked)
    assert f"({NEVER_STARTED} times in a row)" in settled.note


def test_a_full_disk_pauses_everything_and_blames_no_task(job, desk, said, monkeypatch):
    """Nothing could be made: the task goes back, and nothing is started for a while."""

    def full(*args):
        raise OSError(errno.ENOSPC, "No space left on device", "run.json")

    monkeypatch.setattr(launch, "new_run", full)
    job.take([a_lease()])
    job.start_some()
    assert desk.settled == {"fleet-1": Released()}
    assert job.held
    assert [line for line in said if "No space left" in line]


def test_a_session_that_goes_before_it_can_be_moved_costs_its_task_a_moment(job, desk, monkeypatch):
    """Its CLI tidied up while the directory was made ready: the next look finds none."""

    def gone(files):
        raise FileNotFoundError(errno.ENOENT, "No such file or directory", "s-1.jsonl")

    monkeypatch.setattr(launch, "move", gone)
    job.take([a_lease()])
    job.start_some()
    assert desk.settled == {"fleet-1": Released()}
    assert not job.held


def test_a_pause_grows_and_is_told_once(job, said):
    """And is over with the first start that succeeds."""
    for _ in range(3):
        job.hold("no memory")
    assert len([line for line in said if "no memory" in line]) == 1
    assert job._shortage.pause == 8 * PAUSE
    job._shortage.release()
    assert (job.shortage, job._shortage.pause) == ("", PAUSE)


def test_a_task_whose_directory_cannot_be_used_is_blocked(job, desk):
    """A file in its place is a matter for a person."""
    job.home.task("fleet-1").write_text("not a directory")
    job.take([a_lease()])
    job.start_some()
    assert "Not a directory" in desk.settled["fleet-1"].note
    assert not job.held


def test_an_id_that_no_file_can_bear_is_blocked(job, desk):
    """It came from another tracker."""
    job.take([a_lease("../../etc")])
    job.start_some()
    assert "is not a task id" in desk.settled["../../etc"].note


def test_a_stop_before_the_start_is_a_stop(job, desk):
    """Claimed and not yet started: it is not started."""
    job.take([a_lease()])
    assert job.stop("fleet-1", Stopped(by="ada"), now=False)
    assert not job.stop("fleet-1", Stopped(by="ada"), now=False)
    job.start_some()
    assert desk.settled["fleet-1"].note.startswith("stopped by ada")
    assert latest_run(job.home.task("fleet-1")) is None


def test_what_is_claimed_as_all_ends_goes_back(job, desk):
    """Nothing new is begun."""
    job.stop_all(Stopped(by="the end"), now=False)
    job.take([a_lease()])
    job.start_some()
    assert desk.settled == {"fleet-1": Released()}


def test_a_coder_that_rests_costs_its_tasks_no_directory(job, desk, home):
    """Ten thousand of them may wait for one limit."""
    limit = RateLimit(kind="five_hour", resets_at=NOW + timedelta(hours=1))
    job.assigner.accounts.apply({"none": LimitRefused(limit, 1)}, NOW)
    job.take([a_lease()])
    job.start_some()
    settled = desk.settled["fleet-1"]
    assert NOW + timedelta(hours=1) <= settled.not_before <= NOW + timedelta(minutes=61)
    assert not home.task("fleet-1").exists()


def test_an_ending_under_another_lease_is_not_this_ones(job, desk, no_processes):
    """Claimed anew and never started: the last run's ending says nothing of that."""
    job.take([a_lease(fence=1)])
    job.start_some()
    see_ends(job)
    run = latest_run(job.home.task("fleet-1"))
    ending = read_ending(run)
    desk.settled.clear()
    job.resume(a_lease(fence=2))
    assert desk.settled == {"fleet-1": Released()}
    blocked = structs.replace(ending, settlement=Blocked(note="look"), fence=2)
    write_ending(run, blocked)
    job.resume(a_lease(fence=2))
    assert desk.settled == {"fleet-1": Blocked(note="look")}


def test_a_run_that_cannot_be_looked_at_is_looked_at_again(job, desk, monkeypatch):
    """A machine without descriptors: it ends neither the supervisor nor the task, and its account
    counts as used meanwhile.
    """
    spec = Spec(argv=("true",), cwd="/", coder="none", account="work")
    run = new_run(job.home.task("fleet-1"), spec)

    monkeypatch.setattr(adopt_runs, "state_now", lambda run: Running(None))
    job.resume(a_lease())
    assert job._by_account() == {"work": 1}

    def short(run):
        raise OSError(errno.EMFILE, "Too many open files", str(run.lock))

    monkeypatch.setattr(adopt_runs, "state_now", short)
    job._adoption.get("fleet-1").due = 0.0
    job.look_again()
    assert len(job) == 1
    assert desk.settled == {}

    monkeypatch.setattr(adopt_runs, "state_now", lambda run: NeverStarted())
    job._adoption.get("fleet-1").due = 0.0
    job.look_again()
    see_ends(job)
    assert desk.settled == {"fleet-1": Released()}
    assert read_ending(run).account == "work"
