"""Pilots: the templates of docs/operations, as a scheduler runs them."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import closing, suppress
from pathlib import Path

import psutil
import pytest

from fleet.queue.protocol import Draft
from fleet.queue.sql.hosts import host_table
from fleet.queue.sql.postgres import open_postgres
from fleet.runs.outcome_history import history
from tests.conftest import missing, only_slow
from tests.machines.slurm import Slurm, missing_program
from tests.story.scene import ACTOR, processes_of

PILOTS = Path(__file__).parents[2] / "docs" / "operations"


@pytest.fixture
def slurm():
    if tool := missing_program():
        missing(tool)
    root = tempfile.mkdtemp(prefix="fleet-slurm-", dir="/run")
    found = Slurm(root)
    try:
        found.start()
        yield found
    finally:
        found.close()
        shutil.rmtree(root, ignore_errors=True)


@pytest.fixture
def site(tmp_path):
    """What a site prepares: fleet on the PATH, and a script that adds its coder."""
    (tmp_path / "bin").mkdir()
    (program := tmp_path / "bin" / "fleet").write_text(
        f'#!/bin/sh\nexec {sys.executable} -m fleet "$@"\n'
    )
    program.chmod(0o755)
    (tmp_path / "actor.toml").write_text(ACTOR)
    (setup := tmp_path / "setup").write_text(
        f'mkdir -p "$FLEET_HOME/coders" && cp {tmp_path}/actor.toml "$FLEET_HOME/coders/"\n'
        "fleet coders trust actor && fleet config set sandbox=off work_in=directory\n"
    )
    return {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "FLEET_PILOT_SETUP": str(setup)}


@pytest.fixture
def queue(new_postgres_dsn):
    with closing(open_postgres(new_postgres_dsn)) as found:
        yield found


def add(queue, cwd, script, label):
    own = {"cwd": str(cwd), "coder": "actor", "model": script, "needs": [f"host:{label}"]}
    return queue.add(Draft(title="t", metadata={"fleet": own})).id


@only_slow
def test_the_slurm_pilot_works_through_a_queue_and_gives_back_what_is_cancelled(
    slurm, site, queue, new_postgres_dsn, tmp_path
):
    """Two jobs share the work and end by themselves; a third is cancelled in the middle of its
    task, which is open again at once.
    """
    slurm.env["PATH"] = f"{site['PATH']}:{slurm.env['PATH']}"
    wishes = {"FLEET_QUEUE": new_postgres_dsn, "FLEET_PILOT_SETUP": site["FLEET_PILOT_SETUP"]}
    tasks = [add(queue, tmp_path, "work:1 tool done end", "slurm") for _ in range(6)]
    template = PILOTS / "pilot.slurm.sh"
    jobs = [slurm.submit(template, **wishes, FLEET_MAX_IDLE="1s") for _ in range(2)]
    for job in jobs:
        slurm.until(lambda job=job: slurm.state(job) not in ("PENDING", "RUNNING"), 90)
        assert slurm.state(job) == "COMPLETED", slurm.output(job)
    said = "\n".join(map(slurm.output, jobs))
    assert {queue.get(each).status for each in tasks} == {"closed"}, said
    assert {host.name for host in host_table.hosts(queue)} == {f"slurm-{job}" for job in jobs}
    assert not Path(f"/tmp/fleet-pilot-{jobs[0]}").exists()

    (tmp_path / "ledger").unlink()
    endless = add(queue, tmp_path, "work:600 tool done end", "slurm")
    job = slurm.submit(template, **wishes)
    try:
        slurm.until((tmp_path / "ledger").exists)
        slurm.ask("scancel", job)
        slurm.until(lambda: queue.get(endless).status == "open")
        assert queue.get(endless).attempts == 0
        slurm.until(lambda: slurm.state(job) == "CANCELLED")
    finally:
        shutil.rmtree(f"/tmp/fleet-pilot-{job}", ignore_errors=True)


@only_slow
def test_the_pilot_of_any_scheduler_gives_its_task_back_when_it_is_told_to_end(
    site, queue, new_postgres_dsn, tmp_path
):
    """Kubernetes and Nomad send SIGTERM to the script: no job of theirs has failed by that, and
    nothing of the home is left.
    """
    done = add(queue, tmp_path, "tool done end", "pilot")
    endless = add(queue, tmp_path, "work:600 tool done end", "pilot")
    env = {**os.environ, **site, "FLEET_QUEUE": new_postgres_dsn, "TMPDIR": str(tmp_path)}
    pilot = subprocess.Popen(["sh", PILOTS / "pilot.sh"], env=env, stdin=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 60
        while not (tmp_path / "ledger").exists() or queue.get(done).status != "closed":
            assert time.monotonic() < end
            time.sleep(0.1)
        pilot.terminate()
        assert pilot.wait(60) == 0
    finally:
        pilot.kill()
        pilot.wait()
    assert queue.get(endless).status == "open"
    assert not list(tmp_path.glob("fleet-pilot-*"))


def test_a_signal_to_every_process_of_a_job_costs_no_attempt(scene):
    """Slurm's scancel tells agents and keepers as well as the supervisor: that is its shutdown, and
    no failure of the run.
    """
    task_id = scene.add("mark:here tool await:never | tool done end")
    supervisor = scene.supervise()
    scene.until_marked(task_id, "here")
    others = [each for each in processes_of(scene.home.path) if each.pid != supervisor.pid]
    supervisor.terminate()
    for process in others:
        with suppress(psutil.NoSuchProcess):  # the supervisor was quicker
            process.terminate()
    assert supervisor.wait(30) == 0
    assert scene.status(task_id) == "open"
    assert history(scene.folder(task_id)).attempts == 0


def test_the_templates_are_what_schedulers_read():
    """And say what the product can do: labels and figures that there are."""
    yaml = pytest.importorskip("yaml")
    job, scaled = (
        yaml.safe_load((PILOTS / f"pilot.{name}.yaml").read_text())
        for name in ("kubernetes", "autoscaler")
    )
    pods = (job["spec"]["template"], scaled["spec"]["jobTargetRef"]["template"])
    for pod in pods:
        (container,) = pod["spec"]["containers"]
        assert container["command"] == ["sh", "/pilot/pilot.sh"]
        known = (PILOTS / "pilot.sh").read_text()
        assert all(f"# {each['name']} " in known for each in container["env"])
    (trigger,) = scaled["spec"]["triggers"]
    assert "fleet_placeable_tasks{labels=" in trigger["metadata"]["query"]
    for script in ("pilot.sh", "pilot.slurm.sh"):
        shell = "bash" if "slurm" in script else "sh"
        assert subprocess.run([shell, "-n", PILOTS / script], check=False).returncode == 0
