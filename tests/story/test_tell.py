"""`fleet tell` and the tripwire through the real supervisor, with agents that play a script."""

import json

import pytest

from tests.builders import trust_coders
from tests.fakes import FAKES

TEXT = "Use the other table, please."


def notes(scene, task, kind):
    lines = map(json.loads, scene.lines(task, "events.jsonl"))
    return [line for line in lines if line["kind"] == kind]


def prompt(scene, task, run):
    return (scene.folder(task) / f"runs/{run}/prompt").read_text()


def test_a_message_for_a_task_that_does_not_run_goes_into_its_next_prompt(scene):
    """Once, as new, and later sessions that remember nothing are told of it too."""
    task = scene.add("copy:prompt tool exit:1 | copy:prompt tool done end")
    done = scene.fleet("tell", task, TEXT)
    assert f"Told {task}: the message waits for the task's next run." in done.stdout
    assert f"{TEXT} (waits)" in scene.fleet("show", task).stdout
    scene.supervise()
    scene.until_status(task, "closed")
    assert prompt(scene, task, 1).count(TEXT) == 1
    assert prompt(scene, task, 2).count(TEXT) == 1
    assert len(notes(scene, task, "fleet_told")) == 1
    (given,) = notes(scene, task, "told_delivered")
    assert given["to_run"] == 1
    assert f"{TEXT} (run 1)" in scene.fleet("show", task).stdout


def test_an_agent_that_cannot_hear_is_told_with_its_next_run(scene):
    """The command says so at once, and what was not read is said in the log."""
    task = scene.add("mark:here await:go tool exit:1 | copy:prompt tool done end")
    scene.supervise()
    scene.until_marked(task, "here")
    done = scene.fleet("tell", task, TEXT)
    assert "waits for its next run" in done.stdout
    assert f"fleet tell --now {task}" in done.stdout
    scene.until(lambda: notes(scene, task, "fleet_told"))
    (scene.folder(task) / "go").touch()
    scene.until_status(task, "closed")
    assert TEXT in prompt(scene, task, 2)
    (left,) = scene.until_logged("told_undelivered")
    assert left["text"] == f"{task}: 1 message was not read; the next run is told"
    assert [note["to_run"] for note in notes(scene, task, "told_delivered")] == [2]


def test_a_message_after_the_last_word_is_not_promised_to_a_next_run(scene):
    """The work is done and no run follows: the person learns what to do instead."""
    task = scene.add("tool done mark:here await:go end")
    scene.supervise()
    scene.until_marked(task, "here")
    scene.fleet("tell", task, TEXT)
    scene.until(lambda: notes(scene, task, "fleet_told"))
    (scene.folder(task) / "go").touch()
    scene.until_status(task, "closed")
    (left,) = scene.until_logged("told_undelivered")
    way = f"the work is done. To have it changed: fleet review {task} --reject TEXT"
    assert left["text"].endswith(way)
    refused = scene.fleet("tell", task, TEXT)
    assert refused.returncode == 7
    assert f"{task} is closed: no agent would read the message" in refused.stderr
    assert f"fleet review {task} --reject" in refused.stderr
    assert len(notes(scene, task, "fleet_told")) == 1
    assert f"{TEXT} (not read)" in scene.fleet("show", task).stdout


def test_a_message_while_the_claim_is_verified_is_not_promised_to_a_run(scene, tmp_path):
    """The agent has ended. Whether a run follows is known once the work is verified."""
    go = tmp_path / "go"
    task = scene.add("tool done end", verify=(f"until [ -e {go} ]; do sleep 0.05; done",))
    scene.supervise()
    scene.until(lambda: notes(scene, task, "fleet_verifying"))
    told = scene.fleet("tell", task, TEXT)
    go.touch()
    assert "is read only if the task runs again" in told.stdout
    assert f"fleet review {task} --reject" in told.stdout
    scene.until_status(task, "closed")


def test_a_message_that_cannot_wait_stops_the_agent_and_costs_no_attempt(scene):
    """It is stopped in order, and the next run begins at once with the message."""
    task = scene.add("mark:here sleep:60 | copy:prompt tool done end")
    scene.supervise()
    scene.until_marked(task, "here")
    done = scene.fleet("tell", "--now", task, TEXT)
    assert "goes on with it" in done.stdout
    scene.until_status(task, "closed")
    assert TEXT in prompt(scene, task, 2)
    first = json.loads((scene.folder(task) / "runs/1/outcome.json").read_text())
    assert first["counts"] is False


def test_a_restart_tells_nothing_twice(scene):
    """Neither the agent nor its events, once it has written down how far it came."""
    task = scene.add("copy:prompt mark:here await:go tool done end")
    scene.fleet("tell", task, TEXT)
    process = scene.supervise()
    scene.until_marked(task, "here")
    noted = scene.folder(task) / "tells/noted.json"
    scene.until(lambda: noted.exists() and json.loads(noted.read_text()) == {"1": 1})
    scene.kill(process)
    scene.supervise()
    scene.until_logged("adopted")
    (scene.folder(task) / "go").touch()
    scene.until_status(task, "closed")
    assert len(notes(scene, task, "fleet_told")) == 1
    assert len(notes(scene, task, "told_delivered")) == 1


def test_a_run_that_never_started_has_read_nothing(scene):
    """What stood in its prompt waits again."""
    task = scene.add("copy:prompt tool done end", coder="late")
    scene.coder("late", 'argv = ["no-such-agent", "{prompt}"]\n')
    scene.fleet("tell", task, TEXT)
    process = scene.supervise()
    scene.until_logged("held")
    scene.kill(process)
    # Its keeper had begun, so it counts as given; had the keeper died first, it would not.
    (scene.folder(task) / "runs/1/started").unlink()
    assert f"{TEXT} (waits)" in scene.fleet("show", task).stdout


def test_empty_and_endless_messages_are_refused(scene):
    """With what to do instead."""
    task = scene.add()
    assert scene.fleet("tell", task, "  ").returncode == 2
    done = scene.fleet("tell", task, "x" * 9000)
    assert done.returncode == 2
    assert "Put it into a file" in done.stderr


def puppet(scene, *commands, more=()):
    """A task whose agent says that it ran these commands, one of them in two lines."""
    scene.configure(retry_limit=1)
    (scene.home.path / "coders/puppet.py").write_text((FAKES / "puppet.py").read_text())
    trust_coders(scene.home.path)
    calls = [
        {"kind": "tool_use", "calls": [{"id": f"c{n}", "name": "Bash", "input": {"command": text}}]}
        for n, text in enumerate(commands)
    ]
    lines = [f"echo '{json.dumps(call)}'" for call in (*calls, calls[0])]
    task = scene.add("m", coder="puppet")
    done = scene.fleet("bd", "update", task, "--description", "\n".join((*lines, *more)))
    assert done.returncode == 0, done.stderr
    return task


def test_the_tripwire_reports_and_lets_it_run(scene):
    """Each once, with its rule; what stays inside the directory is noted and not cried out."""
    task = puppet(scene, "rm -rf /srv/x", "rm -rf build", "ls", "git push -f")
    scene.supervise()
    scene.until_status(task, "blocked")
    met = notes(scene, task, "fleet_tripwire")
    assert [(note["rule"], note["grade"], note["tool"]) for note in met] == [
        ("rm-recursive", "high", "Bash"),
        ("rm-recursive", "low", "Bash"),
        ("git-force-push", "high", "Bash"),
    ]
    assert met[0]["command"] == "rm -rf /srv/x"
    assert not any(note["refusing"] for note in met)
    assert [line["rule"] for line in scene.log("tripwire")] == ["rm-recursive", "git-force-push"]


def test_the_tripwire_can_be_turned_off(scene):
    """By its key, for a project or for all."""
    scene.configure(tripwire="off")
    task = puppet(scene, "rm -rf /srv/x")
    scene.supervise()
    scene.until_status(task, "blocked")
    assert notes(scene, task, "fleet_tripwire") == []


@pytest.mark.parametrize(("tripwire", "status"), [("report", "blocked"), ("off", "closed")])
def test_what_destroys_elsewhere_is_in_the_receipt_and_waits_for_a_person(scene, tripwire, status):
    """A foreign directory is deleted, and the task was closed without a word about it."""
    scene.configure(tripwire=tripwire)
    close = 'bd close "$FLEET_TASK_ID" --reason "Freed some space"'
    loop = 'while read f; do rm -rf "$f"; done < dirs'
    task = puppet(scene, "rm -rf /tmp/other/node_modules", loop, more=[close])
    scene.supervise()
    ended = scene.until_status(task, "blocked", "closed")
    assert ended.status == status, ended.notes
    told = "outside of the project it ran `rm -rf /tmp/other/node_modules` deletes"
    assert (told in ended.notes) == (status == "blocked")
    receipt = scene.fleet("task", task, "receipt").stdout
    assert receipt.count("outside of the project") == (3 if status == "blocked" else 0)
