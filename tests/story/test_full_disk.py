"""A disk that is full under a running fleet."""

import os
import signal
import subprocess
from contextlib import suppress

import pytest

from fleet.runs.outcome_history import history
from tests.story.scene import Scene

#: The first run works for ever, the next one ends well.
ENDLESS = "mark:here tool await:never | tool done end"


@pytest.fixture
def scene(tmp_path):
    """A home on a small disk of its own."""
    mount = ["mount", "-t", "tmpfs", "-o", "size=300m", "tmpfs", str(tmp_path)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("a small disk can only be mounted by root")
    scene = Scene(tmp_path)
    yield scene
    scene.close()
    subprocess.run(["umount", "-l", str(tmp_path)], check=True)


def fill(root):
    """Leave not a byte."""
    fd = os.open(root / "ballast", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    with suppress(OSError):
        while True:
            os.write(fd, bytes(1 << 20))
    with suppress(OSError):
        while True:
            os.write(fd, b"x")
    os.close(fd)


def test_a_full_disk_neither_holds_the_supervisor_nor_costs_an_attempt(scene, tmp_path):
    """Two signals did not end it, it printed a line a second and run, and the task paid."""
    task = scene.add(ENDLESS)
    read, write = os.pipe()
    scene.screen_to(write)
    supervisor = scene.supervise()
    os.close(write)
    scene.until_marked(task, "here")
    said = b""
    fill(tmp_path)
    supervisor.send_signal(signal.SIGTERM)
    while b"stopping the agents" not in said:
        said += os.read(read, 4096)
    supervisor.send_signal(signal.SIGTERM)
    assert supervisor.wait(30) == 0
    while more := os.read(read, 4096):
        said += more
    assert said.count(b"No space left") <= 1
    (tmp_path / "ballast").unlink()
    scene.screen_to(None)
    assert scene.until_ended(scene.supervise("--until-idle")) == 0
    assert scene.status(task) == "closed"
    assert history(scene.folder(task)).attempts == 0
