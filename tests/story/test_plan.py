"""A plan in a real home: killed while it is applied, and worked through to its acceptance."""

import json
import os
import subprocess
import sys

import pytest

from fleet.queue.protocol import Filter
from fleet.runs.outcome_history import read_ending
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


PLAN = """
format = "fleet.plan/1"
title = "A shelf of books"
[[task]]
key = "store"
title = "Keep the books"
body = "In a file."
coder = "actor"
model = "tool done end"
verify = ["true"]
[[task]]
key = "list"
title = "List the books"
body = "All of them."
after = ["{after}"]
coder = "actor"
model = "tool done end"
"""


def test_an_agents_plan_is_checked_revised_and_approved_by_a_person(scene):
    """A plan that cannot be read goes back with its line; a good one waits for a person."""
    goal = scene.project / "GOAL.md"
    goal.write_text("# A shelf\n\nPeople want to see their books.\n")
    runs = "script:1 tool done end | script:2 tool done end | copy:told script:2 tool done end"
    made = scene.fleet("plan", "write", "GOAL.md", "--coder", "actor", "--model", runs)
    assert made.returncode == 0, made.stderr
    task = made.stdout.split()[1].rstrip(":")
    for number, plan in ((1, PLAN.format(after="nothing")), (2, PLAN.format(after="store"))):
        (scene.folder(task) / f"plan.{number}").write_text(plan)
        copy = f'cp "$FLEET_TASK_DIR/plan.{number}" "$FLEET_ARTIFACT_DIR/PLAN.toml"\n'
        (scene.folder(task) / str(number)).write_text(copy)

    assert scene.until_ended(scene.supervise("--until-idle")) == 0
    first, second = (read_ending(run) for run in scene.runs(task))
    assert first.broke == ("plan_unusable",)
    assert "PLAN.toml:11: list waits for 'nothing'" in first.why
    assert second.broke == ()
    assert scene.status(task) == "blocked"
    asked = scene.fleet("questions").stdout
    assert all(f"fleet plan {verb} {task}" in asked for verb in ("approve", "revise", "cancel"))
    assert "fleet answer" not in asked
    assert f"fleet plan approve {task}" in scene.fleet("status").stdout
    assert "store → list" in scene.fleet("plan", "show", task).stdout
    assert "fleet plan approve" in scene.fleet("answer", task, "approve").stderr

    assert scene.fleet("plan", "revise", task, "Fewer books").returncode == 0
    assert scene.until_ended(scene.supervise("--until-idle")) == 0
    assert "Fewer books" in (scene.run(task).path / "told").read_text()
    assert scene.fleet("plan", "approve", task).returncode == 7, "unseen"
    approved = scene.fleet("plan", "approve", task, "--yes")
    assert ": 3 made, 1 of them for acceptance." in approved.stdout
    assert scene.status(task) == "closed"
    again = scene.fleet("plan", "approve", task)
    (epic,) = [t.id for t in scene.open_tasks() if t.issue_type == "epic"]
    assert again.returncode == 7, "once only"
    assert f"fleet bd children {epic}" in again.stderr

    scene.configure(model="tool done end")
    assert scene.until_ended(scene.supervise("--until-idle")) == 0
    assert scene.open_tasks() == []
    (last,) = [t for t in scene.queue.find(Filter(include_closed=True)) if "acceptance" in t.labels]
    assert "People want to see their books." in last.description


def test_a_plan_that_is_not_wanted_makes_nothing(scene):
    """Its task is closed, and that is all."""
    (scene.project / "GOAL.md").write_text("A shelf\n")
    runs = "script:1 tool done end"
    made = scene.fleet("plan", "write", "GOAL.md", "--coder", "actor", "--model", runs, "--json")
    task = json.loads(made.stdout)["id"]
    assert scene.fleet("plan", "cancel", task).returncode == 7, "there is no plan yet"
    (scene.folder(task) / "plan").write_text(PLAN.format(after="store"))
    (scene.folder(task) / "1").write_text(
        'cp "$FLEET_TASK_DIR/plan" "$FLEET_ARTIFACT_DIR/PLAN.toml"'
    )
    assert scene.until_ended(scene.supervise("--until-idle")) == 0
    assert scene.fleet("plan", "cancel", task).returncode == 0
    assert [t.id for t in scene.queue.find(Filter(include_closed=True))] == [task]
    assert scene.task(task).close_reason == "the plan was cancelled"
