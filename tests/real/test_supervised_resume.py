"""Sessions that are carried on: real CLIs that were cut off, and know of it in the next run."""

import shutil
import time
from pathlib import Path

import pytest

from tests.builders import a_program
from tests.conftest import coders, only_slow
from tests.real.house import CLOSE, Gate, hear, kill_run
from tests.scripted_model import Say, ScriptedModel, Shell, Stall, Tokens

#: One answer of the scripted model, in tokens.
ANSWER = sum(vars(Tokens()).values())


@pytest.fixture
def gate(tmp_path):
    return Gate(tmp_path)


def until_told(house, command):
    """Wait for the stream: a CLI may start a command before it tells of it."""
    end = time.monotonic() + 30
    while not any(command in str(event) for event in house.events("tool_use")):
        assert time.monotonic() < end
        time.sleep(0.05)


def until_recorded(house, command):
    """Wait for the CLI's own record of the session, which it writes some time after it speaks.

    A call whose answer is not in it yet is forgotten by the session that is carried on: so a test
    waits for the call that came after the answer which is to be remembered.
    """
    (started,) = house.events("session_started")
    end = time.monotonic() + 30
    while not any(
        command in path.read_text(errors="replace")
        for path in house.home.parent.rglob(f"*{started['session_id']}*.jsonl")
    ):
        assert time.monotonic() < end, f"it never recorded {command!r}"
        time.sleep(0.05)


@coders("codex")
def test_a_session_goes_on_where_it_was_cut_off(house, gate, coder):
    """Once: with its memory, the call that was open, and only its own tokens counted."""
    script = (Shell(command="echo plum"), Shell(command=gate.command), CLOSE, Say())
    with ScriptedModel(*script) as model:
        here = house(coder, model)
        here.configure(permissions="bypass", retry_limit=2)
        here.create(coder)
        supervisor = here.supervise("--until-idle")
        gate.reached()
        until_told(here, gate.command)
        until_recorded(here, gate.command)
        kill_run(here.runs[0])
        assert supervisor.wait(90) == 0

        first, second = here.ending(1), here.ending(2)
        assert first["outcome"]["type"] == "Lost"
        assert any(gate.command in call for call in first["cut_off"])
        assert here.task()["status"] == "closed"
        assert second["session_id"] == first["session_id"]
        assert second["resumed"] is True
        # The session's memory, how it ended, and what was cut off.
        talk = str(model.requests[-2])
        assert "echo plum" in talk
        told = talk.split("carried on in the same session")[1]
        assert "its keeper was killed" in told
        assert gate.command in told
        # Two answers, whatever the session as a whole had used.
        assert 0 < second["tokens"] <= 2 * ANSWER


@coders("codex")
def test_a_model_that_falls_silent_ends_the_run_and_the_session_goes_on(house, coder):
    """Nothing of the CLI moves, so it is ended; the same session is asked again."""
    with ScriptedModel(Shell(command="echo plum"), Stall(), CLOSE, Say()) as model:
        here = house(coder, model)
        here.configure(permissions="bypass", retry_limit=2, idle_limit="6s")
        here.create(coder)
        here.fleet("run", "--until-idle")

        first, second = here.ending(1), here.ending(2)
        assert (first["outcome"]["type"], first["outcome"]["rung"]) == ("Stalled", "silent")
        assert here.task()["status"] == "closed"
        assert second["session_id"] == first["session_id"]
        assert len(here.events("fleet_stalled")) == 1


@coders("claude")
def test_a_run_stopped_before_its_first_line_keeps_the_session(house, gate, tmp_path, coder):
    """Ctrl-C a second after a restart: the next run still knows what the first one did."""
    start, held = Gate(tmp_path, "start"), tmp_path / "held"
    script = (Shell(command="echo plum"), Shell(command=gate.command), CLOSE, Say())
    with ScriptedModel(*script) as model:
        here = house(coder, model)
        program = shutil.which(coder, path=here.env["PATH"])
        wait = f'[ ! -e {held} ] || {{ rm {held}; {start.command}; }}; exec {program} "$@"'
        shim = Path(a_program(tmp_path / "bin" / coder, wait))
        here.env["PATH"] = f"{shim.parent}:{here.env['PATH']}"
        here.configure(permissions="bypass", retry_limit=3)
        here.create(coder)
        supervisor = here.supervise()
        gate.reached()
        until_told(here, gate.command)
        until_recorded(here, gate.command)
        held.touch()
        kill_run(here.runs[0])
        start.reached()
        supervisor.terminate()
        assert supervisor.wait(30) is not None
        here.fleet("run", "--until-idle")

        first, second, third = here.ending(1), here.ending(2), here.ending(3)
        assert (second["outcome"]["type"], second["session_id"]) == ("Stopped", "")
        assert (third["resumed"], third["session_id"]) == (True, first["session_id"])
        talk = str(model.requests[-2])
        assert "echo plum" in talk
        assert "its keeper was killed" in talk.split("carried on in the same session")[1]
        assert here.task()["status"] == "closed"


@only_slow
@coders("codex")
def test_a_session_that_is_gone_is_begun_afresh_and_costs_nothing(house, gate, coder):
    """What the CLI kept of it was deleted: one more run, no attempt, and the task is done."""
    with ScriptedModel(Shell(command=gate.command), CLOSE, Say()) as model:
        here = house(coder, model)
        here.configure(permissions="bypass", retry_limit=2, retry_wait_s=4)
        here.create(coder)
        supervisor = here.supervise()
        gate.reached()
        until_told(here, gate.command)
        kill_run(here.runs[0])
        hear(supervisor, "failed: lost")
        supervisor.kill()
        supervisor.wait()  # until it is gone it is the home's only one
        for home, kept in (("CLAUDE_CONFIG_DIR", "projects"), ("CODEX_HOME", "sessions")):
            shutil.rmtree(f"{here.env[home]}/{kept}", ignore_errors=True)
        here.fleet("run", "--until-idle")

        gone = here.ending(2)
        assert gone["outcome"]["reason"] == "session_not_found"
        assert (gone["counts"], gone["attempts"]) == (False, 1)
        assert here.ending(3)["resumed"] is False
        assert here.task()["status"] == "closed"


@only_slow
def test_claude_minds_its_own_budget(house):
    """It tells what it cost only at the end, so it is told what it may cost."""
    with ScriptedModel(*[Shell(command="echo plum", tokens=Tokens(fresh=100_000))] * 9) as model:
        here = house("claude", model)
        here.configure(permissions="bypass", cost_limit="$0.50")
        here.create("claude")
        here.fleet("run", "--until-idle")
        ending = here.ending()
        assert (ending["outcome"]["type"], ending["outcome"]["limit"]) == ("LimitExceeded", "cost")
        assert ending["cost_usd"] < 2


def test_claude_without_a_server_that_it_needs_is_ended_before_it_asks_its_model_twice(house):
    """The task is blocked with the name; without the need the same run goes on, and says so."""
    with ScriptedModel(CLOSE, Say()) as model:
        here = house("claude", model)
        here.configure(permissions="bypass")
        broken = '{"mcpServers":{"db":{"command":"false"}}}'
        (here.project / ".mcp.json").write_text(broken)
        settings = here.project / ".claude"
        settings.mkdir()
        (settings / "settings.json").write_text('{"enableAllProjectMcpServers":true}')
        here.fleet("config", "set", "--project", str(here.project), "needs=mcp:db")
        here.create("claude")
        here.fleet("run", "--until-idle")
        ending = here.ending()
        assert (ending["outcome"]["type"], ending["outcome"]["rung"]) == ("Stalled", "degraded")
        assert ending["counts"] is False
        assert "mcp:db" in here.task()["notes"]
