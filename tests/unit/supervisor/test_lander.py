"""When the lander has work to do, and when it only waits for a person."""

from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from fleet.home.journal import Log
from fleet.landing.land_target import OTHER_LANDER, LandReport
from fleet.landing.train_state import TrainEnd
from fleet.landing.waiting_work import FoundWork, target_key
from fleet.supervisor import lander as lander_module
from fleet.supervisor.lander import Lander
from fleet.supervisor.state import TaskSettled


@pytest.fixture
def lander(home):
    """A lander whose jobs are kept, to be ended by the test."""
    jobs, said = [], []
    state = SimpleNamespace(
        home=home,
        queue=SimpleNamespace(owner="me"),
        now=lambda: datetime.now(UTC),
        inspections=SimpleNamespace(submit=lambda job, ended: jobs.append(ended)),
        log=Log(home.logging, lambda: datetime.now(UTC), said.append),
        events=[],
        travel=None,
        open_queue=lambda: None,
    )
    lander = Lander(state)
    lander.jobs, lander.said = jobs, said
    return lander


def after(lander, repo, **report):
    """Let one job for `main` end like this."""
    key = target_key(str(repo.root), "main")
    lander.when_due()
    lander.jobs.pop()(FoundWork(work={key: ("t",)}, back=frozenset(), doubts={}))
    assert lander.busy
    lander.jobs.pop()(LandReport(target=key, **report))


def test_a_branch_behind_its_line_keeps_no_run_until_idle_waiting(lander, repo):
    """A person's checkout is in the way; the branch moves by itself once it is not."""
    repo.commit("first")
    after(lander, repo, end=TrainEnd(behind="its checkout has changes"))
    assert not lander.busy
    assert lander.next_moment < float("inf")


def test_a_branch_behind_its_line_is_tried_when_a_run_ends(lander, repo, clock):
    """A run that could write the checkout was in the way; one that waits for idle sees it land."""
    repo.commit("first")
    after(lander, repo, end=TrainEnd(behind="fleet-9 is at work in its checkout"))
    lander.on_event(TaskSettled("fleet-9", None))
    assert lander.busy
    lander.when_due()
    assert len(lander.jobs) == 1


def test_work_that_could_not_land_is_waited_for(lander, repo):
    """It is tried again soon."""
    repo.commit("first")
    after(lander, repo, problem="the disk is full")
    assert lander.busy


@pytest.fixture
def clock(monkeypatch):
    """The time of the lander: it passes when a test says so."""
    clock = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(lander_module, "time", SimpleNamespace(monotonic=lambda: clock.now))
    return clock


def test_another_lander_is_told_of_once_it_lasts(lander, repo, clock):
    """A person's `fleet land` is soon done; the train of another home may take long."""
    repo.commit("first")
    key = target_key(str(repo.root), "main")
    after(lander, repo, problem=OTHER_LANDER)
    told = [len(lander.said)]
    for _ in range(4):
        clock.now = lander.next_moment
        lander.when_due()
        lander.jobs.pop()(LandReport(target=key, problem=OTHER_LANDER))
        told.append(len(lander.said))
    assert told == [0, 0, 0, 1, 1]
    assert OTHER_LANDER in lander.said[0]


def test_a_run_until_idle_waits_for_another_lander_however_long(lander, repo, clock):
    """Its train may take an hour, and then the work lands."""
    repo.commit("first")
    key = target_key(str(repo.root), "main")
    after(lander, repo, problem=OTHER_LANDER)
    for _ in range(50):
        clock.now = lander.next_moment
        lander.when_due()
        assert lander.busy
        lander.jobs.pop()(LandReport(target=key, problem=OTHER_LANDER))
        assert lander.busy
    clock.now = lander.next_moment
    lander.when_due()
    lander.jobs.pop()(LandReport(target=key, closed=()))
    assert not lander.busy


def test_work_that_comes_all_at_once_uses_up_no_patience(lander, repo, clock):
    """Each task that is verified has the branch tried before its time; that is no more than one
    failure, and the next try is due when it was.
    """
    repo.commit("first")
    for _ in range(20):
        lander.want()
        after(lander, repo, problem="the remote gives no answer")
    assert lander.busy
    assert lander.next_moment == clock.now + 1.0
