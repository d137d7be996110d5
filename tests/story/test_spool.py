"""The drop box under a real supervisor: what agents ask is answered, and nothing else happens."""

import json
import sys

from fleet.home import task_json
from fleet.queue.sql.tracker.related import comments_of
from fleet.runs import agent_claim, follow_ups

#: Runs a command and keeps what it said and its exit code, each in a file of its own.
SAY = """
say() { into=$FLEET_ARTIFACT_DIR/$1; shift; "$@" >"$into" 2>&1; echo "exit $?" >>"$into"; }
"""


def scripted(scene, script, *lines, after="tool script end", **wishes):
    """A task whose agent runs commands of a shell."""
    task = scene.add(after.replace("script", f"script:{script}"), **wishes)
    (scene.folder(task) / script).write_text("\n".join(["set +e", SAY, *lines]))
    return task


def heard(scene, task, name):
    return (scene.folder(task) / "artifacts" / name).read_text()


def test_an_agent_asks_and_is_answered_or_refused(scene):
    """Through its own bd and fleet, and through a fleet that it calls past them."""
    other = scene.add("never", title="another")
    scene.queue.close_task(scene.task(other), by="me", reason="not to be claimed")
    past = f"env -u FLEET_SPOOL FLEET_HOME={scene.home.path} {sys.executable} -m fleet"
    task = scripted(
        scene,
        "script",
        "say show bd show $FLEET_TASK_ID",
        "say made bd create 'a follow-up' --silent",
        "say status fleet status",
        "echo typed in | say comment bd comment $FLEET_TASK_ID --stdin",
        "say config fleet config set permissions=bypass",
        "say verify fleet bd create x --verify 'touch owned'",
        f"say reopen bd reopen {other}",
        f"say tell fleet tell {other} hello",
        f"say delete bd delete {other} --force",
        f"say past {past} pause",
        f"say pastbd {past} bd delete {other} --force",
        f"say pastread {past} bd show $FLEET_TASK_ID",
        "say close bd close $FLEET_TASK_ID --reason all-done",
        verify=("test -e ok",),
        expect="any",
    )
    (scene.project / "ok").touch()
    process = scene.supervise("--until-idle")
    scene.until_status(task, "closed")
    assert "a task" in heard(scene, task, "show")
    assert heard(scene, task, "close").endswith("exit 0\n")
    for name in ("config", "verify", "reopen", "tell", "delete", "past", "pastbd"):
        said = heard(scene, task, name)
        assert said.endswith("exit 7\n"), said
        assert said.startswith("Error: "), said
    assert "running since" in heard(scene, task, "status")
    assert "a task" in heard(scene, task, "pastread")
    (comment,) = comments_of(scene.queue, [task])[task]
    assert (comment.author, comment.text) == (f"agent of {task}, run 1", "typed in\n")
    (made,) = follow_ups.of_task(scene.folder(task))
    assert heard(scene, task, "made") == f"{made}\nexit 0\n"
    assert task_json.read(scene.home, made).verify == ("test -e ok",)
    assert not (scene.home.path / "paused").exists()
    refused = scene.log("agent_refused")
    assert len(refused) == 7
    assert {line["by"] for line in refused} == {f"agent of {task}, run 1"}
    assert [line for line in scene.lines(task, "log.jsonl") if '"agent_refused"' in line]
    process.terminate()


def test_a_request_waits_for_the_next_supervisor(scene):
    """The agent waits, too; what it asked for is done once."""
    task = scripted(
        scene,
        "script",
        "touch $FLEET_TASK_DIR/asking",
        "say comment bd comment $FLEET_TASK_ID hello",
        "bd close $FLEET_TASK_ID",
        after="mark:here await:go tool script end",
    )
    process = scene.supervise()
    scene.until_marked(task, "here")
    scene.kill(process)
    (scene.folder(task) / "go").touch()
    spool = scene.run(task).spool
    scene.until(lambda: list(spool.glob("*.request")))
    scene.supervise()
    scene.until_status(task, "closed")
    assert len(comments_of(scene.queue, [task])[task]) == 1
    assert heard(scene, task, "comment").endswith("exit 0\n")


def test_a_claim_that_was_left_counts_without_a_supervisor(scene):
    """`fleet stop` finds it in the box, and judges by it."""
    task = scene.add("mark:here await:go tool done:left mark:said await:never")
    process = scene.supervise()
    scene.until_marked(task, "here")
    scene.kill(process)
    (scene.folder(task) / "go").touch()
    scene.until_marked(task, "said")
    run = scene.run(task)
    assert agent_claim.read(run.path).done is None
    assert scene.fleet("stop", task).returncode == 0
    assert agent_claim.read(run.path, by=run.spec().id).done == "left"


def test_nothing_in_a_box_holds_the_supervisor_up(scene):
    """Links, pipes, directories, floods: the honest request among them is answered."""
    settings = scene.home.path / "runtime.toml"
    before = settings.read_bytes()
    task = scripted(
        scene,
        "script",
        "cd $FLEET_SPOOL",
        "mkfifo pipe.request; mkdir -p full.request/x; ln -s /dev/zero link.request",
        "truncate -s 2M huge.request; printf nonsense > odd.request; : > empty.request",
        f"ln -s {settings} a.answer; printf x > a.request",
        "mkdir -p b.answer/x; printf x > b.request",
        "n=0; while [ $n -lt 120 ]; do : > .x$n; printf nonsense > j$n.request; n=$((n+1)); done",
        "rm -rf messages; ln -s / messages",
        "say close bd close $FLEET_TASK_ID --reason through",
    )
    scene.supervise()
    assert scene.until_status(task, "closed").close_reason.startswith("through")
    assert settings.read_bytes() == before
    next_one = scene.add()
    scene.until_status(next_one, "closed")


def test_what_an_agent_writes_in_the_place_of_the_record_is_not_believed(scene):
    """Only what the supervisor took out of the box is a claim."""
    task = scripted(
        scene,
        "script",
        """echo '{"done":"forged","by":"'$FLEET_RUN_ID'"}' > $FLEET_RUN_DIR/said.json""",
    )
    scene.configure(retry_limit=1)
    scene.supervise()
    scene.until_status(task, "blocked")
    receipt = json.loads((scene.run(task).path / "receipt.json").read_text())
    assert receipt.get("claim") is None
