"""A login that fails by itself gets no work, through the real supervisor."""

import json
from datetime import datetime

from tests.story.scene import ACTOR, WORK

CRASH = "tool exit:3"


def accounts(scene):
    return json.loads((scene.home.path / "accounts.json").read_text())


def test_a_missing_program_holds_its_coder_and_keeps_its_tasks(scene):
    """Nothing is blocked or counted, it is said once, and once mended all of them run."""
    program = scene.home.path / "agent"
    scene.coder("absent", f'argv = ["{program}", "{{prompt}}"]\n')
    scene.configure(max_concurrent=1)
    tasks = [scene.add(WORK, coder="absent") for _ in range(3)]
    scene.supervise()
    scene.until(lambda: all(scene.task(task).not_before for task in tasks))
    assert [scene.status(task) for task in tasks] == ["open"] * 3
    assert sum(len(scene.runs(task)) for task in tasks) == 1
    assert all(scene.lines(task, ".failures") == [] for task in tasks)
    (said,) = scene.until_logged("held")
    assert "absent gets no work: its program cannot be run" in said["text"]
    assert "In 1m one task tries it" in said["text"]
    assert "fleet account resume absent" in said["text"]
    for words in (("status",), ("tasks",), ("doctor",)):
        done = scene.fleet(*words)
        assert "absent" in done.stdout + done.stderr, words
        assert "fleet account resume absent" in done.stdout + done.stderr, words
    shown = scene.fleet("show", tasks[0]).stdout
    assert ": absent gets no work: its program cannot be run" in " ".join(shown.split())

    scene.coder("absent", ACTOR)
    done = scene.fleet("resume", "--coder", "absent")
    assert "absent gets work again; 3 tasks waited for it." in done.stdout, done.stderr
    for task in tasks:
        scene.until_status(task, "closed")
    assert scene.fleet("resume", "--coder", "absent").returncode == 7


def test_others_go_on_while_one_coder_is_held(scene):
    """Only the tasks of that coder wait."""
    scene.coder("absent", 'argv = ["no-such-agent", "{prompt}"]\n')
    held = scene.add(WORK, coder="absent")
    scene.supervise()
    scene.until(lambda: scene.task(held).not_before)
    scene.until_status(scene.add(WORK), "closed")
    assert scene.status(held) == "open"


def test_a_supervisor_that_waits_for_a_held_coder_only_is_idle(scene):
    """`--until-idle` ends and says what is left, instead of waiting for a program to appear."""
    scene.coder("absent", 'argv = ["no-such-agent", "{prompt}"]\n')
    task = scene.add(WORK, coder="absent")
    assert scene.until_ended(scene.supervise("--until-idle")) == 0
    assert scene.status(task) == "open"
    (said,) = scene.log("idle")
    until = json.loads(scene.fleet("status", "--json").stdout)["held"][0]["until"]
    at = f"{datetime.fromisoformat(until).astimezone():%H:%M:%S}"
    assert f"1 task waits, until {at} at the earliest (fleet status): " in said["text"]
    assert "absent gets no work: its program cannot be run" in said["text"]


def test_crashes_open_it_and_a_probe_decides(scene):
    """Five tasks break; the sixth waits and pays nothing; one probe fails, the next succeeds."""
    scene.configure(max_concurrent=1, retry_limit=1)
    # A script is the model here, so that all of these are one model's runs.
    script = f"{CRASH} | {CRASH} | {WORK}"
    broken = [scene.add(script) for _ in range(5)]
    scene.supervise()
    for task in broken:
        scene.until_status(task, "blocked")
    (said,) = scene.until_logged("held")
    assert "its runs break" in said["text"]
    waits = scene.add(script)
    scene.until(lambda: scene.task(waits).not_before)
    assert scene.runs(waits) == []

    def let_probe():
        """The pause is over, and the task's own wait too."""
        known = accounts(scene)
        (record,) = known["actor"]["faults"].values()
        record["hold"]["until"] = "2020-01-01T00:00:00Z"
        (scene.home.path / "accounts.json").write_text(json.dumps(known))
        assert scene.fleet("retry", waits).returncode == 0

    let_probe()
    scene.until_logged("held", 2)
    scene.until(lambda: scene.status(waits) == "open")
    assert "still gets no work: its runs break" in scene.log("held")[1]["text"]
    assert "In 10m one task tries it" in scene.log("held")[1]["text"]
    assert scene.lines(waits, ".failures") == []
    let_probe()
    scene.until(lambda: len(scene.runs(waits)) == 2 and scene.status(waits) == "open")
    let_probe()
    scene.until_status(waits, "closed")
    assert len(scene.until_logged("works_again")) == 1
    assert len(scene.runs(waits)) == 3
    assert accounts(scene)["actor"]["faults"] == {}


def test_a_restart_holds_what_was_held(scene):
    """The next supervisor gives it no work either, and does not say it again."""
    scene.coder("absent", 'argv = ["no-such-agent", "{prompt}"]\n')
    scene.add(WORK, coder="absent")
    process = scene.supervise()
    scene.until_logged("held")
    scene.kill(process)
    later = scene.add(WORK, coder="absent")
    scene.supervise()
    scene.until(lambda: scene.task(later).not_before)
    assert scene.runs(later) == []
    assert len(scene.log("held")) == 1
