"""A task whose directory is made ready beside the loop."""

import errno
import select
import threading

import pytest
from msgspec.structs import replace

from fleet.config import Config
from fleet.errors import FleetError
from fleet.git.mirror.ensure_mirror import Unreached
from fleet.runs.run_directory import latest_run
from fleet.schemas import Blocked, Policy, Released, Stopped
from fleet.schemas.decision import SHUTDOWN
from fleet.schemas.task_state import Wait, WayOn
from fleet.schemas.waits import Halted, PutOff, words
from fleet.supervisor.assignments import Active, Preparing
from fleet.supervisor.start import launch, start_run
from fleet.supervisor.start.workspace import Unprepared, order_of, prepare
from fleet.supervisor.stop_runs import stop_all, stop_task
from tests.builders import NOW, a_lease
from tests.conftest import need
from tests.repos import Repo
from tests.unit.supervisor.conftest import ScriptedCoder


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
def repo(repo):
    repo.commit(a="1\n")
    return repo


@pytest.fixture
def slow(monkeypatch):
    slow = Slow()
    monkeypatch.setattr(start_run, "prepare", slow)
    yield slow
    slow.go_on.set()


def stage(state):
    return state.assignments.get("fleet-1").stage


def deliver(pool):
    """Wait for the answer."""
    assert select.select([pool], [], [], 10)[0]
    pool.deliver()


def test_a_task_in_a_repository_begins_with_a_record_of_it(state, starter, pool, repo):
    """The run knows where the branch stood, and a snapshot is held."""
    state.apply(replace(state.config, work_in="directory"))
    state.assignments.take(a_lease(cwd=str(repo.root)))
    starter.when_due()
    assert isinstance(stage(state), Preparing)
    deliver(pool)
    assert isinstance(stage(state), Active)
    base = latest_run(state.home.task("fleet-1")).spec().base
    assert (base.root, base.head) == (str(repo.root), repo.git("rev-parse", "HEAD"))
    assert repo.git("rev-parse", "refs/fleet/fleet-1/1") == base.head
    assert base.snapshot
    stop_task(state, "fleet-1", Stopped(by="the test"), now=True)


def test_a_task_in_no_repository_begins_at_once(state, starter, tmp_path, slow):
    """Nothing is done beside the loop, and nothing costs it time."""
    state.assignments.take(a_lease(cwd=str(tmp_path)))
    starter.when_due()
    assert isinstance(stage(state), Active)
    assert not slow.began.is_set()
    stop_task(state, "fleet-1", Stopped(by="the test"), now=True)


def test_the_loop_goes_on_while_a_directory_is_prepared(state, starter, pool, repo, slow):
    """The task counts as work, its lease is kept, and a second claim of it only renews that."""
    state.assignments.take(a_lease(cwd=str(repo.root)))
    starter.when_due()
    assert slow.began.wait(10)
    assert len(state.assignments) == 1
    assert [held.lease.fence for held in state.assignments] == [1]
    state.assignments.take(a_lease(cwd=str(repo.root), fence=2))
    starter.when_due()
    assert [held.lease.fence for held in state.assignments] == [2]
    slow.go_on.set()
    deliver(pool)
    assert [held.lease.fence for held in state.assignments] == [2]
    stop_task(state, "fleet-1", Stopped(by="the test"), now=True)


@pytest.mark.parametrize(
    ("why", "expected"),
    [
        ("ada", Blocked(waits=Halted(by="ada"))),
        (SHUTDOWN, Released()),
    ],
)
def test_a_stop_meanwhile_is_a_stop(state, starter, pool, repo, queue, slow, why, expected):
    """It is settled once nothing of the preparation runs any more, and no run begins."""
    state.assignments.take(a_lease(cwd=str(repo.root)))
    starter.when_due()
    assert slow.began.wait(10)
    assert stop_task(state, "fleet-1", Stopped(by=why), now=False)
    assert slow.abandon.is_set()
    assert queue.settled == {}
    slow.go_on.set()
    deliver(pool)
    assert queue.settled == {"fleet-1": expected}
    assert (
        len(state.assignments),
        latest_run(state.home.task("fleet-1")),
    ) == (0, None)


def test_the_end_of_all_gives_it_back(state, starter, pool, repo, queue, slow):
    """Also if it was ready before it could be told."""
    state.assignments.take(a_lease(cwd=str(repo.root)))
    starter.when_due()
    assert slow.began.wait(10)
    stop_all(state, Stopped(by=SHUTDOWN), now=False)
    slow.go_on.set()
    deliver(pool)
    assert queue.settled == {"fleet-1": Released()}


@pytest.mark.parametrize(
    ("answer", "held"),
    [
        (FleetError("its repository has no commit"), False),
        (OSError(errno.EACCES, "Permission denied", "worktrees"), False),
        (OSError(errno.ENOSPC, "No space left", "worktrees"), True),
    ],
)
def test_what_cannot_be_prepared_is_blocked_unless_the_machine_is_to_blame(
    state, starter, pool, repo, queue, slow, answer, held
):
    """A full disk pauses everything, and the task pays for nothing."""
    slow.answer = Unprepared(answer)
    slow.go_on.set()
    state.assignments.take(a_lease(cwd=str(repo.root)))
    starter.when_due()
    deliver(pool)
    assert state.backoff.active is held
    settled = queue.settled["fleet-1"]
    assert isinstance(settled, Released if held else Blocked)
    assert held or str(getattr(answer, "message", "Permission denied")) in words(
        settled.waits, "fleet-1"
    )


@pytest.mark.parametrize(
    "answer",
    [FleetError("its set-up failed"), OSError(errno.EACCES, "Permission denied", "worktrees")],
)
def test_what_one_host_cannot_prepare_is_left_to_other_hosts(
    state, starter, pool, repo, queue, slow, answer
):
    """The fault may be this machine's: the host declines the task, and nothing is blocked."""
    slow.answer = Unprepared(answer)
    state.assignments.take(a_lease(cwd=str(repo.root)))
    starter.when_due()
    state.apply(replace(state.config, queue="postgres://somewhere"))
    slow.go_on.set()
    deliver(pool)
    settled = queue.settled["fleet-1"]
    assert isinstance(settled, Released)
    assert str(getattr(answer, "message", "Permission denied")) in settled.declined


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
    assert prepare(order, left) is None
    assert repo.git("for-each-ref", "refs/fleet") == ""


@pytest.mark.parametrize("ends_first", [False, True])
def test_a_task_waits_for_its_mirror_as_long_as_that_is_fetched(
    state, starter, pool, queue, monkeypatch, ends_first
):
    """The end of another task's fetch wakes it; one that ended before it could wait costs nothing
    but a second look.
    """
    origin = {"url": "https://git.example.org/app.git", "commit": "0" * 40}
    settings = {"fleet": {"made_on": "other", "repository": origin}}
    fetched, refused, tried, woken = threading.Event(), threading.Event(), [], []

    def prepared(order, abandon):
        tried.append(order.task_id)
        if order.task_id == "fleet-1":
            assert fetched.wait(10)
        elif tried.count("fleet-2") == 1:
            assert refused.wait(10)
            return Unreached(why="just being fetched", soon=True)
        return Unprepared(FleetError("as far as this test goes"))

    monkeypatch.setattr(start_run, "prepare", prepared)
    put_off = replace(a_lease("fleet-2").task, status="open", not_before=NOW)
    queue.named = lambda ids, then: then([put_off] if ids == ("fleet-2",) else [])
    wake = lambda _, tasks: woken.extend(task.id for task in tasks)  # noqa: E731
    monkeypatch.setattr(start_run, "wake", wake)
    for task_id in ("fleet-1", "fleet-2"):
        state.assignments.take(a_lease(task_id, metadata=settings))
    while starter.next_moment < float("inf"):
        starter.when_due()
    for event in (fetched, refused) if ends_first else (refused, fetched):
        event.set()
        deliver(pool)
    if ends_first:
        deliver(pool)
        assert tried.count("fleet-2") == 2
    else:
        assert queue.settled["fleet-2"].not_before is not None
        assert queue.settled["fleet-2"].waits == PutOff(why="just being fetched")
        assert woken == ["fleet-2"]
    assert set(queue.settled) == {"fleet-1", "fleet-2"}


def test_the_reason_of_any_gate_is_stored_with_the_task(state, starter, queue, monkeypatch):
    """Surfaces cannot ask a package's gate, nor a keyring that gave no secret."""
    wait = Wait(gate="hours", reason="the office is closed", way_on=WayOn(verb="", line="open it"))
    monkeypatch.setattr(start_run, "ask", lambda *_: wait)
    state.assignments.take(a_lease("fleet-1"))
    starter.when_due()
    stored = queue.settled["fleet-1"].waits
    assert stored == PutOff(why="the office is closed", gate="hours", line="open it")


def test_a_coder_gets_its_options_once_and_all_of_them(home, state, starter, queue, monkeypatch):
    """What it makes its environment, its prompt and its command line from is one value."""
    seen = []

    def told(coder, made):
        seen.append((made, coder.options))

    class Watched(ScriptedCoder):
        name = "watched"

        def __setattr__(self, name, value):
            if name == "options":
                told(self, "options")
            super().__setattr__(name, value)

        def env(self, task, task_dir):
            told(self, "env")
            return super().env(task, task_dir)

        def prompt(self, task, task_dir):
            told(self, "prompt")
            return super().prompt(task, task_dir)

        def build_argv(self, task, task_dir):
            told(self, "argv")
            return ["true"]

    monkeypatch.setattr(launch.coders, "make", lambda *_, **__: Watched())
    state.assignments.take(a_lease())
    while starter.next_moment < float("inf"):
        starter.when_due()
    assert [made for made, _ in seen] == ["options", "env", "prompt", "argv"]
    _, *options = (each for _, each in seen)
    assert len({id(each) for each in options}) == 1
    assert options[0].spool.endswith("/spool")
    assert options[0].hook
