"""The supervisor's environment and memory are not for its agents."""

import subprocess
import sys
from pathlib import Path

import pytest

import fleet
from fleet.processes import process_identity

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
from fleet.processes.not_dumpable import refuse_dumps
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
