"""Agents in a box: what they can reach, how they end, and that fleet sees them all the same."""

import os
import signal
import sys
import textwrap
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import psutil
import pytest

from fleet.processes import process_identity
from fleet.sandbox.try_box import try_box
from tests.conftest import missing
from tests.repos import Repo

#: A shell script of the project is the agent.
CODER = """
argv = ["sh", "{model}"]
prompt = "stdin"
context_limit = 1000
[[event]]
when = { type = "tool" }
kind = "tool_use"
call = { id = "id", name = "id" }
[[event]]
when = { type = "end" }
terminal = "success"
"""
TOOL, END = """echo '{"type":"tool","id":"1"}'""", """echo '{"type":"end"}'"""


@pytest.fixture
def boxed(scene):
    """A scene whose agents are in a box."""
    trial = try_box(os.environ)
    if not trial.works:
        missing("bwrap")
    scene.coder("script", CODER)
    scene.configure(coder="script", sandbox="workspace", retry_limit=1)
    return scene


def add(scene, text, **wishes):
    """A task whose agent is this script."""
    (scene.project / "agent.sh").write_text(f"{TOOL}\n{textwrap.dedent(text)}\n{END}\n")
    return scene.add("agent.sh", coder="script", **wishes)


def test_an_agent_writes_its_directories_and_nothing_else(boxed, tmp_path):
    """The workspace, the artifacts, the spool and temporary files of its own; no other place."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "key").write_text("canary")
    task = add(
        boxed,
        f"""
        for place in . "$FLEET_ARTIFACT_DIR" "$FLEET_SPOOL" "$TMPDIR" "$HOME"; do
            echo x > "$place/mine" && echo "wrote $place" >&2
        done
        cd {outside}
        home={boxed.home.path}
        for place in . "$home" "$FLEET_TASK_DIR" "$FLEET_RUN_DIR" /usr /etc /dev; do
            echo x > "$place/theirs"
        done
        cat {outside}/key "$home/queue.db" "$FLEET_RUN_DIR/run.json" /etc/shadow
        """,
    )
    boxed.supervise()
    boxed.until_status(task, "blocked")  # it never said that it was done
    run = boxed.run(task)
    assert run.stderr.read_text().count("wrote ") == 5
    assert set(run.stdout.read_text().splitlines()) == {
        '{"type":"tool","id":"1"}',
        '{"type":"end"}',
    }
    assert (boxed.project / "mine").exists()
    assert (boxed.folder(task) / "artifacts/mine").exists()
    assert (run.spool / "mine").exists()
    reached = ("/usr", "/etc", "/dev", outside, boxed.home.path, boxed.folder(task), run.path)
    assert [place for place in reached if (Path(place) / "theirs").exists()] == []


def test_a_task_whose_box_cannot_be_had_does_not_begin(boxed, tmp_path):
    """Its message names the package, and no run is tried without a box."""
    (tmp_path / "bin").mkdir()
    boxed.env["PATH"] = str(tmp_path / "bin")
    task = add(boxed, "touch ran")
    boxed.supervise()
    blocked = boxed.until_status(task, "blocked")
    assert "apt install bubblewrap" in blocked.notes
    assert boxed.run(task) is None
    assert not (boxed.project / "ran").exists()


def test_a_program_that_is_not_there_is_named_in_a_box_too(boxed):
    """A person read of /dev/null and of no directory."""
    boxed.coder("absent", CODER.replace('"sh"', '"no-such-agent"'))
    task = boxed.add("x", coder="absent")
    boxed.until_ended(boxed.supervise("--until-idle"))
    assert boxed.status(task) == "open"
    (held,) = boxed.log("held")
    assert "cannot start: no-such-agent is not on PATH" in held["text"]


def test_a_stopped_agent_has_its_grace_in_a_box_too(boxed):
    """SIGTERM reaches the agent and not the box around it, which would take the agent along."""
    task = add(
        boxed,
        """
        trap 'echo last words > said; exit 0' TERM
        echo here > ready
        while :; do sleep 0.05; done
        """,
    )
    boxed.supervise()
    boxed.until((boxed.project / "ready").exists)
    assert boxed.fleet("stop", task).returncode == 0
    assert (boxed.project / "said").read_text() == "last words\n"
    assert boxed.run(task).exit().stop == "graceful"


def test_a_box_has_no_descriptor_of_the_lock(boxed):
    """Nor of any other file of the home: what has one open can write to the file."""
    task = add(
        boxed, "ls -l /proc/*/fd >&2; bd close $FLEET_TASK_ID --reason done >&2", expect="any"
    )
    boxed.until_ended(boxed.supervise("--until-idle"))
    said = boxed.run(task).stderr.read_text()
    assert "-> socket:" in said
    assert str(boxed.home.path) not in said


def test_what_an_agent_leaves_behind_dies_with_its_box(boxed):
    """A process that left its session, its parents and its environment cannot leave the box."""
    task = add(
        boxed,
        """
        setsid env -i sh -c 'exec > /dev/null 2>&1; touch ready; while :; do touch alive; done' &
        until [ -e ready ]; do sleep 0.01; done
        """,
    )
    boxed.supervise()
    boxed.until_status(task, "blocked")
    (boxed.project / "alive").unlink(missing_ok=True)
    ending = boxed.run(task).exit()
    assert ending.left == ()
    assert "bwrap" not in [each.name for each in ending.swept], "fleet's own box is no leftover"
    assert [each.pid for each in _in(boxed.project)] == []
    assert not (boxed.project / "alive").exists()


def test_a_box_outlives_its_supervisor_and_is_adopted(boxed):
    """After kill -9 of the supervisor the next one finds the run at work, and ends it."""
    task = add(boxed, "echo here > ready; until [ -e go ]; do sleep 0.01; done")
    first = boxed.supervise()
    boxed.until((boxed.project / "ready").exists)
    boxed.kill(first)
    boxed.supervise()
    boxed.until_logged("adopted")
    (boxed.project / "go").touch()
    boxed.until_status(task, "blocked")
    assert [run.number for run in boxed.runs(task)] == [1]
    assert boxed.run(task).exit().code == 0


def test_a_box_does_not_outlive_its_keeper(boxed):
    """Without its keeper a run is lost: nothing of it may go on."""
    task = add(boxed, "echo here > ready; while :; do sleep 0.05; done")
    boxed.supervise()
    boxed.until((boxed.project / "ready").exists)
    process_identity.send(boxed.run(task).started().keeper, signal.SIGKILL)
    boxed.until_status(task, "blocked", "open")
    assert _in(boxed.project) == []


def _in(project):
    """Processes that work in this directory."""
    return [
        process for process in psutil.process_iter(["cwd"]) if process.info["cwd"] == str(project)
    ]


class Vendor(BaseHTTPRequestHandler):
    """A host of a vendor's, which notes what it is asked with."""

    def do_GET(self):
        self.server.asked.append((self.path, self.headers["x-key"]))
        self.send_response(200)
        self.send_header("Content-Length", "4")
        self.end_headers()
        self.wfile.write(b"body")

    def log_message(self, *_):
        pass


@pytest.fixture
def vendor():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Vendor)
    server.asked = []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


#: Asks for an address; prints what came, or why nothing came.
ASK = """
import sys, urllib.request
try:
    print(urllib.request.urlopen(sys.argv[1], timeout=20).read().decode(), file=sys.stderr)
except Exception as error:
    print("no:", error, file=sys.stderr)
"""
#: The same past every proxy.
PAST = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], int(sys.argv[2])), 5)
    print("connected", file=sys.stderr)
except OSError as error:
    print("no:", error, file=sys.stderr)
"""


def test_a_strict_box_leads_to_named_hosts_and_nowhere_else(boxed, vendor):
    """The named host answers; another one, the same one past the proxy, and names do not."""
    port = vendor.server_port
    (boxed.project / "ask.py").write_text(ASK)
    (boxed.project / "past.py").write_text(PAST)
    projects = f'\n[projects."{boxed.project}"]\nsandbox_hosts = ["127.0.0.1:{port}"]\n'
    boxed.home.config.write_text(boxed.home.config.read_text() + projects)
    python = f"{sys.executable} -I -S"
    task = add(
        boxed,
        f"""
        {python} ask.py http://127.0.0.1:{port}/allowed
        {python} ask.py http://127.0.0.1:1/port
        {python} ask.py http://localhost:{port}/name
        {python} ask.py https://example.com/
        {python} past.py 127.0.0.1 {port}
        {python} past.py example.com 443
        ls -l /proc/self/fd >&2
        """,
        sandbox="strict",
    )
    boxed.supervise()
    boxed.until_status(task, "blocked")
    words = boxed.run(task).stderr.read_text()
    answers = [line for line in words.splitlines() if line.startswith(("body", "no:", "connected"))]
    assert [line[:3] for line in answers] == ["bod", "no:", "no:", "no:", "no:", "no:"], words
    assert [path for path, _ in vendor.asked] == ["/allowed"]
    assert "fleet: refused: example.com:443 is not among the hosts of this box" in words
    assert " 98 -> " not in words
    assert boxed.run(task).exit().code == 0


def test_an_agent_in_a_box_commits_in_its_clone_and_not_in_the_project(boxed):
    """The project is not in the box but for its objects; the commit comes home all the same."""
    repo = Repo(boxed.project)
    first = repo.commit(a="one\n")
    repo.git("config", "user.name", "me")
    repo.git("config", "user.email", "me@example.org")
    task = add(
        boxed,
        f"""
        echo two > a && git commit -qam mine && git log --oneline >&2
        git -C {boxed.project} log; ls {boxed.project}; echo x > {boxed.project}/.git/config
        """,
        work_in="clone",
    )
    git_config = (boxed.project / ".git/config").read_text()
    repo.commit()  # the script is what the clone runs
    boxed.supervise()
    boxed.until_status(task, "blocked")  # it never said that it was done
    boxed.until(lambda: repo.git("branch", "--list", f"fleet/{task}"))
    assert repo.git("show", f"fleet/{task}:a") == "two", boxed.run(task).stderr.read_text()
    assert repo.git("log", "-1", "--format=%an", f"fleet/{task}") == "me"
    assert repo.git("show", "main:a") == "one"
    assert repo.git("rev-parse", f"fleet/{task}~2") == first
    assert (boxed.project / ".git/config").read_text() == git_config
    assert boxed.run(task).stdout.read_text().splitlines() == [
        '{"type":"tool","id":"1"}',
        '{"type":"end"}',
    ]
