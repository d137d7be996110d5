"""One supervisor a home."""

import fcntl
import os
import subprocess

import pytest

from fleet.home import Home
from fleet.processes.supervisor_lock import (
    LOCK,
    AlreadyRunning,
    sole_supervisor,
    supervisor_of,
)


def test_there_is_one_a_home(tmp_path):
    """The second is told who is there, with exit code 9; after the first it may come."""
    home = Home(tmp_path)
    with sole_supervisor(home):
        assert supervisor_of(home).who.pid == os.getpid()
        with pytest.raises(AlreadyRunning, match=f"process {os.getpid()}") as refused:
            sole_supervisor(home).__enter__()
        assert refused.value.exit_code == 9
    with sole_supervisor(home):
        pass


def test_the_lock_of_a_killed_one_is_waited_for(tmp_path):
    """A child that the killed supervisor was starting holds a copy for a moment."""
    home = Home(tmp_path)
    fd = os.open(home.path / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(fd, fcntl.LOCK_EX)
    child = subprocess.Popen(["sleep", "0.3"], pass_fds=[fd])
    os.close(fd)
    with sole_supervisor(home):
        assert child.wait(10) == 0
