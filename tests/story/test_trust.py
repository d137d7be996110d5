"""Verify commands that came with a task from elsewhere run only once the operator trusts them."""

import json
from datetime import datetime, timedelta

import pytest


@pytest.fixture
def marker(tmp_path):
    """The file that a stranger's verify command would leave."""
    return tmp_path / "ran"


def exported(scene, path, marker, task_id="fleet-abc"):
    """A file of `bd export` with a task whose verify command leaves a file."""
    settings = {
        "cwd": str(scene.project), "coder": "actor", "model": "mark:here tool done end",
        "verify": [f"touch {marker}"],
    }  # fmt: skip
    row = {"id": task_id, "title": "a stranger's", "metadata": {"fleet": settings}}
    path.write_text(json.dumps(row) + "\n")
    return task_id


def test_an_imported_verify_command_waits_for_the_operator(scene, tmp_path, marker):
    """`metadata.fleet.verify` in a JSONL file used to run on the machine of every importer."""
    file = tmp_path / "tasks.jsonl"
    task = exported(scene, file, marker)
    assert scene.fleet("bd", "import", str(file)).returncode == 0
    assert scene.until_ended(scene.supervise("--until-idle")) == 0
    assert (scene.status(task), scene.runs(task), marker.exists()) == ("open", [], False)
    for words in (["show", task], ["ready"]):
        assert f"fleet trust {task}" in scene.fleet(*words).stdout, words
    assert f"touch {marker}" in scene.fleet("trust").stdout
    (listed,) = json.loads(scene.fleet("ready", "--json").stdout)
    assert listed["untrusted"] == [f"touch {marker}"]
    assert scene.fleet("trust", task).returncode == 0
    assert scene.until_ended(scene.supervise("--until-idle")) == 0
    assert scene.status(task) == "closed"
    assert marker.exists()


def test_a_whole_file_is_trusted_at_once_and_a_changed_command_is_not(scene, tmp_path, marker):
    """The operator who made the export says so once."""
    file = tmp_path / "tasks.jsonl"
    task = exported(scene, file, marker)
    scene.fleet("bd", "import", str(file))
    assert scene.fleet("trust", "--all-from", str(file)).returncode == 0
    assert json.loads(scene.fleet("trust", "--json").stdout) == []
    scene.queue.add_metadata(task, {"fleet": {"cwd": str(scene.project), "verify": ["rm -r /"]}})
    assert [each["id"] for each in json.loads(scene.fleet("trust", "--json").stdout)] == [task]


def test_no_other_command_makes_a_strangers_command_the_operators_own(scene, tmp_path, marker):
    """A new budget would write the whole of its settings into task.json, which is trusted."""
    file = tmp_path / "tasks.jsonl"
    task = exported(scene, file, marker)
    scene.fleet("bd", "import", str(file))
    for words in (
        ["bd", "update", task, "--budget", "$5"],
        ["retry", task, "--budget", "$5"],
        ["compare", task, "--with", "actor:a", "--with", "actor:b"],
    ):
        refused = scene.fleet(*words)
        assert refused.returncode == 7, (words, refused.stderr)
        assert f"fleet trust {task}" in refused.stderr
    assert not (scene.folder(task) / "task.json").exists()


def test_what_is_made_here_needs_no_trust(scene, marker):
    """Normal use is as before, also if task.json was not written yet when the task is claimed."""
    words = ["--coder", "actor", "--model", "tool done end", "--verify", f"touch {marker}"]
    made = scene.fleet("bd", "create", "mine", *words, "--json")
    task = json.loads(made.stdout)["id"]
    (scene.folder(task) / "task.json").unlink()
    assert scene.until_ended(scene.supervise("--until-idle")) == 0
    assert scene.status(task) == "closed"
    assert marker.exists()


def test_a_run_until_idle_does_not_wait_for_a_coder_that_is_not_trusted(scene):
    """After an upgrade no coder file is trusted: the task was released each minute, for ever."""
    (scene.home.path / "coders/mine.toml").write_text('argv = ["true"]\nprompt = "stdin"\n')
    task = scene.add("done", coder="mine")
    supervisor = scene.supervise("--until-idle")
    assert scene.until_ended(supervisor) == 0
    assert (scene.status(task), scene.runs(task)) == ("open", [])
    said = scene.fleet("log", "20", "--json").stdout
    assert (
        "1 task waits for you (fleet status): no person has trusted the file of the coder mine"
        in said
    )
    (released,) = scene.log("released")
    again = scene.queue.get(task).not_before
    assert again > datetime.fromisoformat(released["ts"]) + timedelta(minutes=30)
    for words in ("status", "ready"):
        assert "fleet coders trust mine" in scene.fleet(words).stdout
    scene.supervise()
    assert scene.fleet("coders", "trust", "mine").returncode == 0
    scene.until(lambda: scene.runs(task))
