"""The process that answers an agent: whatever it is made to run, nothing changes."""

import hashlib
import json
import shlex
import subprocess
import sys

import click
import pytest

from fleet.cli import COMMANDS
from fleet.cli.root import root
from fleet.control.acts.audit_log import lines
from fleet.processes import keeper_client
from fleet.processes.agent_identity import ASKED_BY
from tests.fakes import FAKES
from tests.repos import Repo

#: A line for every command of the program that could change something. ID is a task with a run that
#: lives, OTHER one that waits.
ACTS = (
    "init", "init --queue embedded", "bd create x", "bd close OTHER", "bd update OTHER --title x",
    "bd delete OTHER --force", "bd remember x", "plan apply TODO.md --yes", "plan write GOAL.md",
    "plan revise OTHER x", "plan approve OTHER", "plan cancel OTHER", "run --until-idle",
    "run --detach", "web", "web pair", "web revoke x", "web sessions", "answer OTHER yes",
    "tell ID hello", "tell ID hello --now", "review ID --reject no", "review ID --approve",
    "review ID", "land", "land ID", "land --all", "land --revert ID", "land OTHER --hold",
    "stop ID", "stop --all --now", "retry OTHER", "retry OTHER --fresh", "trust OTHER",
    "trust --remote .", "pause", "resume", "restart", "shutdown", "shutdown --now",
    "service install", "service remove", "notify run", "notify test",
    "notify pair", "otel run", "otel test",
    "schedule add '0 3 * * *' -- bd create x", "schedule remove x", "schedule run x",
    "compare OTHER --with actor", "account add mine --coder claude", "account remove mine",
    "account login mine", "account pause mine", "account resume mine", "account check",
    "coders", "coders trust --all", "coders trust evil", "mcp --operator --allow write",
    "mcp install claude --write", "host add x", "host drain x", "host resume x",
    "host lost x --yes", "host remove x", "config set permissions=bypass",
    "config set --project . verify=x",
    "queue backup", "queue restore", "queue accept", "queue roles", "doctor", "demo", "top",
)  # fmt: skip
#: Commands that have nothing to change.
LOOKS = {
    "accounts", "audit", "completion", "hosts", "log", "metrics", "questions", "ready", "show",
    "stats", "status", "task", "tasks", "usage",
}  # fmt: skip


def state_of(*folders):
    """Every file below these directories with its content; what SQLite keeps beside a database is
    no content.
    """
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        for folder in folders
        for path in sorted(folder.rglob("*"))
        if not path.name.endswith(("-shm", "-wal"))
    }


def said(run):
    """The agent is at work and has said all that it says."""
    return run.stdout.exists() and run.stdout.stat().st_size > 0


@pytest.fixture
def place(scene, tmp_path):
    """A home with a run that goes on without a supervisor, so that nothing else writes."""
    Repo(scene.project).commit(a="one\n")
    (scene.project / "TODO.md").write_text("- [ ] one\n- [ ] two\n")
    (tmp_path / "user").mkdir()
    scene.env = {**scene.env, "HOME": str(tmp_path / "user"), "COLUMNS": "80"}
    live = scene.add("tool await:never")
    supervisor = scene.supervise()
    scene.until(lambda: (run := scene.run(live)) is not None and said(run))
    scene.kill(supervisor)
    other = scene.add("never", title="another")
    (scene.home.path / "coders/evil.py").write_text("raise SystemExit('loaded')\n")
    return scene, live, other


def past_the_table(scene, words):
    env = {**scene.env, ASKED_BY: "fleet-own"}
    done = subprocess.run(
        [sys.executable, "-P", FAKES / "past_the_table.py"],
        input=json.dumps(words), env=env, cwd=scene.project, capture_output=True, text=True,
        timeout=250, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.timeout(300)
def test_a_process_that_answers_an_agent_can_change_nothing(place, tmp_path):
    """Not by any command of the program, even if the table of rights refused none of them."""
    scene, live, other = place
    words = [shlex.split(line.replace("ID", live).replace("OTHER", other)) for line in ACTS]
    before = state_of(scene.home.path, scene.project, tmp_path / "user")
    tasks = (scene.task(live), scene.task(other))
    codes = past_the_table(scene, words)
    assert state_of(scene.home.path, scene.project, tmp_path / "user") == before
    assert (scene.task(live), scene.task(other)) == tasks
    assert keeper_client.is_alive(scene.run(live))
    assert lines(scene.home) == []
    never = {line: code for line, code in zip(ACTS, codes, strict=True) if code in (-1, 99)}
    assert never == {}, "each line ends, with an error that a person could read"


def test_every_command_has_a_line_here():
    """A new command is tried too."""
    context = click.Context(root)
    paths = set()
    for name in set(COMMANDS) - LOOKS - {"bd", "top", "web", "demo"}:
        command = root.get_command(context, name)
        paths |= {f"{name} {each}" for each in getattr(command, "commands", {})} or {name}
    looks = {"account list", "config show", "notify status", "otel status", "plan show",
             "queue status", "schedule list"}  # fmt: skip
    tried = {" ".join(line.split()[:count]) for line in ACTS for count in (1, 2)}
    assert paths - looks - tried == set()
