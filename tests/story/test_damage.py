"""Damage of any kind, at every stage, costs the task that it befalls and never the fleet.

Many damaged tasks share one supervisor: had one of them harmed it, the others would tell.
"""

import pytest

from tests.conftest import SLOW, often, only_slow
from tests.story.damage import OF_RUN, OF_TASK, PARTS, cases, spoil
from tests.story.scene import WORK

#: For all tasks of one supervisor together.
PATIENCE = often(90, 400)


class Ordeal:
    """Tasks of one scene, each with a file that is to be spoiled, and a victim outside."""

    def __init__(self, scene):
        self.scene = scene
        self.victim = scene.project.parent / "outside/victim"
        self.victim.parent.mkdir()
        self.victim.write_text("precious")
        self.go = scene.project.parent / "go"
        self.here = scene.project.parent / "here"
        self.spoiled = {}
        scene.configure(retry_limit=1, max_concurrent=100, idle_limit="60s")

    def task(self, script, **wishes):
        """A task whose agent waits for `go` where its script says `WAIT`."""
        waiting = f"mark:{self.here} await:{self.go}"
        return self.scene.add(script.replace("WAIT", waiting), **wishes)

    def tasks(self, script, part, **wishes):
        """A task for each case; the paths are below the task's directory."""
        every = [*OF_TASK, *(f"runs/1/{name}" for name in OF_RUN)]
        for name, kind in cases(every, part):
            self.spoiled[self.task(script, **wishes)] = (name, kind)

    def until_all_wait(self):
        def waiting():
            return self.here.exists() and len(self.here.read_text().splitlines())

        self.scene.until(lambda: waiting() == len(self.spoiled), PATIENCE)

    def spoil(self):
        for task_id, (name, kind) in self.spoiled.items():
            spoil(self.scene.folder(task_id) / name, kind, self.victim)

    def until_settled(self):
        try:
            self.scene.until(lambda: self.scene.log("crashed") or not self.open_tasks(), PATIENCE)
            assert not self.open_tasks()
        except AssertionError:
            left = {self.spoiled[each] for each in self.open_tasks()}
            raise AssertionError(f"not settled: {left}\n{self.scene.screen()}") from None

    def open_tasks(self):
        return [each for each in self.spoiled if self.scene.status(each) in ("open", "in_progress")]

    def check(self, supervisor):
        """The fleet is whole: others are served, nothing was followed, a signal ends it."""
        scene = self.scene
        scene.until_status(scene.add(WORK), "closed", patience=PATIENCE)
        assert scene.log("crashed") == []
        assert scene.log("queue_failed") == []
        assert self.victim.read_text() == "precious"
        assert {path.name for path in self.victim.parent.iterdir()} == {"victim"}
        supervisor.terminate()
        assert scene.until_ended(supervisor, PATIENCE) == 0
        for task_id, case in self.spoiled.items():
            task = scene.task(task_id)
            assert task.status != "blocked" or task.notes, case
            if task.notes.startswith(("damaged", "invalid")):
                assert str(scene.folder(task_id)) in task.notes, case
                assert f"fleet retry {task_id}" in task.notes, case


def parts(usual):
    """One part of the cases in every test run, another one for each stage; all in `make slow`."""
    return pytest.mark.parametrize("part", range(PARTS) if SLOW else (usual,))


@pytest.fixture
def ordeal(scene):
    return Ordeal(scene)


@parts(0)
def test_damage_under_a_running_agent_costs_that_task_alone(ordeal, part):
    """Whatever its agent does to the records of a run while the run lives."""
    ordeal.tasks("tool WAIT done end", part)
    supervisor = ordeal.scene.supervise()
    ordeal.until_all_wait()
    ordeal.spoil()
    ordeal.go.touch()
    ordeal.until_settled()
    ordeal.check(supervisor)


@only_slow
@parts(1)
def test_damage_before_a_task_begins_costs_that_task_alone(ordeal, part):
    """A pipe or a link that lies where a run's files will be."""
    ordeal.tasks(WORK, part)
    ordeal.spoil()
    supervisor = ordeal.scene.supervise()
    ordeal.until_settled()
    ordeal.check(supervisor)


@only_slow
@parts(2)
def test_damage_between_two_runs_costs_that_task_alone(ordeal, part):
    """The records of earlier runs are read before the next one begins."""
    ordeal.scene.configure(retry_limit=2, retry_wait_s=1)
    ordeal.tasks("tool end|tool done end", part)
    supervisor = ordeal.scene.supervise()
    ordeal.scene.until_logged("released", len(ordeal.spoiled))
    ordeal.spoil()
    ordeal.until_settled()
    ordeal.check(supervisor)


@only_slow
@parts(3)
def test_damage_while_no_supervisor_is_there_costs_that_task_alone(ordeal, part):
    """The next supervisor adopts what it can, and gives up the rest in a sentence."""
    ordeal.tasks("tool WAIT done end", part)
    first = ordeal.scene.supervise()
    ordeal.until_all_wait()
    ordeal.scene.kill(first)
    ordeal.spoil()
    supervisor = ordeal.scene.supervise()
    ordeal.scene.until_logged("started", 2)
    ordeal.go.touch()
    ordeal.until_settled()
    ordeal.check(supervisor)


@parts(4)
def test_damage_under_a_run_that_is_told_to_stop_costs_that_task_alone(ordeal, part):
    """The agent is deaf to the signal, and spoils its records meanwhile."""
    ordeal.tasks("tool deaf WAIT done end", part)
    supervisor = ordeal.scene.supervise()
    ordeal.until_all_wait()
    for task_id in ordeal.spoiled:
        ordeal.scene.queue.request(task_id, "stop", asked_by="a person")
    ordeal.scene.until_logged("stopping", len(ordeal.spoiled))
    ordeal.spoil()
    ordeal.until_settled()
    ordeal.check(supervisor)


@parts(5)
def test_damage_under_a_verify_command_costs_that_task_alone(ordeal, part):
    """The agent is gone, its verify command is at work, and something spoils the records."""
    wait = f"echo x >> {ordeal.here}; while ! test -e {ordeal.go}; do sleep 0.05; done"
    ordeal.tasks(WORK, part, verify=(wait,))
    supervisor = ordeal.scene.supervise()
    ordeal.until_all_wait()
    ordeal.spoil()
    ordeal.go.touch()
    ordeal.until_settled()
    ordeal.check(supervisor)


@parts(6)
def test_every_command_copes_with_damage(ordeal, part):
    """No command hangs or breaks on a task's files: it shows what it can, or says what is wrong."""
    scene = ordeal.scene
    ordeal.tasks("tool WAIT done end", part)
    first = scene.supervise()
    ordeal.until_all_wait()
    scene.kill(first)
    ordeal.spoil()
    for words in (("tasks",), ("status",), ("usage",), ("stats",), ("doctor",), ("ready",)):
        check_told(scene.fleet(*words), words)
    asked = ["show ID", "task ID receipt", "stop ID"]
    asked += ["task ID events", "task ID stderr", "retry ID"] if SLOW else []
    for task_id, case in ordeal.spoiled.items():
        for line in asked:
            words = line.replace("ID", task_id).split()
            check_told(scene.fleet(*words), (line, case))
    check_told(scene.fleet("stop", "--all", "--now"), "stop --all --now")
    assert ordeal.victim.read_text() == "precious"
    assert {path.name for path in ordeal.victim.parent.iterdir()} == {"victim"}


def check_told(done, words):
    """The command ended by itself, with an answer or with an error that names what is wrong."""
    assert "Traceback" not in done.stderr, (words, done.stderr)
    assert done.returncode >= 0, words
    assert done.returncode == 0 or done.stderr or done.stdout, words
