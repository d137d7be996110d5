"""What a simulated agent prints, and how fleet reads it."""

import io
import json
from datetime import timedelta

import pytest

from fleet import coders
from fleet.coders.base import Options
from fleet.coders.stream.run_totals import RunTotals
from fleet.demo import simulated_agent
from fleet.demo.script import CODER, CONTEXT, KILLED_DURING, OTHER_CODER, TASKS
from fleet.demo.simulated_agent import (
    Agent,
    Session,
    SimulatedCoder,
    add_coders,
    both_sides,
    cue_file,
    find_task,
)
from fleet.schemas import Finished, RateLimited
from tests.builders import NOW, a_task


def read(printed: str) -> RunTotals:
    """What fleet makes of an agent's lines."""
    coder, reading = SimulatedCoder(), RunTotals()
    for line in printed.splitlines():
        event = coder.read(line, NOW)
        assert event is not None
        assert event.kind not in ("unknown", "bad"), line
        reading.add(event)
    return reading


def test_a_simulated_agent_that_ends_well_is_read_as_finished():
    """The stream is one that fleet's own reader knows, line by line."""
    out = io.StringIO()
    session = Session("steady", out)
    session.text("I begin.")
    session.result(session.call("Write", file_path="a.py"), "written")
    session.end("Done.")
    reading = read(out.getvalue())
    assert (reading.tools.count, reading.tools.open, reading.model) == (1, {}, "steady")
    assert reading.session_id == session.id
    assert SimulatedCoder().outcome(reading, 0, None) == Finished(text="Done.")


def test_a_simulated_limit_is_read_with_its_reset():
    """Fleet waits for the moment that the stream names."""
    out = io.StringIO()
    reset = NOW + timedelta(seconds=4)
    session = Session("throttled", out)
    session.rate_limit(reset.timestamp())
    session.end("You've hit your limit", refused=429)
    outcome = SimulatedCoder().outcome(read(out.getvalue()), 1, None)
    assert isinstance(outcome, RateLimited)
    assert outcome.limit.resets_at == reset


def test_a_simulated_context_grows_with_every_answer():
    """It is what fleet ends a session for."""
    out = io.StringIO()
    session = Session("wordy", out)
    session.text("a little")
    before = read(out.getvalue()).tokens.context_tokens
    session.context += CONTEXT
    session.text("a lot")
    assert before is not None
    assert before < CONTEXT < read(out.getvalue()).tokens.context_tokens


def test_every_line_names_its_session():
    """As the original's do."""
    out = io.StringIO()
    session = Session("steady", out)
    session.text("x")
    session.end("y")
    assert {json.loads(line)["session_id"] for line in out.getvalue().splitlines()} == {session.id}


@pytest.mark.parametrize("name", [CODER, OTHER_CODER])
def test_the_simulated_coders_are_found_in_the_demos_home_only(tmp_path, name):
    """No user can choose one by mistake."""
    assert name not in coders.names(tmp_path)
    add_coders(tmp_path)
    coder = coders.make(name, "curious", home=tmp_path)
    assert (coder.name, coder.model) == (name, "curious")
    assert coders.problems(tmp_path) == {}
    assert name not in coders.names()


def test_the_agent_whose_supervisor_is_killed_waits_until_its_run_was_adopted(
    tmp_path, monkeypatch, capsys
):
    """On a busy machine the next supervisor comes late; the demo is to show the adoption anyway."""
    pauses, ran = [], []
    cue = cue_file(tmp_path, KILLED_DURING)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(simulated_agent.tempfile, "tempdir", str(tmp_path))

    def pause(seconds):
        pauses.append(seconds)
        if len(pauses) == 20:
            cue.touch()

    def run(argv):
        ran.append((argv[:2], cue.exists()))
        raise SystemExit

    monkeypatch.setattr(simulated_agent.time, "sleep", pause)
    monkeypatch.setattr(simulated_agent, "_run", run)
    task = next(task for task in TASKS if task.key == KILLED_DURING)
    env = {"FLEET_ARTIFACT_DIR": str(tmp_path / "artifacts")}
    agent = Agent(f"# Task demo-1: {task.title}", task.behaviour, env)
    with pytest.raises(SystemExit):
        simulated_agent.BEHAVIOURS[task.behaviour](agent)
    assert ran == [(("git", "add"), True)]
    assert len(pauses) == 20
    capsys.readouterr()


MARKED = """\
# bookshelf

<<<<<<< HEAD
Commands: lend
{base}=======
Commands: find
>>>>>>> main
"""


@pytest.mark.parametrize("base", ["", "||||||| 1a2b3c4\nCommands: none yet\n"])
def test_a_line_in_conflict_is_resolved_for_both_sides(base):
    """Whether git shows what both began with or not."""
    assert both_sides(MARKED.format(base=base)) == "# bookshelf\n\nCommands: find, lend\n"


def test_a_session_is_carried_on_under_its_own_name(tmp_path, monkeypatch, capsys):
    """The prompt of a resumed session names no title: the session remembers its task."""
    monkeypatch.setattr(simulated_agent.tempfile, "tempdir", str(tmp_path))
    env = {"FLEET_ARTIFACT_DIR": str(tmp_path / "artifacts")}
    task = find_task("Lend a book")
    first = Agent(f"# Task demo-1: {task.title}", task.behaviour, env)
    coder = SimulatedCoder(task.behaviour)
    coder.options = Options(resume=first.session.id)
    *_, option, session = coder.build_argv(a_task(), tmp_path)
    assert option == "--resume"
    again = Agent("You are carried on in the same session.", task.behaviour, env, resume=session)
    assert (again.task, again.task_id) == (task, "demo-1")
    assert (first.first_run, again.first_run) == (True, False)
    assert again.session.id == first.session.id
    capsys.readouterr()
