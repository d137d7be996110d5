"""The whole thing: `fleet bd create`, `fleet run`, a real agent CLI, and the task's end."""

import json
import re
import time

from tests.conftest import only_slow
from tests.real.house import CLOSE, TASK, WORK, hear
from tests.real.test_claude import error, windows
from tests.scripted_model import Call, Refuse, Say, ScriptedModel, Shell, Tokens


def test_claude_works_through_a_task(house):
    """Created, claimed, worked on in its directory, closed through the agent's own bd."""
    write = Call(tool="Write", input={"file_path": "a.txt", "content": "hi"})
    with ScriptedModel(write, CLOSE, Shell(command="env"), Say(text="Done.")) as model:
        here = house("claude", model)
        write.input["file_path"] = str(here.project / "a.txt")
        here.create("claude")
        here.fleet("run", "--until-idle")

        task = here.task()
        assert task["status"] == "closed"
        assert task["close_reason"].startswith("wrote it [run 1, unchecked, ")
        assert (here.project / "a.txt").read_text() == "hi"
        assert sorted(path.name for path in here.project.iterdir()) == ["a.txt"]
        ending = here.ending()
        assert ending["outcome"]["type"] == "Finished"
        assert ending["tool_calls"] >= 2
        assert ending["tokens"] > 0
        raw = (here.folder / "runs/1/stdout").read_text()
        assert "canary-5d1f" not in raw + str(model.requests)
        argv = (here.folder / "runs/1/run.json").read_text()
        assert "Write a.txt" not in argv


def test_codex_works_through_a_task(house):
    """The same from inside its sandbox."""
    with ScriptedModel(Shell(command="echo hi > a.txt"), CLOSE, Say(text="Done.")) as model:
        here = house("codex", model)
        here.create("codex")
        here.fleet("run", "--until-idle")
        assert here.task()["status"] == "closed"
        assert (here.project / "a.txt").read_text() == "hi\n"


def test_a_rate_limit_costs_no_attempt_and_is_waited_out(house):
    """The task goes back with the reset as its earliest time, and the coder cools."""
    resets = int(time.time()) + 3600
    refusal = Refuse(
        status=429,
        body=error("rate_limit_error", "limit"),
        headers=windows("rejected", "1.0", resets),
    )
    with ScriptedModel(refusal) as model:
        here = house("claude", model)
        here.create("claude")
        supervisor = here.supervise()
        said = hear(supervisor, "rate limit")
        supervisor.terminate()
        assert supervisor.wait(30) == 0
        assert "released: rate limit (five_hour)" in said
        assert here.task()["status"] == "open"
        assert here.ending()["counts"] is False
        assert here.cooling().keys() == {"claude"}


def test_a_denied_tool_is_named_with_the_setting(house):
    """Nothing hangs, and the reason says what to change."""
    with ScriptedModel(Shell(command="touch /nope"), Say(text="Could not.")) as model:
        here = house("claude", model)
        here.create("claude")
        here.fleet("run", "--until-idle")
        task = here.task()
        assert task["status"] == "blocked"
        assert "denied Bash" in task["notes"]
        assert "permissions" in task["notes"]


def test_the_window_that_a_cli_reported_counts_for_later_runs_of_the_model(house):
    """At 110,000 tokens of 900,000 no session ends; claude reports the window at a run's end."""
    note = Shell(command=f"bd show {TASK}", tokens=Tokens(fresh=1000, cached=110_000))
    with ScriptedModel(note, WORK, CLOSE, Say(text="Done.")) as model:
        here = house("claude", model)
        known = here.home / "context-windows.json"
        known.write_text('{"claude/sonnet": 900000}')
        here.configure(context_pressure_threshold_pct=50)
        here.create("claude")
        here.fleet("run", "--until-idle")
        assert here.ending()["outcome"]["type"] == "Finished"
        assert here.task()["status"] == "closed"
        said = re.findall(r'"contextWindow":([0-9]+)', here.runs[-1].stdout.read_text())
        assert json.loads(known.read_text()) == {"claude/sonnet": int(said[-1])}


@only_slow
def test_a_full_context_goes_on_in_a_fresh_session(house):
    """No attempt is counted; the second session closes the task."""
    note = Shell(command=f"bd show {TASK}", tokens=Tokens(fresh=1000, cached=190_000))
    with ScriptedModel(note, WORK, CLOSE, Say(text="Done.")) as model:
        here = house("claude", model)
        here.create("claude")
        here.fleet("run", "--until-idle")
        assert here.ending()["outcome"]["type"] == "ContextFull"
        assert here.ending()["counts"] is False
        assert here.task()["status"] == "closed"
