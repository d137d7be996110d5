"""A receiver of OpenTelemetry sees each task with its runs, whatever is down or killed."""

import json
import os
from pathlib import Path

import pytest

from fleet.control.supervise.side_process import EXPORTER, is_running
from fleet.control.traces.exporter import EXPORTED
from fleet.runs.run_directory import Run
from fleet.runs.run_id import RunId
from fleet.runs.trace_ids import part_span, run_span, traceparent
from tests import warm
from tests.otlp_receiver import OtlpReceiver


@pytest.fixture
def receiver():
    receiver = OtlpReceiver()
    yield receiver
    receiver.close()


def settings(scene, url, more=""):
    text = scene.home.config.read_text()
    scene.home.config.write_text(f'{text}\n[otel]\nendpoint = "{url}"\n{more}\n')


def exporter(scene):
    """Start an exporter of its own; it ends with the scene."""
    with (scene.home.path / "screen").open("ab") as out, Path(os.devnull).open("rb") as empty:
        process = warm.start(
            ("otel", "run"), env=scene.env, cwd=scene.project, streams=(empty, out, out)
        )
    scene.supervisors.append(process)
    return process


def test_a_task_and_its_run_are_spans_of_one_trace(scene, receiver):
    """With the parts of the run below it, and the ids that the agent was given at its start."""
    settings(scene, receiver.url, 'headers = { Authorization = "env:RECEIVER_KEY" }')
    scene.env["RECEIVER_KEY"] = "Bearer 5d1f"
    task = scene.add(verify=["true"])
    scene.supervise("--until-idle")
    scene.until_status(task, "closed")
    receiver.until(lambda: receiver.named("verify 1"))
    names = {span.name: span for span in receiver.spans}
    assert set(names) == {"task", "run 1", "workspace", "agent", "verify 1"}
    assert len({span.trace for span in receiver.spans}) == 1
    assert names["task"].parent == ""
    assert names["run 1"].parent == names["task"].id
    for part in ("workspace", "agent", "verify 1"):
        assert names[part].parent == names["run 1"].id
        assert names["run 1"].start <= names[part].start <= names[part].end <= names["run 1"].end
    spec = Run(scene.folder(task) / "runs/1").spec()
    run = RunId.parse(spec.id)
    assert names["run 1"].id == run_span(run)
    assert names["run 1"].attributes["fleet.verdict"] == "checked"
    assert names["agent"].attributes["gen_ai.operation.name"] == "invoke_agent"
    assert names["agent"].resource["service.name"] == "fleet"
    given = traceparent(run, spec.trace.task_created)
    assert given == f"00-{names['agent'].trace}-{part_span(run, 'agent')}-01"
    assert receiver.headers[0]["Authorization"] == "Bearer 5d1f"


def test_an_endpoint_that_is_down_loses_nothing(scene, receiver):
    """Runs wait in their directories, `fleet otel` says why, and all of them arrive once."""
    receiver.status = 404
    settings(scene, receiver.url)
    tasks = [scene.add() for _ in range(3)]
    first = exporter(scene)
    scene.supervise("--until-idle")
    for task in tasks:
        scene.until_status(task, "closed")
    receiver.until(lambda: receiver.requests)
    scene.until((scene.home.path / "otel.json").exists)
    told = scene.fleet("otel", "status", "--json")
    assert told.returncode == 1
    status = json.loads(told.stdout)
    assert "404" in status["last"]["problem"]
    assert status["waiting"] == 3
    scene.kill(first)
    receiver.status = 200
    exporter(scene)
    receiver.until(lambda: len(receiver.named("task")) == 3)
    scene.until(lambda: scene.fleet("otel", "status").returncode == 0)
    assert len({span.id for span in receiver.spans}) == len(receiver.spans)


def test_a_kill_between_sending_and_noting_sends_the_same_spans_again(scene, receiver):
    """The receiver took them and no mark says so: the ids are the same, so they are one span."""
    settings(scene, receiver.url)
    task = scene.add()
    scene.supervise("--until-idle")
    scene.until_status(task, "closed")
    receiver.until(lambda: receiver.named("task"))
    mark = scene.folder(task) / "runs/1" / EXPORTED
    scene.until(lambda: mark.exists() and not is_running(scene.home, EXPORTER))
    mark.unlink()
    exporter(scene)
    receiver.until(lambda: len(receiver.named("task")) == 2)
    once, again = receiver.named("run 1")
    assert (once.trace, once.id, once.start, once.end) == (
        again.trace,
        again.id,
        again.start,
        again.end,
    )
    scene.until(mark.exists)
