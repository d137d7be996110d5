"""`fleet stop --all` and the emergency brake: nothing is left, whoever else hangs or is dead."""

import json
import os
import signal
import time

import apsw
import pytest

from fleet.processes import process_identity
from fleet.processes.supervisor_lock import supervisor_of
from fleet.runs.outcome_history import read_ending
from tests.fakes import FAKES
from tests.story.scene import WORK

#: Deaf to polite signals, with a child in a session of its own that is too.
STUBBORN = f'argv = ["sh", "{FAKES / "stubborn.sh"}"]\nprompt = "stdin"\n'
#: The grace of runs that are to have one, of runs that are to be spared none, and the seconds that
#: a busy machine may add to either.
GRACE, ENDLESS, MARGIN = 4, 300, 7.0


def marks(scene):
    owner = (scene.home.path / "owner").read_text().strip()
    return process_identity.bearers(f"{owner}.")


def stop_all(scene, *flags, code=0):
    """The brake by its command; what it says, and the seconds from then until all was gone."""
    began = time.monotonic()
    done = scene.fleet("stop", "--all", "--json", *flags)
    took = time.monotonic() - began
    assert done.returncode == code, done.stdout + done.stderr
    assert marks(scene) == {}
    return json.loads(done.stdout), took


def running(scene, count=2, grace=ENDLESS):
    """So many stubborn agents at work; their tasks."""
    scene.configure(grace_s=grace)
    scene.coder("stubborn", STUBBORN)
    tasks = [scene.add("m", coder="stubborn") for _ in range(count)]
    process = scene.supervise()
    for task in tasks:
        scene.until(lambda task=task: (run := scene.run(task)) and _says(run, "ready"))
    return process, tasks


def _says(run, word):
    return run.stdout.exists() and word in run.stdout.read_text()


def test_all_runs_are_stopped_at_once_and_nothing_new_begins(scene):
    """Three that heed nothing take one grace, not three; their tasks are blocked, uncounted."""
    scene.configure(max_concurrent=3)
    _, tasks = running(scene, 3, GRACE)
    waiting = scene.add(WORK)
    end, took = stop_all(scene)
    assert took < GRACE + MARGIN
    assert end["gone"] is True
    assert end["paused"] is True
    assert sorted(run["task_id"] for run in end["runs"]) == sorted(tasks)
    for task in tasks:
        assert "stopped by" in scene.until_status(task, "blocked").notes
        ending = read_ending(scene.run(task))
        assert (ending.counts, ending.attempts) == (False, 0)
        exit_record = scene.run(task).exit()
        assert exit_record.stop == "graceful"
        assert GRACE <= exit_record.stop_seconds < GRACE + MARGIN
    assert scene.status(waiting) == "open"
    assert len(scene.log("stop_all")) == 1


def test_what_was_stopped_goes_on_when_a_person_says_so(scene):
    """Resuming alone names the tasks; with the flag they are tried again, all of them."""
    tasks = [scene.add("mark:here await:go tool done end") for _ in range(2)]
    scene.supervise()
    for task in tasks:
        scene.until_marked(task, "here")
    said = scene.fleet("stop", "--all").stdout
    assert "Stopped 2 of 2 runs" in said
    assert "fleet resume --retry-stopped" in said
    for task in tasks:
        scene.until_status(task, "blocked")
        (scene.folder(task) / "go").touch()
    said = scene.fleet("resume").stdout
    assert all(task in said for task in tasks)
    assert [scene.status(task) for task in tasks] == ["blocked", "blocked"]
    done = scene.fleet("resume", "--retry-stopped")
    assert done.returncode == 0, done.stderr
    for task in tasks:
        scene.until_status(task, "closed")
    assert "Stopped before" not in scene.fleet("resume").stdout


def test_the_brake_needs_no_supervisor_that_answers(scene):
    """It is halted in mid-air: all is gone at once, and settled as stopped when it comes back."""
    process, tasks = running(scene)
    process.send_signal(signal.SIGSTOP)
    end, took = stop_all(scene, "--now")
    assert took < MARGIN
    assert [run["by_hand"] for run in end["runs"]] == [False, False]
    process.send_signal(signal.SIGCONT)
    for task in tasks:
        assert "stopped by" in scene.until_status(task, "blocked").notes
        assert read_ending(scene.run(task)).attempts == 0
        assert scene.run(task).exit().stop_seconds < MARGIN


def test_the_brake_needs_no_supervisor_at_all(scene):
    """The next one settles by the word that was left, and begins nothing: it is still paused."""
    process, tasks = running(scene)
    scene.kill(process)
    waiting = scene.add(WORK)  # not before: the supervisor has a place for it
    _, took = stop_all(scene, "--now")
    assert took < MARGIN
    refused = scene.fleet("retry", tasks[0])
    assert refused.returncode == 7
    assert "A supervisor settles it: fleet run" in refused.stderr
    everything = scene.fleet("tasks", "--all").stdout
    assert "Running 0\nNo tasks in progress." in everything
    assert all(everything.count(f"{task} ") == 1 for task in tasks)
    scene.supervise()
    for task in tasks:
        assert "stopped by" in scene.until_status(task, "blocked").notes
    assert scene.status(waiting) == "open"


@pytest.mark.parametrize("fate", [signal.SIGSTOP, signal.SIGKILL])
def test_the_brake_needs_no_keeper(scene, fate):
    """One that was halted is woken; of a dead one all that it left is found and killed."""
    process, tasks = running(scene)
    process.send_signal(signal.SIGSTOP)  # or else it would see to it itself
    for task in tasks:
        os.kill(scene.run(task).started().keeper.pid, fate)
    end, took = stop_all(scene, "--now")
    assert took < MARGIN
    assert end["gone"] is True
    process.send_signal(signal.SIGCONT)
    for task in tasks:
        assert "stopped by" in scene.until_status(task, "blocked").notes
        assert scene.status(task) == "blocked"


def test_the_brake_needs_no_queue_and_no_sound_settings(scene):
    """Another process holds the database, and runtime.toml is broken."""
    _, tasks = running(scene)
    blocker = apsw.Connection(str(scene.home.path / "queue.db"))
    blocker.execute("BEGIN EXCLUSIVE")
    scene.home.config.write_text("max_concurrent = ")
    end, took = stop_all(scene, "--now")
    assert took < MARGIN
    assert len(end["runs"]) == len(tasks)
    blocker.execute("ROLLBACK")
    blocker.close()
    for task in tasks:
        scene.until_status(task, "blocked")


def test_one_run_is_ended_at_once_without_queue_or_supervisor(scene):
    """The same for a single task: only its own run ends."""
    process, tasks = running(scene)
    process.send_signal(signal.SIGSTOP)
    scene.configure(queue="postgresql://127.0.0.1:9/none", lease_s=2 * ENDLESS)
    done = scene.fleet("stop", tasks[0], "--now")
    assert done.returncode == 0, done.stderr
    assert "The queue does not answer" in done.stderr
    assert [mark.rpartition(".")[0].partition(".")[2] for mark in marks(scene)] == tasks[1:]
    scene.configure(queue="embedded")
    process.send_signal(signal.SIGCONT)
    assert "stopped by" in scene.until_status(tasks[0], "blocked").notes
    assert scene.status(tasks[1]) == "in_progress"


def test_an_agent_that_spoilt_its_keepers_record_is_ended_too(scene):
    """The keeper is found at the top of the tree, whatever its record says."""
    scene.configure(grace_s=ENDLESS)
    vandal = FAKES / "vandal.py"
    scene.coder("vandal", f'argv = ["python3", "-I", "-S", "{vandal}"]\nprompt = "stdin"\n')
    task = scene.add("m", coder="vandal")
    scene.supervise()
    scene.until(lambda: (run := scene.run(task)) and (run.path / "copy").exists())
    _, took = stop_all(scene, "--now")
    assert took < MARGIN


def test_with_nothing_to_stop_it_still_pauses(scene):
    """And says both."""
    done = scene.fleet("stop", "--all", "--now")
    assert done.returncode == 0
    assert "Nothing was running." in done.stdout
    assert (scene.home.path / "paused").exists()
    assert json.loads(scene.fleet("stop", "--all", "--now", "--json").stdout)["paused"] is True
    assert scene.fleet("stop").returncode == 2
    both = scene.fleet("stop", "--all", "fleet-1")
    assert (both.returncode, "both fleet-1 and --all" in both.stderr) == (2, True)


def test_the_brake_ends_agents_whose_home_was_removed(scene, tmp_path):
    """`rm -r $FLEET_HOME` used to leave agents at work that no command would end."""
    supervisor, tasks = running(scene)
    found = marks(scene)
    assert len(found) == len(tasks)
    supervisor.kill()
    supervisor.wait()
    scene.queue.close()
    scene.home.path.rename(tmp_path / "gone")
    done = scene.fleet("stop", "--all", "--now", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    assert {run["task_id"] for run in json.loads(done.stdout)["runs"]} == set(tasks)
    assert [mark for mark in found if process_identity.marked(mark)] == []
    assert scene.fleet("stop", "--all", "--now").returncode == 4


def test_stop_pause_and_shutdown_need_no_sound_settings(scene):
    """A lease rule that fails refuses every command but those that end agents."""
    _, tasks = running(scene)
    scene.configure(queue="postgresql://127.0.0.1:9/none", lease_s=30)
    refused = scene.fleet("stop", tasks[0])
    assert refused.returncode == 3
    assert "lease_s" in refused.stderr
    assert f"fleet stop {tasks[0]} --now" in refused.stderr
    done = scene.fleet("stop", tasks[0], "--now")
    assert done.returncode == 0, done.stderr
    assert "The settings cannot be read" in done.stderr
    assert scene.fleet("pause").returncode == 0
    ended = scene.fleet("shutdown", "--now")
    assert ended.returncode == 0, ended.stderr
    assert supervisor_of(scene.home) is None
    assert marks(scene) == {}
