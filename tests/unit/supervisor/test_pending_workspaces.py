"""A task whose directory is made ready beside the loop."""

import errno
import select
import selectors
import threading
from datetime import UTC, datetime, timedelta

import pytest

from fleet.config import Config
from fleet.home import Home, make_home
from fleet.home.journal import Log
from fleet.runs.run_directory import latest_run
from fleet.schemas import Blocked, Lease, Policy, Released, Stopped, Task
from fleet.schemas.decision import LEASE_LOST, SHUTDOWN
from fleet.supervisor.dispatcher import Work
from fleet.supervisor.host.worker_pool import WorkerPool
from fleet.supervisor.start import pending_workspaces
from fleet.supervisor.start.workspace import Abandoned, Broken, Unprepared, order_of, prepare
from tests.conftest import need
from tests.repos import Repo

NOW = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)


class FakeDesk:
    """Settles at once, and remembers how."""

    def __init__(self):
        self.settled = {}

    def settle(self, lease, settlement, then, evidence):
        evidence()
        self.settled[lease.task.id] = settlement
        then(lease.task)


class Slow:
    """Stands in for `prepare`: it takes until it is told what to answer."""

    def __init__(self):
        self.began = threading.Event()
        self.answer = None
        self.go_on = threading.Event()

    def __call__(self, order, abandon):
        self.order, self.abandon = order, abandon
        self.began.set()
        assert self.go_on.wait(10)
        return self.answer if self.answer is not None else prepare(order, abandon)


@pytest.fixture
def home(tmp_path):
    home = Home(tmp_path / "home")
    make_home(home)
    (home.path / "coders").mkdir()
    (home.path / "coders/none.toml").write_text('argv = ["true"]\nprompt = "stdin"\n')
    return home


@pytest.fixture
def repo(tmp_path):
    need("git")
    repo = Repo(tmp_path / "repo")
    repo.commit(a="1\n")
    return repo


@pytest.fixture
def slow(monkeypatch):
    slow = Slow()
    monkeypatch.setattr(pending_workspaces, "prepare", slow)
    yield slow
    slow.go_on.set()


@pytest.fixture
def desk():
    return FakeDesk()


@pytest.fixture
def job(home, desk):
    selector = selectors.DefaultSelector()
    made = Work(
        home, Config(coder="none", model="none"),
        coder=None, desk=desk, aside=WorkerPool(), selector=selector, clock=lambda: NOW,
        log=Log(home.logging, lambda: NOW, lambda text: None),
    )  # fmt: skip
    yield made
    made.runs.close()
    selector.close()


def a_lease(cwd, fence=1):
    task = Task(id="fleet-1", title="a task", created_at=NOW, updated_at=NOW, cwd=str(cwd))
    return Lease(task=task, owner="me", fence=fence, until=NOW + timedelta(minutes=10))


def deliver(job):
    """Wait for the answer."""
    assert select.select([job._aside], [], [], 10)[0]
    job._aside.deliver()


def test_a_task_in_a_repository_begins_with_a_record_of_it(job, repo):
    """The run knows where the branch stood, and a snapshot is held."""
    job.take([a_lease(repo.root)])
    job.start_some()
    assert (len(job), len(job.runs)) == (1, 0)
    deliver(job)
    assert (len(job), len(job.runs)) == (1, 1)
    base = latest_run(job.home.task("fleet-1")).spec().base
    assert (base.root, base.head) == (str(repo.root), repo.git("rev-parse", "HEAD"))
    assert repo.git("rev-parse", "refs/fleet/fleet-1/1") == base.snapshot
    job.runs.stop(next(iter(job.runs)), Stopped(by="the test"), now=True)


def test_a_task_in_no_repository_begins_at_once(job, tmp_path, slow):
    """Nothing is done beside the loop, and nothing costs it time."""
    job.take([a_lease(tmp_path)])
    job.start_some()
    assert len(job.runs) == 1
    assert not slow.began.is_set()
    job.runs.stop(next(iter(job.runs)), Stopped(by="the test"), now=True)


def test_the_loop_goes_on_while_a_directory_is_prepared(job, repo, slow):
    """The task counts as work, its lease is kept, and a second claim of it only renews that."""
    job.take([a_lease(repo.root)])
    job.start_some()
    assert slow.began.wait(10)
    assert len(job) == 1
    assert [held.lease.fence for held in job.tended()] == [1]
    job.take([a_lease(repo.root, fence=2)])
    job.start_some()
    assert [held.lease.fence for held in job.tended()] == [2]
    slow.go_on.set()
    deliver(job)
    assert [live.lease.fence for live in job.runs] == [2]
    job.runs.stop(next(iter(job.runs)), Stopped(by="the test"), now=True)


@pytest.mark.parametrize(
    ("why", "expected"),
    [
        ("ada", Blocked(note="stopped by ada; to go on: fleet retry fleet-1")),
        (SHUTDOWN, Released()),
    ],
)
def test_a_stop_meanwhile_is_a_stop(job, repo, desk, slow, why, expected):
    """It is settled once nothing of the preparation runs any more, and no run begins."""
    job.take([a_lease(repo.root)])
    job.start_some()
    assert slow.began.wait(10)
    assert job.stop("fleet-1", Stopped(by=why), now=False)
    assert slow.abandon.is_set()
    assert desk.settled == {}
    slow.go_on.set()
    deliver(job)
    assert desk.settled == {"fleet-1": expected}
    assert (len(job), latest_run(job.home.task("fleet-1"))) == (0, None)


def test_the_end_of_all_gives_it_back(job, repo, desk, slow):
    """Also if it was ready before it could be told."""
    job.take([a_lease(repo.root)])
    job.start_some()
    assert slow.began.wait(10)
    job.stop_all(Stopped(by=SHUTDOWN), now=False)
    slow.go_on.set()
    deliver(job)
    assert desk.settled == {"fleet-1": Released()}


def test_a_lease_that_is_lost_meanwhile_begins_nothing(job, repo, desk, slow):
    """Somebody else may have the task by now."""
    job.take([a_lease(repo.root)])
    job.start_some()
    (held,) = job.tended()
    assert job.lose(held, Stopped(by=LEASE_LOST))
    assert not job.lose(held, Stopped(by=LEASE_LOST))
    slow.go_on.set()
    deliver(job)
    assert latest_run(job.home.task("fleet-1")) is None


@pytest.mark.parametrize(
    ("answer", "held"),
    [
        (Unprepared("its repository has no commit"), False),
        (Broken(OSError(errno.EACCES, "Permission denied", "worktrees")), False),
        (Broken(OSError(errno.ENOSPC, "No space left", "worktrees")), True),
    ],
)
def test_what_cannot_be_prepared_is_blocked_unless_the_machine_is_to_blame(
    job, repo, desk, slow, answer, held
):
    """A full disk pauses everything, and the task pays for nothing."""
    slow.answer = answer
    slow.go_on.set()
    job.take([a_lease(repo.root)])
    job.start_some()
    deliver(job)
    assert job.held is held
    settled = desk.settled["fleet-1"]
    assert isinstance(settled, Released if held else Blocked)
    assert held or str(getattr(answer, "why", "Permission denied")) in settled.note


def test_fleets_own_home_is_never_looked_at_as_a_project(home):
    """Bd makes a repository of it, and every run changes it."""
    need("git")
    Repo(home.path).commit(a="1\n")
    assert order_of(home, Config(), task_id="x", cwd=str(home.path), policy=Policy()) is None


def test_a_preparation_that_is_to_be_left_answers_so(home, repo):
    """And leaves no snapshot."""
    order = order_of(home, Config(), task_id="x", cwd=str(repo.root), policy=Policy())
    left = threading.Event()
    left.set()
    assert prepare(order, left) == Abandoned()
    assert repo.git("for-each-ref", "refs/fleet") == ""
