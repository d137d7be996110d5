"""The table of tasks in hand: each stage, how it is stopped, and what it counts as."""

import threading
from collections import Counter
from types import SimpleNamespace

import pytest
from msgspec import structs

from fleet.coders.claude import ClaudeCoder
from fleet.evidence.inspect_run import Inspection
from fleet.processes import keeper_client
from fleet.processes.keeper_client import NeverStarted
from fleet.runs import stop_reason
from fleet.runs.run_directory import RunSpec, new_run
from fleet.schemas import ContextFull, Stopped
from fleet.settlement.run_record import ExitedRun
from fleet.supervisor.assignments import (
    Active,
    ActiveRun,
    Assignments,
    Claimed,
    Finishing,
    Inspecting,
    Preparing,
    Stopping,
    Unknown,
)
from fleet.supervisor.stop_runs import stop_assignment
from tests.builders import a_lease

ADA, BOB = Stopped(by="ada"), Stopped(by="bob")


@pytest.fixture
def signals(monkeypatch):
    """What keepers were sent, and whether the reason was written by then."""
    sent = []

    def send(who, number):
        sent.append((number.name, stop_reason.read(who.run) is not None))
        return True

    monkeypatch.setattr(keeper_client.process_identity, "send", send)
    return sent


@pytest.fixture
def run(tmp_path):
    spec = RunSpec(argv=("true",), cwd="/", account="work")
    run = new_run(tmp_path / "fleet-1", spec)
    active = ActiveRun(a_lease().task, run, ClaudeCoder("sonnet"), env={}, spec=spec)
    active.keeper = SimpleNamespace(who=SimpleNamespace(run=run))
    return active


@pytest.fixture
def table():
    return Assignments()


@pytest.fixture
def task(table):
    return table.take(a_lease())


def stages(run):
    ended = ExitedRun(record=run, process_end=NeverStarted())
    ready = SimpleNamespace(account=SimpleNamespace(name="work"))
    return {
        "claimed": Claimed(),
        "preparing": Preparing(ready, threading.Event()),
        "active": Active(run),
        "stopping": Stopping(run, ADA),
        "finishing": Finishing(run, ended),
        "inspecting": Inspecting(run, ended, threading.Event()),
        "unknown": Unknown(run.run, "work", 0.02),
    }


def test_the_reason_is_written_before_the_keeper_is_told(task, run, signals):
    """A supervisor that dies in between leaves a run with a reason."""
    task.stage = Active(run)
    assert stop_assignment(task, ADA)
    assert signals == [("SIGTERM", True)]
    assert task.stage == Stopping(run, ADA)
    assert stop_reason.read(run.run) == ADA


def test_the_first_reason_stands_and_a_second_stop_may_be_harsher(task, run, signals):
    """Politely twice means nothing new; at once is at once."""
    task.stage = Active(run)
    for reason, now in ((ADA, False), (BOB, False), (BOB, True)):
        assert stop_assignment(task, reason, now=now)
    assert [name for name, _ in signals] == ["SIGTERM", "SIGINT"]
    assert (task.stage.stop_reason, stop_reason.read(run.run)) == (ADA, ADA)


def test_a_run_that_is_over_is_told_nothing_and_its_inspection_is_left(task, run, signals):
    """The reason counts if the inspection is not finished by then."""
    task.stage = stages(run)["inspecting"]
    assert stop_assignment(task, ADA)
    assert stop_assignment(task, BOB)
    assert task.stage.abandon.is_set()
    assert task.stage.ended.stop_reason == ADA
    assert signals == []


def test_a_directory_that_is_made_ready_is_left(task, run, signals):
    """It is settled once nothing of its preparation runs any more."""
    task.stage = stages(run)["preparing"]
    assert stop_assignment(task, ADA)
    assert stop_assignment(task, ContextFull(tokens=1, window=1))
    assert (task.stage.stop_reason, task.stage.abandon.is_set()) == (ADA, True)


@pytest.mark.parametrize("name", ["claimed", "unknown"])
def test_where_nothing_is_known_to_run_nothing_is_stopped(task, run, name):
    """A claimed task is settled instead; a run that may live is looked for."""
    task.stage = stages(run)[name]
    assert not stop_assignment(task, ADA)


@pytest.mark.parametrize(
    ("name", "counted"),
    [("claimed", 0), ("preparing", 1), ("active", 1), ("stopping", 1), ("finishing", 0),
     ("inspecting", 0), ("unknown", 1)],
)  # fmt: skip
def test_an_account_counts_the_agents_that_may_live(table, task, run, name, counted):
    """Those that are over are no load any more, though their task is still in hand."""
    task.stage = stages(run)[name]
    assert table.by_account() == Counter(work=counted)
    assert len(table) == 1
    assert table.at_work() == (frozenset() if name == "claimed" else {"fleet-1"})


def test_a_task_that_is_claimed_again_goes_on_under_the_new_lease(table, task, run):
    """Whatever stage it has reached: its lease had run out."""
    for stage in stages(run).values():
        task.stage = stage
        assert table.take(a_lease(fence=2)) is task
        assert (task.lease.fence, task.stage) == (2, stage)
    table.remove(task)
    assert (len(table), table.get("fleet-1")) == (0, None)


def test_what_fleet_does_about_a_run_is_published(task, run):
    """In a word, for `fleet tasks`; nothing while the run goes its own way."""
    known = stages(run)
    inspected = structs.replace(known["finishing"], findings=Inspection())
    stopped = structs.replace(known["finishing"].ended, stop_reason=ADA)
    for stage, doing in (
        (known["active"], ""),
        (known["stopping"], "Stopped"),
        (known["finishing"], ""),
        (Finishing(run, stopped), "Stopped"),
        (known["inspecting"], "Verifying"),
        (inspected, "Verifying"),
    ):
        task.stage = stage
        assert task.doing == doing
