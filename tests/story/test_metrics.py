"""Figures for Prometheus: read by its own parser, true of what ran."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from fleet.queue.protocol import Draft


def figures(scene):
    """Each sample by its name and labels."""
    done = scene.fleet("metrics")
    assert done.returncode == 0, done.stderr
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(done.stdout)
        for sample in family.samples
    }


def test_the_figures_are_those_of_the_home(scene):
    """Runs by how they ended, tasks by status, and a supervisor that is gone is told."""
    scene.configure(retry_limit=1)
    scene.add("tool done end")
    scene.add("tool end")
    scene.until_ended(scene.supervise("--until-idle"))
    waiting = scene.add()
    found = figures(scene)
    assert found["fleet_supervisor_up",] == 0
    assert found["fleet_tasks", ("status", "closed")] == 1
    assert found["fleet_ready_tasks",] == 1
    ended = {key[1:]: value for key, value in found.items() if key[0] == "fleet_runs_total"}
    assert sum(ended.values()) >= 2
    assert any(("verdict", "unchecked") in labels for labels in ended)
    assert found["fleet_run_duration_seconds_count", ("coder", "actor")] == sum(ended.values())
    assert not any(waiting in str(key) for key in found), "a task is no label"


def test_an_autoscaler_sees_what_one_more_host_could_begin(scene):
    """By the labels that tasks need; a task of one host starts no pilot."""
    for own in ({}, {"needs": ["host:gpu"]}, {"needs": ["host:gpu", "mcp:x"]}, {"host": "alpha"}):
        scene.queue.add(Draft(title="t", metadata={"fleet": own}))
    scene.queue.add(Draft(title="t", metadata={"fleet": {"made_on": "home1"}}))
    found = figures(scene)
    assert found["fleet_ready_tasks",] == 5
    assert found["fleet_placeable_tasks", ("labels", "")] == 1
    assert found["fleet_placeable_tasks", ("labels", "gpu")] == 2


def test_the_text_file_is_written_in_one_step(scene, tmp_path):
    """node_exporter takes only files of its own name, and never half of one."""
    assert scene.fleet("metrics", "--textfile", str(tmp_path / "fleet.txt")).returncode == 2
    path = tmp_path / "fleet.prom"
    assert scene.fleet("metrics", "--textfile", str(path)).returncode == 0
    assert "fleet_build_info" in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_queue_that_fails_is_a_figure(scene):
    """The person who is paged for it gets figures, and no error in their place."""
    pytest.importorskip("psycopg")
    scene.configure(queue="postgresql://fleet@127.0.0.1:1/none")
    assert figures(scene)["fleet_queue_up",] == 0
