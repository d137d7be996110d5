"""A plan in a real home: killed while it is applied, and worked through to its acceptance."""

import os
import subprocess
import sys

import pytest

from fleet.queue.protocol import Filter
from tests.plans import DATA

#: Applies a plan in a process that kills itself before the n-th call of a function.
KILLED = """
import os, signal, sys
from fleet.queue.sql import dependencies, sql_queue
from fleet.__main__ import main
name, left = sys.argv[1], int(sys.argv[2])
owner = sql_queue.SqlQueue if name == "add" else dependencies
real = getattr(owner, name)
def counted(*words, **named):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*words, **named)
setattr(owner, name, counted)
sys.argv[1:] = ["plan", "apply", sys.argv[3], "--yes"]
sys.exit(main())
"""


def titles(scene):
    return sorted(task.title for task in scene.queue.find(Filter(include_closed=True)))


@pytest.mark.parametrize(("name", "number"), [("add", 3), ("insert", 3)])
def test_a_plan_whose_apply_is_killed_is_there_whole_or_not_at_all(scene, name, number):
    """And applied again, it is there once."""
    words = [sys.executable, "-c", KILLED, name, str(number), str(DATA / "reset.toml")]
    env = os.environ | {"FLEET_HOME": str(scene.home.path)}
    killed = subprocess.run(words, env=env, cwd=scene.project, capture_output=True)
    assert killed.returncode == -9, killed.stderr
    assert titles(scene) == []
    for _ in range(2):
        assert scene.fleet("plan", "apply", str(DATA / "reset.toml"), "--yes").returncode == 0
    assert len(titles(scene)) == 5


def test_a_plan_is_worked_through_in_its_order_and_its_epic_is_closed_at_the_end(scene):
    """Groups and epic end with the acceptance task, which is the last to run."""
    scene.configure(model="mark:ran tool done end")
    (scene.project / "TODO.md").write_text("- [ ] 1 Both\n  - [ ] 1.1 One\n  - [ ] 1.2 Two\n")
    applied = scene.fleet("plan", "apply", "TODO.md", "--format", "openspec", "--yes")
    assert applied.returncode == 0, applied.stderr
    epic = applied.stdout.partition(":")[0]
    assert scene.until_ended(scene.supervise("--until-idle")) == 0
    tasks = scene.queue.find(Filter(include_closed=True))
    assert {task.status for task in tasks} == {"closed"}
    assert scene.task(epic).close_reason == "all of its tasks are closed"
    ended = sorted((task for task in tasks if task.started_at), key=lambda task: task.closed_at)
    assert [task.title for task in ended] == ["One", "Two", "Acceptance: project"]
