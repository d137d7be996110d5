"""`fleet` without arguments: how a home stands, and where to go."""

import sys
from datetime import timedelta

import pytest

from fleet.cli.inspect.next_steps import next_steps
from fleet.cli.root import fleet as run_fleet
from fleet.config import default_text
from fleet.queue.protocol import Draft
from fleet.schemas import Blocked
from fleet.schemas.waits import Asks
from tests.settled import settle


@pytest.fixture
def env(fleet):
    fleet.home.config.write_text(default_text(queue="embedded"))
    return {"FLEET_HOME": str(fleet.home.path)}


def commands(env):
    return [line for line, _ in next_steps(env)[1]]


def test_without_a_home_it_leads_to_the_demo_and_to_init(tmp_path):
    """The first thing that a new person sees is not an error."""
    words, _ = next_steps({"FLEET_HOME": str(tmp_path / "none")})
    assert words == "There is no fleet home yet."
    assert commands({"FLEET_HOME": str(tmp_path / "none")})[:2] == ["fleet demo", "fleet init"]
    assert not (tmp_path / "none").exists()


def test_an_empty_queue_leads_to_create(env):
    """Nothing to watch, nothing to run: only a task helps."""
    assert next_steps(env)[0] == "The queue is empty."
    assert commands(env)[0].startswith("fleet bd create")


def test_a_queue_without_a_supervisor_leads_to_run_first(env, fleet):
    """Tasks wait, and nothing would ever begin."""
    fleet.queue.add(Draft(title="a"))
    words, _ = next_steps(env)
    assert words == "No supervisor runs, 1 open."
    assert commands(env)[:2] == ["fleet run", "fleet top"]


def test_a_question_comes_before_everything(env, fleet):
    """A person who only types `fleet` learns that an agent waits."""
    task = fleet.queue.add(Draft(title="a"))
    (lease,) = fleet.queue.claim("me", ttl=timedelta(minutes=1))
    settle(fleet.queue, lease, Blocked(waits=Asks(text="one, or two?")))
    assert commands(env)[0] == f'fleet answer {task.id} "…"'


def test_a_home_that_cannot_be_read_leads_to_the_doctor(env, fleet):
    """A broken setting is told, and the way to mend it."""
    fleet.home.config.write_text("max_concurrent = ")
    words, steps = next_steps(env)
    assert "runtime.toml" in words
    assert steps[0][0] == "fleet doctor"


@pytest.mark.parametrize("terminal", [True, False])
def test_a_pipe_is_told_where_to_go_as_a_terminal_is(env, monkeypatch, capsys, terminal):
    """`fleet | less` is no mistake, and no help stands behind the word Error."""
    monkeypatch.setenv("FLEET_HOME", env["FLEET_HOME"])
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal, raising=False)
    assert run_fleet([]) == 0
    printed = capsys.readouterr()
    assert "The queue is empty." in printed.out
    assert printed.err == ""


def test_a_group_without_a_command_shows_its_commands(capsys):
    """`fleet schedule` and nothing more: its help, and the exit code of a missing word."""
    assert run_fleet(["schedule"]) == 2
    printed = capsys.readouterr().err
    assert printed.startswith("Usage: fleet schedule")
    assert "remove" in printed
    assert "Error" not in printed
