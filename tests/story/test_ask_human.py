"""Questions under a supervisor that is killed: they wait, and each answer reaches its agent."""

import json
import shutil
import sys

import pytest

from fleet.home import AGENT_BIN
from fleet.runs.outcome_history import read_ending
from fleet.runs.questions import asked_json
from fleet.runs.run_directory import all_runs
from fleet.schemas import Closed, NeedsHuman, Released
from fleet.supervisor.start.agent_bin import TOOL_SERVER
from tests.builders import look_on
from tests.conftest import only_slow
from tests.contract.beads_home import pristine_home
from tests.story.scene import Scene
from tests.story.test_spool import heard, scripted

__all__ = ["pristine_home"]

CALL = {
    "jsonrpc": "2.0", "id": 1, "method": "tools/call",
    "params": {"name": "ask_human", "arguments": {"question": "Which?", "options": ["a", "b"]}},
}  # fmt: skip


def ask(scene):
    """A line of shell that asks as a CLI would, and keeps what the tool returned in `got`."""
    server = f"{sys.executable} -I -S {scene.home.path / AGENT_BIN / TOOL_SERVER} $FLEET_SPOOL"
    got = "$FLEET_ARTIFACT_DIR/got"
    hold = f"until [ -s {got} ]; do sleep 0.05; done"
    return f"{{ echo '{json.dumps(CALL)}'; {hold}; }} | {server} > {got}"


def until_asked(scene, task):
    scene.until(lambda: asked_json.open_question(scene.folder(task)))


def test_an_answer_reaches_its_agent_although_the_supervisor_was_killed(scene):
    """While the question waits; the next supervisor adopts the run, which is one run."""
    task = scripted(scene, "script", ask(scene), "bd close $FLEET_TASK_ID --reason all-done")
    look_on(scene.home.path)
    process = scene.supervise()
    until_asked(scene, task)
    scene.kill(process)
    assert "its agent goes on" in scene.fleet("answer", task, "2").stdout
    scene.until((scene.folder(task) / "artifacts/got").read_text)
    assert json.loads(heard(scene, task, "got"))["result"]["content"][0]["text"] == "b"
    scene.supervise()
    scene.until_status(task, "closed")
    assert len(list(all_runs(scene.folder(task)))) == 1
    assert scene.fleet("answer", task, "a").returncode == 7


def test_an_answer_between_the_parking_and_the_end_of_the_run_is_not_lost(scene):
    """The task is not blocked for a question that has its answer."""
    task = scripted(scene, "script", ask(scene), after="tool script mark:parked await:go end")
    scene.supervise()
    scene.until_marked(task, "parked")
    assert "Parked" in heard(scene, task, "got")
    (scene.folder(task) / "artifacts/got").unlink()
    scene.fleet("answer", task, "a")
    (scene.folder(task) / "go").touch()
    scene.until(lambda: read_ending(next(iter(all_runs(scene.folder(task))))))
    first = read_ending(next(iter(all_runs(scene.folder(task)))))
    assert isinstance(first.outcome, NeedsHuman)
    assert isinstance(first.settlement, Released)
    assert first.counts is False
    scene.until(lambda: len(list(all_runs(scene.folder(task)))) > 1)


def test_an_agent_that_goes_on_after_it_was_parked_is_ended(scene):
    """Its slot is free as promised, no attempt is counted, and the answer starts its next run. A
    killed supervisor does not give it time without end either.
    """
    task = scripted(scene, "script", ask(scene), after="tool script mark:parked sleep:600 end")
    scene.kill(_until_parked(scene, task))
    scene.supervise_hastily("parked=1")
    scene.until_status(task, "blocked")
    first = read_ending(next(iter(all_runs(scene.folder(task)))))
    assert first.outcome == NeedsHuman(question="Which?")
    assert (first.counts, first.attempts) == (False, 0)
    assert scene.log("asking")
    scene.fleet("answer", task, "a")
    scene.until(lambda: len(list(all_runs(scene.folder(task)))) > 1)


def test_a_task_whose_agent_goes_on_after_its_question_waits_for_the_answer(scene):
    """It commits and closes, as models do: the close is refused, and the question stays open."""
    close = "bd close $FLEET_TASK_ID --reason all-done 2> $FLEET_ARTIFACT_DIR/said; true"
    after = "tool script mark:parked end"
    task = scripted(
        scene, "script", ask(scene), "touch $FLEET_ARTIFACT_DIR/work", close, after=after
    )
    scene.supervise()
    scene.until_status(task, "blocked")
    assert "asks a person 'Which?'" in heard(scene, task, "said")
    asked = scene.fleet("questions").stdout
    assert "Which?" in asked, asked
    status = scene.fleet("status").stdout
    assert f"{task} a task: Which?" in status, status
    first = read_ending(next(iter(all_runs(scene.folder(task)))))
    assert (first.outcome, first.counts) == (NeedsHuman(question="QUESTION: Which?"), False)


def test_status_shows_a_question_whose_agent_waits_with_the_time_left(scene):
    """A slot is used, and the clock runs."""
    task = scripted(scene, "script", ask(scene))
    look_on(scene.home.path)
    scene.supervise()
    until_asked(scene, task)
    status = scene.fleet("status").stdout
    assert f"{task} a task: Which? (its agent waits for another " in status, status
    assert f'fleet answer {task} "…")' in status
    found = json.loads(scene.fleet("status", "--json").stdout)
    assert [each["id"] for each in found["needs_you"]] == [task]


def _until_parked(scene, task):
    process = scene.supervise()
    scene.until_marked(task, "parked")
    return process


@only_slow
@pytest.mark.timeout(600)
def test_on_beads_an_answer_written_by_hand_reaches_the_next_run(tmp_path, pristine_home):
    """`## A:` in Q&A.md, then `update --status open`: the next run finds the answer there."""
    shutil.copytree(pristine_home, tmp_path / "home")
    scene = Scene(tmp_path, queue="beads")
    try:
        steps = "tool ask:tabs end | read:Spaces tool done end"
        line = ("bd", "create", "--silent", "--coder", "actor", "--model", steps, "Choose")
        made = scene.fleet(*line, "--expect", "any", patience=200)
        assert made.returncode == 0, made.stderr
        task = made.stdout.strip()

        def endings():
            return [read_ending(run) for run in all_runs(scene.folder(task))]

        scene.supervise()
        scene.until(lambda: scene.log("blocked"), patience=200)
        (scene.folder(task) / "artifacts/Q&A.md").write_text("## A: Spaces.\n")
        told = scene.fleet("bd", "update", task, "--status", "open", "--assignee", "", patience=200)
        assert told.returncode == 0, told.stderr
        scene.until(lambda: scene.log("closed"), patience=200)
        first, second = endings()
        assert first.outcome == NeedsHuman(question="QUESTION: tabs")
        assert isinstance(second.settlement, Closed)
    finally:
        scene.close()
