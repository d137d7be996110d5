"""Things that are broken or missing: each hurts its own task, or nobody, and is told."""

import json
import os
import signal
import sys
from pathlib import Path

import apsw
import msgspec
import psutil

from fleet.files.tail import Follower
from fleet.processes import process_identity
from fleet.runs.run_directory import Started
from tests.builders import trust_coders
from tests.fakes import FAKES
from tests.story.scene import WORK


def failures(scene, task):
    return "".join(scene.lines(task, ".failures")) or "0"


def test_a_broken_configuration_changes_nothing(scene):
    """The last good settings stay in force, the mistake is told once, and mending it applies."""
    scene.configure(max_concurrent=1)
    scene.supervise()
    scene.until_logged("started")
    scene.home.config.write_text("max_concurrent = ")
    (broken,) = scene.until_logged("config_broken")
    assert "runtime.toml" in broken["text"]
    task = scene.add(WORK)
    scene.until_status(task, "closed")
    scene.configure(max_concurrent=2)
    scene.until_logged("config")
    assert len(scene.log("config_broken")) == 1


def test_a_locked_queue_pauses_and_heals(scene):
    """Another process holds the queue: the agent works on, and all is settled once it lets go."""
    scene.configure(busy_timeout_s=1)
    running = scene.add("mark:here await:go tool done end")
    scene.supervise()
    scene.until_marked(running, "here")
    blocker = apsw.Connection(str(scene.home.path / "queue.db"))
    blocker.execute("BEGIN IMMEDIATE")
    (scene.folder(running) / "go").touch()
    scene.until_logged("queue_failed")
    blocker.execute("ROLLBACK")
    blocker.close()
    scene.until_status(running, "closed")
    scene.until_logged("queue_healed")
    later = scene.add(WORK)
    scene.until_status(later, "closed")
    assert len(scene.runs(running)) == 1


def test_one_signal_ends_a_supervisor_whose_queue_fails(scene):
    """What cannot be told to the queue now is for the next supervisor; nobody has to kill twice."""
    scene.configure(busy_timeout_s=1)
    running = scene.add("mark:here await:go tool done end")
    supervisor = scene.supervise()
    scene.until_marked(running, "here")
    blocker = apsw.Connection(str(scene.home.path / "queue.db"))
    blocker.execute("BEGIN IMMEDIATE")
    (scene.folder(running) / "go").touch()
    scene.until_logged("queue_failed")
    supervisor.terminate()
    scene.until_ended(supervisor)
    blocker.close()
    scene.supervise()
    scene.until_status(running, "closed")
    assert len(scene.runs(running)) == 1


def test_ctrl_c_does_not_wait_for_a_queue_that_owes_nothing(scene):
    """Nothing runs, the queue is locked, and the supervisor ends all the same."""
    scene.configure(busy_timeout_s=1)
    supervisor = scene.supervise()
    scene.until_logged("started")
    blocker = apsw.Connection(str(scene.home.path / "queue.db"))
    blocker.execute("BEGIN IMMEDIATE")
    scene.until_logged("queue_failed")
    supervisor.send_signal(signal.SIGINT)
    assert scene.until_ended(supervisor) == 0
    blocker.close()


def test_a_broken_task_file_blocks_its_task_and_no_other(scene):
    """Never run elsewhere on a guess: blocked with the place of the damage."""
    task = scene.add(WORK)
    other = scene.add(WORK)
    (scene.folder(task) / "task.json").write_text('{"cwd": "/')
    scene.supervise()
    blocked = scene.until_status(task, "blocked")
    assert "task.json" in blocked.notes
    assert scene.runs(task) == []
    scene.until_status(other, "closed")


def test_a_missing_directory_blocks_the_task(scene):
    """It is not made up, and the agent runs nowhere else."""
    gone = scene.project / "gone"
    task = scene.add(WORK, cwd=gone)
    scene.supervise()
    blocked = scene.until_status(task, "blocked")
    assert f"its directory {gone} is not there" in blocked.notes
    assert not gone.exists()


def test_an_unknown_coder_blocks_the_task(scene):
    """The note names it."""
    task = scene.add(WORK, coder="nobody")
    scene.supervise()
    assert "unknown coder: nobody" in scene.until_status(task, "blocked").notes


def test_a_coder_that_throws_hurts_only_its_own_task(scene):
    """Anybody's code may break anywhere; the supervisor goes on."""
    (scene.home.path / "coders/rude.py").write_text(
        "from fleet.coders.base import Coder\n"
        "class Rude(Coder):\n"
        "    name = 'rude'\n"
        "    context_limit = 1000\n"
        "    def build_argv(self, task, task_dir):\n"
        "        return ['sh', '-c', 'echo one; echo two']\n"
        "    def normalize_event(self, raw_line):\n"
        "        return {'kind': 1 / (raw_line == 'two')}\n"
        "    def outcome(self, *args, **more):\n"
        "        raise KeyError('what')\n"
    )
    trust_coders(scene.home.path)
    scene.configure(retry_limit=1)
    task = scene.add(WORK, coder="rude")
    other = scene.add(WORK)
    scene.supervise()
    assert "KeyError" in scene.until_status(task, "blocked").notes
    scene.until_status(other, "closed")


def test_records_that_an_agent_destroyed_count_as_a_failure(scene):
    """Garbage where its keeper wrote, and a killed keeper: one failed task, one whole fleet."""
    scene.configure(retry_limit=1)
    argv = [sys.executable, "-I", "-S", str(FAKES / "vandal.py")]
    scene.coder("vandal", f'argv = {json.dumps(argv)}\nprompt = "stdin"\n')
    task, other = scene.add("-", coder="vandal"), scene.add(WORK)
    scene.supervise()
    scene.until_status(other, "closed")
    copy = scene.until(lambda: (path := scene.run(task).path / "copy").exists() and path)
    keeper = msgspec.json.decode(copy.read_bytes(), type=Started).keeper
    process_identity.send(keeper, signal.SIGKILL)
    assert "damaged" in scene.until_status(task, "blocked").notes
    assert failures(scene, task) == "1"
    scene.until_status(scene.add(WORK), "closed")


def test_a_flood_is_kept_byte_for_byte_and_read_in_bounded_memory(scene):
    """A line of 100 MB, NULs, bad UTF-8, and empty lines without end: memory stays small."""
    flood = f"""
argv = ["{sys.executable}", "-I", "-S", "{FAKES / "flood.py"}", "{{model}}"]
prompt = "stdin"

[[event]]
when = {{ type = "tool" }}
kind = "tool_use"
call = {{ id = "id", name = "id" }}

[[event]]
when = {{ type = "end" }}
terminal = "success"
"""
    scene.coder("flood", flood)
    supervisor = scene.supervise()
    scene.until_logged("started")
    before = psutil.Process(supervisor.pid).memory_info().rss
    task = scene.add("100", coder="flood")
    scene.until_status(task, "closed")
    run = scene.run(task)
    assert run.stdout.stat().st_size == int((run.path / "printed").read_text())
    sizes = [len(line.data) + line.dropped for line in Follower(run.stdout).finish()]
    assert max(sizes) == 100 << 20
    peak = int(_status(supervisor.pid)["VmHWM"].split()[0]) << 10
    assert peak - before < 120 << 20
    scene.until_status(scene.add(WORK), "closed")


def _status(pid):
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return dict(line.split(":\t", 1) for line in lines)


def test_an_agent_finds_fleet_even_where_its_project_has_such_a_name(scene):
    """A module called fleet in the agent's directory is not taken for ours."""
    (scene.project / "fleet.py").write_text("raise SystemExit('not me')\n")
    task = scene.add("tool close:done end")
    scene.supervise()
    scene.until_status(task, "closed")
    assert os.environ.get("PYTHONSAFEPATH") is None
