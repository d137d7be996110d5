"""What an agent prints reaches the run's files through the keeper, and by no other way."""

import hashlib
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from fleet.processes import keeper_client
from tests.story.stage import PATIENCE, PYTHON, Stage, output, wait_for_output, wait_until

#: A tool of the agent's that opens a stream of its CLI again, by number and mode.
OPEN_AGAIN = """
import os, sys
fd, mode = sys.argv[1:]
try:
    with open(f"/proc/{os.getppid()}/fd/{fd}", mode) as file:
        file.write(b"forged\\n") if "w" not in mode else None
        file.flush()
    print("opened")
except OSError as error:
    print(error.strerror)
"""
#: A CLI that says something, and hands its tool's answer on.
CLI = """
import subprocess, sys
print("true", flush=True)
print("true", file=sys.stderr, flush=True)
tool = [sys.executable, "-I", "-S", "-c", sys.argv[1], *sys.argv[2:]]
print(subprocess.run(tool, capture_output=True, text=True, stdin=0).stdout, end="")
"""

linux = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


@pytest.fixture
def stage(tmp_path):
    stage = Stage(tmp_path)
    yield stage
    stage.close()


@pytest.fixture
def small(tmp_path):
    """A stage on a small disk of its own."""
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(tmp_path)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("a small disk can only be mounted by root")
    stage = Stage(tmp_path)
    yield stage
    stage.close()
    subprocess.run(["umount", "-l", str(tmp_path)], check=True)


def fill(root):
    fd = os.open(root / "ballast", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for size in (1 << 16, 1):
        with suppress(OSError):
            while True:
                os.write(fd, bytes(size))
    os.close(fd)


@linux
@pytest.mark.parametrize("mode", ["ab", "r+b", "wb"])
@pytest.mark.parametrize("fd", ["1", "2"])
def test_a_tool_can_open_no_stream_of_its_cli(stage, fd, mode):
    """It wrote lines in the name of the CLI, and emptied the file: the receipt believed both."""
    run, _ = stage.play(*PYTHON, "-c", CLI, OPEN_AGAIN, fd, mode)
    assert run.stdout.read_text() == "true\nNo such device or address\n"
    assert run.stderr.read_text() == "true\n"


@linux
@pytest.mark.parametrize("mode", ["ab", "r+b", "wb"])
def test_a_tool_cannot_change_the_prompt(stage, mode):
    """The record of what the agent was told is outside of every box; its descriptor was not."""
    run, _ = stage.play(
        *PYTHON, "-c", CLI, OPEN_AGAIN, "0", mode, prompt=b"asked", stdin="prompt.md"
    )
    assert "Operation not permitted" in run.stdout.read_text()
    assert (run.path / "prompt.md").read_bytes() == b"asked"


def test_a_large_prompt_arrives_whole(stage):
    """It is copied; a CLI may read it in pieces, or map it."""
    prompt = os.urandom(1 << 22)
    count = "import sys, hashlib; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())"
    run, _ = stage.play(*PYTHON, "-c", count, prompt=prompt, stdin="prompt.md")
    assert run.stdout.read_text().strip() == hashlib.sha256(prompt).hexdigest()


def test_a_verify_command_may_open_its_own_output(stage):
    """Scripts of people do that: on a socket it would fail."""
    run, end = stage.play("sh", "-c", "echo a >/dev/stdout; echo b >/dev/stderr", reopens=True)
    assert (end.code, output(run), run.stderr.read_text()) == (0, "a\n", "b\n")


@pytest.mark.parametrize("reopens", [False, True])
def test_what_was_printed_last_is_kept(stage, reopens):
    """The agent ends as soon as it has printed: nothing of that is left on the way."""
    line = "x" * 99 + "\n"
    script = "import os; os.write(1, (b'x' * 99 + b'\\n') * 20000); os._exit(3)"
    for _ in range(5):
        run, end = stage.play(*PYTHON, "-c", script, reopens=reopens)
        assert (end.code, end.short) == (3, "")
        assert run.stdout.read_text() == line * 20000


def test_a_line_of_100_mb_takes_no_memory_of_the_keeper(stage):
    """The keeper copies pieces, whatever a line is."""
    script = (
        "import os, sys\npiece = b'x' * (1 << 20)\n"
        "for _ in range(100): sys.stdout.buffer.write(piece)\n"
        "print(flush=True); import time; time.sleep(60)"
    )
    run = stage.run(*PYTHON, "-c", script)
    keeper = stage.start(run)
    wait_until(run, lambda: run.stdout.exists() and run.stdout.stat().st_size > 100 << 20)
    status = Path(f"/proc/{keeper.who.pid}/status").read_text()
    peak = int(status.partition("VmHWM:")[2].split()[0])
    assert peak < 30_000, status
    keeper_client.stop(run, now=True)
    assert keeper.wait(PATIENCE)


def test_what_a_killed_keeper_had_read_is_kept(stage):
    """The run is lost then; its output up to that moment is evidence all the same."""
    run = stage.run(*PYTHON, "-c", "import time; print('said', flush=True); time.sleep(60)")
    keeper = stage.start(run)
    wait_for_output(run, "said")
    os.kill(keeper.who.pid, signal.SIGKILL)
    assert keeper.wait(PATIENCE)
    assert isinstance(keeper_client.state_of(run), keeper_client.Vanished)
    assert output(run) == "said\n"


def test_an_agent_waits_for_room_and_loses_nothing(small, tmp_path):
    """A write that failed was the CLI's problem: it broke off, and the task paid for that."""
    script = (
        "import os, sys\nopen(sys.argv[1], 'w')\nfor n in range(30000): print(f'{n:063d}')\n"
        "print('end', flush=True)"
    )
    go = f'while [ ! -e {tmp_path}/go ]; do sleep 0.02; done; exec {sys.executable} -c "$0" $1'
    run = small.run("sh", "-c", go, script, "/dev/null")
    keeper = small.start(run)
    wait_until(run, run.started)
    (tmp_path / "go").touch()
    fill(tmp_path)
    wait_until(run, lambda: not keeper.wait(1.0))
    (tmp_path / "ballast").unlink()
    assert keeper.wait(PATIENCE)
    end = run.exit()
    assert (end.code, end.short) == (0, "")
    lines = output(run).splitlines()
    assert lines == [*(f"{number:063d}" for number in range(30000)), "end"]


def test_output_that_has_no_room_is_the_machines_fault(small, tmp_path):
    """What fits is kept, and the record says why the rest is not there."""
    script = "import time; print('first', flush=True); time.sleep(1); print('x' * 99999)"
    run = small.run(*PYTHON, "-c", script)
    keeper = small.start(run)
    wait_for_output(run, "first")
    fill(tmp_path)
    assert not keeper.wait(12)  # it waits for room, for its record too
    (tmp_path / "ballast").unlink()
    assert keeper.wait(PATIENCE)
    assert "No space left" in run.exit().short
    assert output(run).startswith("first\n")
