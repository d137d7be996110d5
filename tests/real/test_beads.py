"""The real `bd` in a real home: what init leaves alone, what is stored, and what wakes us."""

import json
import os
import shutil
import subprocess
from contextlib import closing
from datetime import timedelta

import pytest

from fleet.bd.beads_create import create
from fleet.bd.beads_forward import forward
from fleet.queue.beads.bd_cli.bd_database import init_beads
from fleet.queue.beads.queue import open_beads
from fleet.queue.protocol import Draft, Filter
from fleet.schemas import Closed, Settings
from tests.conftest import need, often, only_slow
from tests.contract.beads_home import HOME, fingerprint
from tests.settled import settled

TTL = timedelta(minutes=5)


@pytest.fixture
def queue(beads_home):
    with closing(open_beads(beads_home)) as queue:
        yield queue


def test_a_home_inside_a_users_repository_leaves_it_untouched(pristine_home, tmp_path):
    """Neither init nor later writes change the repository around the home, and init can repeat."""
    need("git")
    repository = shutil.copytree(pristine_home.parent, tmp_path / "project")
    home = repository / HOME
    before = json.loads((home / "before.json").read_text())
    assert ".git/HEAD" in before
    assert init_beads(home) is False
    assert init_beads(home, force=True) is False
    with closing(open_beads(home)) as queue:
        task = queue.add(Draft(title="t"))
        (lease,) = queue.claim("a", ttl=TTL)
        assert settled(queue, lease, Closed(reason="done")).id == task.id
    after = fingerprint(repository)
    assert {path: after[path] for path in before} == before
    assert all(path.startswith(f"{HOME}/") for path in after.keys() - before.keys())


def test_text_is_stored_as_it_is(queue):
    """Titles and texts that look like flags, markup or nothing at all come back unchanged."""
    titles = ["--help", "two\nlines", "'\"`$(id)` \\ %s"]
    titles += ["-x", "--metadata={}", "[red]x[/red]", "-"][: often(0, 4)]
    for title in titles:
        queue.add(
            Draft(title=title, description="-", notes="--json", assignee="-a", labels=('a"b',))
        )
    tasks = queue.find(Filter())
    assert [task.title for task in tasks] == titles
    assert {(t.description, t.notes, t.assignee, t.labels) for t in tasks} == {
        ("-", "--json", "-a", ('a"b',))
    }


def test_a_long_description_is_stored_whole(queue):
    """More than the kernel lets pass as one argument."""
    long = "ü line\n" * 30_000
    assert queue.get(queue.add(Draft(title="t", description=long)).id).description == long


@only_slow
def test_a_plan_is_recorded_with_its_directory(beads_home, queue, tmp_path):
    """Every task of `--file` and `--graph` has its settings, beside metadata of its own."""
    here = Settings(cwd="/srv/project", coder="codex")
    (tmp_path / "plan.md").write_text("## One\n\nfirst\n\n## Two\n\nsecond\n")
    nodes = [{"key": "a", "title": "A", "metadata": {"own": "1"}}, {"key": "b", "title": "B"}]
    (tmp_path / "graph.json").write_text(json.dumps({"nodes": nodes, "edges": []}))
    for args in (["--file", "plan.md"], ["--graph=graph.json"]):
        made = create(beads_home, args, here, invoked_in=tmp_path)
        assert (made.code, len(made.tasks)) == (0, 2)
    tasks = {task.title: task for task in queue.find(Filter())}
    assert set(tasks) == {"One", "Two", "A", "B"}
    assert {(task.cwd, task.coder) for task in tasks.values()} == {("/srv/project", "codex")}
    assert tasks["A"].metadata["own"] == "1"


def test_a_users_create_is_bds_own(beads_home, queue):
    """Separate values, short flags, own metadata and a quick capture all arrive."""
    here = Settings(cwd="/srv")
    args = ["-p", "1", "--title", "T", "--metadata", '{"n": 1}', "-l", "a,b", "--json"]
    made = create(beads_home, args, here)
    quick = create(beads_home, ["quick", "one", "-p0"], here, verb="q")
    assert json.loads(made.out)["id"] == made.tasks[0].id
    task, other = queue.get(made.tasks[0].id), queue.get(quick.tasks[0].id)
    assert (task.priority, task.labels, task.metadata["n"], task.cwd) == (1, ("a", "b"), 1, "/srv")
    assert (other.title, other.priority, other.cwd) == ("quick one", 0, "/srv")


def test_a_bare_bd_wakes_a_waiting_queue(beads_home, queue):
    """A write behind our back is news, reading is not, and neither costs us a process."""
    bd = need("bd")
    task_id = queue.add(Draft(title="t")).id
    while queue.wait(timedelta(0)):
        pass
    queue.find(Filter(ready=True))
    assert queue.wait(timedelta(0)) is False
    subprocess.run(
        [bd, "update", task_id, "--priority=0"],
        cwd=beads_home,
        env={**os.environ, "BD_NON_INTERACTIVE": "1"},
        check=True,
        capture_output=True,
        timeout=60,
    )
    assert queue.wait(timedelta(seconds=20)) is True


def test_no_reclaim_can_take_a_task_from_a_run(beads_home, queue, capfd):
    """Where bd leases by itself, fleet's claims carry no lease that others could call stale."""
    version = queue.tracker.client.version
    if version is None or version < (1, 3, 0):
        pytest.skip("this bd has no leases of its own")
    task_id = queue.add(Draft(title="t")).id
    (lease,) = queue.claim("a", ttl=TTL)
    assert forward(beads_home, ["reclaim", "--older-than=0s", "--json"]) == 0
    assert queue.get(task_id).assignee == "a"
    assert forward(beads_home, ["show", task_id, "--json"]) == 0
    assert "lease_expires_at" not in capfd.readouterr().out
    assert lease.task.id == task_id


def test_bds_exit_code_is_passed_on(beads_home, capfd):
    """An unknown task is bd's own error, in bd's words."""
    assert forward(beads_home, ["show", "fleet-nope"]) == 1
    assert "fleet-nope" in capfd.readouterr().err
