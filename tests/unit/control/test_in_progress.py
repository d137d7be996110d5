"""What `fleet tasks` says of a task in progress, by what can be seen of its run."""

from datetime import timedelta

import msgspec
import pytest

from fleet.control.tasks.in_progress import (
    InProgress,
    RunOnDisk,
    doing_of,
    in_progress,
    shared_directories,
    with_neighbours,
)
from fleet.home import owner_file, task_json
from fleet.processes.keeper_client import Ended, Running
from fleet.queue.protocol import Draft
from fleet.runs.progress_json import FILE, Progress
from fleet.runs.run_directory import Exit, ProcessId, Started
from fleet.runs.run_id import RunId
from fleet.schemas import Settings
from tests.builders import NOW, a_run, a_task

CLOCK = f"{NOW.astimezone():%H:%M}"
NO_PROCESS = ProcessId(pid=1 << 22, start_ticks=1, boot_id="never")
STARTED = Started(keeper=NO_PROCESS, agent=NO_PROCESS, at=NOW, monotonic=0.0)
RUNNING, ENDED = Running(STARTED), Ended(Exit(code=0, started_at=NOW, ended_at=NOW, seconds=1.0))
LEASED = {"lease_owner": "us", "lease_until": NOW, "status": "in_progress"}


@pytest.mark.parametrize(
    ("state", "started", "ending", "supervised", "doing"),
    [
        (RUNNING, STARTED, "", True, "running"),
        (RUNNING, STARTED, "", False, "unsupervised"),
        (RUNNING, STARTED, "Stopped", True, "stopping"),
        (RUNNING, STARTED, "ContextFull", False, "stopping"),
        (ENDED, STARTED, "", True, "settling"),
        (ENDED, STARTED, "Verifying", True, "verifying"),
        (ENDED, STARTED, "", False, "waiting"),
        (None, None, "", True, "starting"),
        (None, None, "", False, "waiting"),
        (None, STARTED, "", True, "settling"),
        (None, STARTED, "", False, "waiting"),
    ],
)
def test_a_task_of_ours_is_told_by_its_run_and_its_supervisor(
    state, started, ending, supervised, doing
):
    """Only an agent that works under a living supervisor is plainly running."""
    progress = Progress(coder="claude", model="", doing=ending)
    seen_run = RunOnDisk(
        supervised=supervised, owner="us", state=state, started=started, progress=progress
    )
    assert doing_of(a_task(**LEASED), seen_run)[0] == doing


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        ({}, ""),
        ({"rung": "suspect", "why": "silent for 8m"}, "suspect: silent for 8m"),
        (
            {"rung": "waiting_limit", "until": NOW},
            f"waits for a limit until {CLOCK}",
        ),
        ({"rung": "looping", "why": "3 times the same"}, "3 times the same"),
        ({"near": ("cost 82 %",)}, "near its limit: cost 82 %"),
        (
            {"near": ("cost 82 %", "turns over its limit")},
            "near its limit: cost 82 %; turns over its limit",
        ),
        (
            {"rung": "suspect", "why": "silent", "near": ("time 90 %", "turns 81 %")},
            "suspect: silent; near its limit: time 90 %, turns 81 %",
        ),
    ],
)
def test_a_run_that_goes_on_says_what_is_unusual(told, reason):
    """Not only that it runs."""
    progress = Progress(coder="claude", model="", **told)
    seen_run = RunOnDisk(
        supervised=True, owner="us", state=RUNNING, started=STARTED, progress=progress
    )
    assert doing_of(a_task(**LEASED), seen_run) == ("running", reason)


def test_those_at_work_in_one_directory_are_told_of_each_other():
    """Each names the others; one that is over, or elsewhere, is no neighbour."""
    here = [InProgress(id=name, title="", doing="running", cwd="/srv") for name in ("a", "b", "c")]
    over = InProgress(id="d", title="", doing="settling", cwd="/srv")
    alone = InProgress(id="e", title="", doing="running", cwd="/srv/other")
    seen = {each.id: each for each in with_neighbours([*here, over, alone])}
    assert seen["a"].shares_with == ("b", "c")
    assert seen["a"].reason == ""
    assert shared_directories(list(seen.values())) == {seen["a"].cwd: ("a", "b", "c")}
    assert (seen["d"].shares_with, seen["e"].shares_with) == ((), ())


def test_a_task_that_another_home_runs_is_not_ours_to_judge():
    """Its files are on another machine."""
    seen_run = RunOnDisk(supervised=True, owner="us")
    task = a_task(**LEASED | {"lease_owner": "them"})
    assert doing_of(task, seen_run) == ("elsewhere", "run by them")


def test_a_task_that_a_person_took_is_held():
    """No lease: no agent of fleet's works on it."""
    seen_run = RunOnDisk(supervised=True, owner="us")
    task = a_task(status="in_progress", assignee="Ada")
    assert doing_of(task, seen_run) == ("held", "taken by Ada")


def claimed(fleet, **settings):
    task = fleet.queue.add(Draft(title="Fix it"))
    task_json.write(fleet.home, task.id, Settings(cwd=str(fleet.home.path), **settings))
    (lease,) = fleet.queue.claim(owner_file.read_or_make(fleet.home), ttl=timedelta(minutes=5))
    return lease


def test_a_run_of_an_earlier_lease_says_nothing_of_this_one(fleet):
    """The last attempt's figures must not be shown for a run that is only being born."""
    lease = claimed(fleet)
    run = a_run(fleet.home.task(lease.task.id), id="older")
    (run.path / "started").write_bytes(msgspec.json.encode(STARTED))
    (seen,) = in_progress(fleet)
    assert (seen.doing, seen.run, seen.started_at) == ("waiting", None, None)


def test_what_a_task_insists_on_is_shown_as_asked_and_the_rest_as_it_turned_out(fleet):
    """An inherited model may be dropped for the coder's own; an asked one is what was asked."""
    lease = claimed(fleet, coder="codex", model="gpt-5")
    run = a_run(fleet.home.task(lease.task.id), id=str(RunId.of(lease)))
    told = Progress(coder="other", model="gpt-5-2026-01-01", events=3, context_peak=50)
    (run.path / FILE).write_bytes(msgspec.json.encode(told))
    (seen,) = in_progress(fleet)
    assert (seen.progress.coder, seen.progress.model, seen.progress.events) == ("codex", "gpt-5", 3)
    assert seen.overrides == ("cwd", "coder", "model")
    task_json.write(fleet.home, lease.task.id, Settings(cwd="/"))
    (seen,) = in_progress(fleet)
    assert (seen.progress.coder, seen.progress.model) == ("other", "gpt-5-2026-01-01")


def test_a_broken_task_json_is_a_row_and_hides_no_other(fleet):
    """The one that cannot be read says why; the table still shows."""
    good, bad = claimed(fleet), claimed(fleet)
    (fleet.home.task(bad.task.id) / "task.json").write_text("[]")
    seen = {each.id: each for each in in_progress(fleet)}
    assert seen[bad.task.id].doing == "invalid"
    assert "task.json" in seen[bad.task.id].reason
    assert seen[good.task.id].doing == "waiting"


def test_a_damaged_progress_file_is_overlooked(fleet):
    """It is only a courtesy of the supervisor, and written again at the next turn."""
    lease = claimed(fleet)
    run = a_run(fleet.home.task(lease.task.id), id=str(RunId.of(lease)))
    (run.path / FILE).write_bytes(b'{"coder": "cl')
    (seen,) = in_progress(fleet)
    assert (seen.progress.coder, seen.progress.events) == ("claude", 0)


def test_looking_makes_no_owner(fleet):
    """Only a supervisor writes the owner file; `fleet tasks` leaves no trace."""
    assert in_progress(fleet) == []
    assert not (fleet.home.path / "owner").exists()
