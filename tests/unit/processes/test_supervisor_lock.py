"""One supervisor a home."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

import fleet
from fleet.home import Home
from fleet.processes import process_identity
from fleet.processes.supervisor_lock import (
    LOCK,
    AlreadyRunning,
    sole_supervisor,
    supervisor_of,
)

NOBODY = 65534
SOURCE = Path(fleet.__file__).parents[1]

#: As root every process can be read, so both processes become another user. The kernel hides a
#: process that changes its user: the first one undoes that.
BECOME = f"""
import ctypes, os, sys
if os.geteuid() == 0:
    os.setgroups([])
    os.setresgid({NOBODY}, {NOBODY}, {NOBODY})
    os.setresuid({NOBODY}, {NOBODY}, {NOBODY})
"""
#: Hides itself if it is told to, says so, and lives until its input ends.
PROGRAM = f"""
import sys
sys.path.insert(0, {str(SOURCE)!r})
from fleet.processes.supervisor_lock import refuse_dumps
{BECOME}
ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)
if sys.argv[1] == "hide":
    assert refuse_dumps()
print("ready", flush=True)
sys.stdin.read()
"""
#: What another process of the same user gets to see.
LOOK = f"""
{BECOME}
try:
    print("TOKEN=s3cret" in open(f"/proc/{{sys.argv[1]}}/environ").read())
except PermissionError:
    print("refused")
"""


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


@pytest.mark.skipif(sys.platform != "linux", reason="prctl is of Linux")
@pytest.mark.parametrize(("word", "seen"), [("hide", "refused"), ("show", "True")])
def test_another_process_of_the_same_user_cannot_read_the_environment(word, seen):
    """`/proc/<supervisor>/environ` gave every exported secret to every agent."""
    held = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, word], env={"TOKEN": "s3cret"}, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert held.stdout.readline() == "ready\n"
        look = [sys.executable, "-I", "-c", LOOK, str(held.pid)]
        found = subprocess.run(look, capture_output=True, text=True, check=True)
        assert found.stdout.strip() == seen
        assert process_identity.identify(held.pid) is not None  # its number and start stay public
    finally:
        held.communicate()
