"""What lies in a run's directory and was not written by fleet is a finding, and is never obeyed."""

import json

import msgspec
import pytest

from fleet.queue.sql.edit_task import Change, edit
from fleet.runs import closed_by_hand, receipt_json
from fleet.schemas import Closed, Finished
from tests.builders import an_ending

#: What a forger writes, by the name of the record.
ENDING = msgspec.json.encode(
    an_ending(Finished(), Closed(reason="forged"), why="forged", fence=1)
).decode()
EXIT = json.dumps(
    {"code": 0, "seconds": 1.0, "started_at": "2026-11-16T00:00:00Z",
     "ended_at": "2026-11-16T00:00:01Z"}
)  # fmt: skip
VERIFY = json.dumps({"id": "x", "argv": ["/bin/sh", "-c", "false"], "cwd": "/"})
FORGERIES = {
    "outcome.json": f"printf '%s' '{ENDING}' > outcome.json",
    "receipt.json": "echo '{}' > receipt.json",
    "stop_reason.json": """echo '{"type":"Stopped","by":"a person"}' > stop_reason.json""",
    "run.json": 'sed -i \'s/"base":.*/"base":null}/; s/false/true/\' run.json',
    "verify": f"mkdir -p verify/1 && cd verify/1 && echo '{VERIFY}' > run.json"
    f" && echo '{EXIT}' > exit.json",
}


def tamper(scene, task_id, script):
    """The agent runs this in the directory of its run, before it claims to be done."""
    (scene.folder(task_id) / "script").write_text(f'cd "$FLEET_RUN_DIR"\n{script}\n')


def check_blocked(scene, task_id, name):
    """Blocked for a person, with the finding on the receipt; not closed, and not tried again."""
    task = scene.until_status(task_id, "blocked", "closed")
    assert task.status == "blocked"
    assert task.notes.startswith("tampered: ")
    assert name in task.notes
    assert f"fleet retry {task_id}" in task.notes
    (run,) = scene.runs(task_id)
    found = receipt_json.read(run).verdict.trespasses
    assert {finding.rule for finding in found} == {"tampered"}
    assert name in found[0].what


@pytest.mark.parametrize("name", FORGERIES)
def test_what_an_agent_writes_among_the_records_is_a_finding(scene, name):
    """The supervisor remembers what it started; a forged record changes nothing but the verdict."""
    task = scene.add("tool done script:script end", verify=("false",))
    tamper(scene, task, FORGERIES[name])
    scene.supervise()
    check_blocked(scene, task, name)


@pytest.mark.parametrize("name", ["outcome.json", "run.json", "verify"])
def test_a_forged_record_is_found_by_the_next_supervisor_too(scene, name):
    """Memory is gone after a `kill -9`; the seals in the home are not."""
    task = scene.add("tool script:script mark:here await:go done end", verify=("false",))
    tamper(scene, task, FORGERIES[name])
    first = scene.supervise()
    scene.until_marked(task, "here")
    scene.kill(first)
    scene.supervise()
    scene.until_logged("started", 2)
    (scene.folder(task) / "go").touch()
    check_blocked(scene, task, name)


def test_a_command_of_a_forged_record_is_not_run(scene):
    """The next supervisor does not do what an agent wrote into run.json."""
    pwned = scene.project / "pwned"
    task = scene.add("tool script:script done mark:here await:go end", verify=("true",))
    tamper(scene, task, f"""sed -i 's|"verify":."true".|"verify":["touch {pwned}"]|' run.json""")
    first = scene.supervise()
    scene.until_marked(task, "here")
    assert str(pwned) in (scene.run(task).path / "run.json").read_text()
    scene.kill(first)
    scene.supervise()
    check_blocked(scene, task, "run.json")
    assert not pwned.exists()


def test_settings_that_are_changed_during_a_run_are_for_the_next_one(scene):
    """A person may edit task.json; the run that is at work is held to what it began with."""
    task = scene.add("tool mark:here await:go done end", verify=("false",))
    scene.configure(retry_limit=2)
    scene.supervise()
    scene.until_marked(task, "here")
    path = scene.folder(task) / "task.json"
    path.write_text(path.read_text().replace('["false"]', "[]"))
    (scene.folder(task) / "go").touch()
    scene.until_status(task, "closed")
    first, second = scene.runs(task)
    assert not receipt_json.read(first).checks_passed
    assert receipt_json.read(first).checks
    assert not receipt_json.read(second).checks


def test_a_mark_of_a_person_that_an_agent_forged_closes_nothing(scene):
    """A task that was closed past fleet is opened again, whatever lies beside it."""
    task = scene.add("mark:here sleep:60 | tool done end")
    scene.supervise()
    scene.until_marked(task, "here")
    (scene.folder(task) / closed_by_hand.FILE).write_text("2099-01-01T00:00:00+00:00 ada\n")
    edit(scene.queue, task, Change(status="closed", force=True), actor="an agent")
    (told,) = scene.until_logged("reopened")
    assert "closed past fleet" in told["text"]
    scene.until_status(task, "closed")


def test_a_stop_without_a_supervisor_is_no_forgery(scene):
    """What `fleet stop` writes is fleet's, and the next supervisor settles by it."""
    task = scene.add("tool mark:here await:go done end")
    first = scene.supervise()
    scene.until_marked(task, "here")
    scene.kill(first)
    assert scene.fleet("stop", task).returncode == 0
    scene.supervise()
    assert "stopped by" in scene.until_status(task, "blocked").notes
