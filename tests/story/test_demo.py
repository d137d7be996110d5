"""`fleet demo` from start to end: the real supervisor, real processes, and no trace afterwards."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil
import pytest

from fleet.demo.script import ANSWER, TASKS
from tests.conftest import missing, need, often, only_slow
from tests.contract.postgres_server import binaries
from tests.machines.network import missing_tool

DEMO = (sys.executable, "-m", "fleet", "demo")

#: Settings of a person's own that would stop every commit, if they were followed.
GITCONFIG = """\
[commit]
    gpgSign = true
[gpg]
    program = false
[core]
    hooksPath = /nowhere
    excludesFile = ~/ignored
"""


@pytest.fixture
def ground(tmp_path):
    """A directory for everything that the demo makes, and the environment that leads there."""
    git = need("git")
    places = {name: tmp_path / name for name in ("temporary", "person")}
    for place in places.values():
        place.mkdir()
    (places["person"] / ".gitconfig").write_text(GITCONFIG)
    (places["person"] / "ignored").write_text("*\n")
    env = {
        "PATH": os.pathsep.join([str(Path(git).parent), "/usr/bin", "/bin"]),
        "HOME": str(places["person"]),
        "TMPDIR": str(places["temporary"]),
        "FLEET_HOME": str(places["person"] / "home"),
        "LANG": "C.UTF-8",
    }
    yield env
    for process in living(env):
        process.kill()


def living(env):
    """Every process that was started for the demo, by its environment."""
    found = []
    for process in psutil.process_iter():
        try:
            values = process.environ().values()
        except (psutil.Error, OSError):
            continue
        if any(value.startswith(env["TMPDIR"]) for value in values):
            found.append(process)
    return found


def traces(env):
    """What the demo left: files of its own, files of the person's, processes."""
    person = {path.name for path in Path(env["HOME"]).iterdir()} - {".gitconfig", "ignored"}
    return [*Path(env["TMPDIR"]).iterdir(), *person, *living(env)]


@pytest.mark.timeout(360)
def test_the_demo_shows_every_trouble_and_leaves_nothing(ground):
    """A newcomer's first minute: no account, no bd, no settings of their own in the way."""
    done = subprocess.run(DEMO, env=ground, cwd=ground["HOME"], capture_output=True, text=True)

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    assert traces(ground) == []

    lines, _, summary = done.stdout.partition("\nWhat happened\n")
    told, _, log = summary.partition("\nWhat the project got")
    for task in TASKS:
        for end in task.ends:
            assert end.cause in told, task.title
        assert task.title in log or not task.files
    assert "All went as staged" in log
    assert f"fleet answer {task_of('Add a book', lines)} '{ANSWER}'" in lines
    assert re.search(r"kill -9 \d+ .*the supervisor", lines)
    assert "adopted run 1" in lines
    assert "8 of 9 tasks have landed" in log
    # The pair on one line: the second goes back to its session, merges, and the release has both.
    assert f"{task_of('Lend a book', lines)} Lend a book: sent back to its agent (try 1)" in lines
    assert "conflicts with main in README.md" in told
    assert "with the merge begun; the same session finished it" in told
    assert "began from main, where all 8 files were there (Commands: find, lend)" in told


def task_of(title, lines):
    """The id that a task was given, by the command that made it."""
    return re.search(rf"create '?{re.escape(title)}'? .*→ (\S+)", lines)[1]


@only_slow
@pytest.mark.timeout(180)
@pytest.mark.parametrize(
    ("moment", "number"),
    [("$ git init", signal.SIGINT), ("run 1 with", signal.SIGTERM), ("adopted", signal.SIGINT)][
        : often(2, 3)
    ],
)
def test_an_interrupted_demo_leaves_nothing(ground, moment, number):
    """Before there is a supervisor, with agents at work, and after a supervisor was killed."""
    with subprocess.Popen(
        DEMO, env=ground, cwd=ground["HOME"], stdout=subprocess.PIPE, text=True
    ) as demo:
        for line in demo.stdout:
            if moment in line:
                demo.send_signal(number)
                break
        rest = demo.stdout.read()
    assert demo.returncode == 130
    assert "Interrupted" in rest
    assert traces(ground) == []


@only_slow
@pytest.mark.timeout(180)
def test_a_killed_demo_takes_its_supervisor_along(ground):
    """After `kill -9` files stay behind, but no process goes on working there."""
    need("setpriv")
    with subprocess.Popen(
        DEMO, env=ground, cwd=ground["HOME"], stdout=subprocess.PIPE, text=True
    ) as demo:
        for line in demo.stdout:
            if "run 1 with" in line:
                assert len(living(ground)) > 1
                demo.kill()
                break
    end = time.monotonic() + 60
    while living(ground):
        assert time.monotonic() < end, living(ground)
        time.sleep(0.1)


@pytest.fixture
def network_ground(ground):
    """The same where PostgreSQL, which is another user, can pass through."""
    tool = missing_tool() or ("" if binaries() else "postgresql")
    if tool:
        missing(tool)
    with tempfile.TemporaryDirectory(prefix="fleet-ground-") as place:
        Path(place).chmod(0o755)
        env = {**ground, "PATH": os.environ["PATH"], "TMPDIR": place}
        yield env
        for process in living(env):
            process.kill()


def spaces(demo):
    """The network namespaces that a demo left."""
    done = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True)
    return [line for line in done.stdout.splitlines() if line.startswith(f"fleet-{demo.pid}-")]


def on_three_hosts(env):
    argv = [*DEMO, "--hosts", "3"]
    return subprocess.Popen(argv, env=env, cwd=env["HOME"], stdout=subprocess.PIPE, text=True)


@only_slow
@pytest.mark.timeout(480)
def test_the_demo_of_hosts_moves_a_task_and_leaves_nothing(network_ground):
    """Three hosts, a real PostgreSQL, a link that is cut: and no network, process or file stays."""
    with on_three_hosts(network_ground) as demo:
        said = demo.stdout.read()
    assert demo.returncode == 0, said
    assert "All went as staged" in said
    assert "no host fits: needs tpu; hosts with it: none up" in said
    assert traces(network_ground) == []
    assert spaces(demo) == []


@only_slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("moment", ["3 hosts, each", "run 1 with", "link set to"])
def test_an_interrupted_demo_of_hosts_leaves_nothing(network_ground, moment):
    """While servers start, with agents at work, and with a host that is cut off."""
    with on_three_hosts(network_ground) as demo:
        for line in demo.stdout:
            if moment in line:
                demo.send_signal(signal.SIGINT)
                break
        rest = demo.stdout.read()
    assert demo.returncode != 0
    assert "Interrupted" in rest
    assert traces(network_ground) == []
    assert spaces(demo) == []
