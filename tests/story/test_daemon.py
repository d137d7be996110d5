"""A supervisor without a terminal: detached, shut down, kept by systemd, with schedules."""

import json
import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest
from msgspec import structs

from fleet.processes.supervisor_lock import supervisor_of
from fleet.queue import PREFIX
from tests.conftest import need

EVERY_MINUTE = "* * * * *"


def test_a_detached_supervisor_works_until_it_is_shut_down(scene):
    """No terminal holds it, it says what it runs with, and its end gives the tasks back."""
    task = scene.add("tool sleep:60")
    begun = scene.fleet("run", "--detach", "--coder", "actor")
    assert begun.returncode == 0, begun.stderr
    holder = supervisor_of(scene.home)
    assert f"process {holder.who.pid}" in begun.stdout
    assert os.getsid(holder.who.pid) == holder.who.pid
    assert holder.coder == "actor"
    scene.until_status(task, "in_progress")
    again = scene.fleet("run", "--detach")
    assert (again.returncode, "already running" in again.stderr) == (9, True)
    scene.until(lambda: scene.run(task) and scene.run(task).stdout.exists())
    ended = scene.fleet("shutdown", "--now")
    assert ended.returncode == 0, ended.stderr
    assert supervisor_of(scene.home) is None
    assert scene.status(task) == "open"
    assert scene.fleet("shutdown").returncode == 1


def test_a_detached_supervisor_that_cannot_begin_says_why(scene):
    """A start that fails is not reported as one that went well."""
    scene.env["PYTHONHOME"] = "/nowhere"
    failed = scene.fleet("run", "--detach")
    assert failed.returncode == 1
    assert "ended at once: Python path" in failed.stderr or "Fatal Python error" in failed.stderr


def schedule(scene, name):
    return {each.name: each for each in scene.queue.schedules.all()}.get(name)


def overdue(scene, name, minutes):
    """Have a schedule be due since a while, as after a night without a supervisor."""
    due = schedule(scene, name)
    late = structs.replace(due, due=due.due - timedelta(minutes=minutes))
    assert scene.queue.schedules.move(late, due.due)
    return late


def test_a_schedule_that_was_missed_creates_one_task(scene):
    """Ten moments without a supervisor are one task, with all that its line said."""
    added = scene.fleet(
        "schedule", "add", EVERY_MINUTE, "--", "bd", "create", "Clean up", "--priority", "1",
    )  # fmt: skip
    assert added.returncode == 0, added.stderr
    late = overdue(scene, "clean-up", 10)
    scene.fleet("pause")
    scene.supervise()
    scene.until_logged("schedule")
    (task,) = scene.open_tasks()
    moved = schedule(scene, "clean-up")
    assert (task.id, task.title, task.priority) == (late.task_id(PREFIX), "Clean up", 1)
    assert task.created_by == "schedule clean-up"
    assert moved.last_task == task.id
    assert moved.due > datetime.now(UTC) - timedelta(seconds=5)
    listed = json.loads(scene.fleet("schedule", "list", "--json").stdout)
    assert [(each["name"], each["last_task"]) for each in listed] == [("clean-up", task.id)]


def test_a_moment_whose_task_is_there_creates_no_second_one(scene):
    """A supervisor that was killed between the task and the schedule doubles nothing."""
    scene.fleet("schedule", "add", EVERY_MINUTE, "--name", "n", "--", "bd", "create", "Once")
    late = overdue(scene, "n", 1)
    made = scene.fleet("bd", "create", "Once", "--id", late.task_id(PREFIX))
    assert made.returncode == 0, made.stderr
    scene.fleet("pause")
    scene.supervise()
    scene.until(lambda: schedule(scene, "n").last_task == late.task_id(PREFIX))
    assert len(scene.open_tasks()) == 1
    assert schedule(scene, "n").problem == ""


def test_a_schedule_whose_directory_is_gone_says_so_and_goes_on(scene):
    """It neither stops the supervisor nor tries the same moment for ever."""
    scene.fleet("schedule", "add", EVERY_MINUTE, "--name", "n", "--", "bd", "create", "Once")
    overdue(scene, "n", 1)
    shutil.rmtree(scene.project)
    scene.supervise()
    scene.until(lambda: "is not there" in schedule(scene, "n").problem)
    scene.project.mkdir()
    assert "is not there" in scene.fleet("schedule", "list").stdout
    assert scene.fleet("schedule", "remove", "n").returncode == 0
    assert schedule(scene, "n") is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("61 * * * *", "--", "bd", "create", "x"), "no line of cron"),
        ((EVERY_MINUTE, "--", "bd", "list"), "creates tasks"),
        ((EVERY_MINUTE, "--", "bd", "create", "x", "--nonsense"), "unknown flag"),
        ((EVERY_MINUTE, "--", "bd", "create", "x", "--id", "fleet-a"), "cannot have --id"),
        ((EVERY_MINUTE, "--zone", "Mars", "--", "bd", "create", "x"), "time zone"),
        ((EVERY_MINUTE, "--name", "a b", "--", "bd", "create", "x"), "name"),
        ((EVERY_MINUTE, "--cwd", "/no/where", "--", "bd", "create", "x"), "no directory"),
    ],
)
def test_a_schedule_that_cannot_work_is_refused_at_once(scene, words, said):
    """Not at three at night."""
    refused = scene.fleet("schedule", "add", *words)
    assert refused.returncode == 2
    assert said in refused.stderr
    assert scene.queue.schedules.all() == []


#: A systemctl that notes what it was asked, and does it.
SYSTEMCTL = """#!/bin/sh
echo "$*" >> "$NOTES"
"""


@pytest.fixture
def systemd(scene, tmp_path):
    """A user's systemd, as far as fleet speaks to it."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("systemctl", "loginctl"):
        (folder / name).write_text(SYSTEMCTL)
        (folder / name).chmod(0o755)
    notes = tmp_path / "notes"
    scene.env |= {
        "PATH": f"{folder}:{os.environ['PATH']}",
        "NOTES": str(notes),
        "XDG_CONFIG_HOME": str(tmp_path / "a % config"),
    }
    return notes


def test_a_service_is_installed_started_and_removed(scene, systemd, tmp_path):
    """The unit starts this fleet on this home, and nothing of it is left in the end."""
    done = scene.fleet("service", "install")
    assert done.returncode == 0, done.stderr
    (unit,) = (tmp_path / "a % config/systemd/user").iterdir()
    text = unit.read_text()
    assert f'ExecStart="{sys.executable}" -P -m fleet run --quiet' in text
    assert f'Environment="FLEET_HOME={scene.home.path}"' in text
    assert "KillMode=process" in text
    assert systemd.read_text().splitlines()[1:4] == [
        "--user daemon-reload", f"--user enable {unit.name}", f"--user start {unit.name}",
    ]  # fmt: skip
    assert scene.fleet("service", "remove").returncode == 0
    assert not unit.exists()
    assert scene.fleet("service", "remove").returncode == 6


def test_a_unit_of_another_hand_is_left_alone(scene, systemd, tmp_path):
    """A person's own unit of that name is neither written over nor removed."""
    printed = scene.fleet("service", "install", "--print").stdout
    assert not systemd.exists()
    scene.fleet("service", "install")
    (unit,) = (tmp_path / "a % config/systemd/user").iterdir()
    assert unit.read_text() == printed
    unit.write_text("[Service]\nExecStart=/bin/true\n")
    for verb in ("install", "remove"):
        assert scene.fleet("service", verb).returncode == 7
    assert unit.read_text() == "[Service]\nExecStart=/bin/true\n"


def test_systemd_itself_finds_nothing_wrong_with_the_unit(scene, tmp_path):
    """Its own reader knows every word, also in a home whose name has its special characters."""
    analyze = need("systemd-analyze")
    unit = tmp_path / "fleet-test.service"
    unit.write_text(scene.fleet("service", "install", "--print").stdout)
    checked = subprocess.run([analyze, "verify", str(unit)], capture_output=True, timeout=60)
    assert (checked.returncode, checked.stderr.decode()) == (0, "")
