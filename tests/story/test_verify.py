"""Nothing is closed because an agent says so: verify commands and receipts, with real processes."""

import json
import os
import signal
import subprocess
import time

import psutil

from fleet.cli.run.run import NEEDS_YOU
from fleet.runs import receipt_json
from fleet.schemas import LimitWishes
from tests.repos import Repo
from tests.story.scene import PATIENCE, Scene


def receipt(scene, task_id, number=-1):
    return receipt_json.read(scene.runs(task_id)[number])


def until(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)


def test_a_claim_is_closed_once_the_operators_command_passes(tmp_path):
    """It runs in the task's directory, and the receipt says so."""
    scene = Scene(tmp_path)
    task_id = scene.add(verify=("pwd", "test -d ."))
    assert scene.supervise("--until-idle").wait(PATIENCE) == 0
    assert scene.status(task_id) == "closed"
    assert scene.task(task_id).close_reason.endswith(
        f"[run 1, checked: fleet task {task_id} receipt]"
    )
    first, second = receipt(scene, task_id).checks
    assert (first.code, first.tail, second.code) == (0, str(scene.project), 0)
    assert receipt(scene, task_id).verdict.state == "checked"


def test_without_a_claim_no_command_runs_and_none_is_said_to(tmp_path):
    """The first run claimed nothing; the second one did."""
    scene = Scene(tmp_path)
    Repo(scene.project).commit(a="1\n")
    task_id = scene.add("tool end | tool done end", verify=("true",))
    assert scene.supervise("--until-idle").wait(PATIENCE) == 0
    lines = (scene.folder(task_id) / "events.jsonl").read_text().splitlines()
    said = [event for line in lines if (event := json.loads(line))["kind"] == "fleet_verifying"]
    assert [event["commands"] for event in said] == [[], ["true"]]
    assert [len(receipt(scene, task_id, number).checks) for number in (0, 1)] == [0, 1]


def test_a_failed_command_goes_back_to_a_fresh_agent_with_what_it_printed(tmp_path):
    """The second agent is told, and does it right."""
    scene = Scene(tmp_path)
    task_id = scene.add(
        "tool done end | copy:told tool mark:right done end",
        verify=('echo "no right file" >&2; test -e right',),
        cwd=tmp_path,
    )
    (tmp_path / "right").symlink_to(scene.folder(task_id) / "right")
    assert scene.supervise("--until-idle").wait(PATIENCE) == 0
    assert scene.status(task_id) == "closed"
    assert [run.verdict.state for run in (receipt(scene, task_id, 0), receipt(scene, task_id))] == [
        "rejected",
        "checked",
    ]
    prompt = (scene.run(task_id).path / "told").read_text()
    assert "verify_failed" in prompt
    assert "no right file" in prompt


def test_at_the_limit_the_task_is_blocked_as_rejected(tmp_path):
    """With what failed, for a person."""
    scene = Scene(tmp_path, retry_limit=2)
    task_id = scene.add(verify=("false",))
    assert scene.supervise("--until-idle").wait(PATIENCE) == NEEDS_YOU
    task = scene.task(task_id)
    assert task.status == "blocked"
    assert "verify_failed: `false` ended with 1 (attempt 2 of 2)" in task.notes


def test_a_command_that_hangs_is_ended_with_all_that_it_started(tmp_path):
    """The limit is the operator's; nothing is left."""
    scene = Scene(tmp_path, retry_limit=1, verify_limit="1s")
    task_id = scene.add(verify=("sleep 300 & echo $! > left; wait",))
    assert scene.supervise("--until-idle").wait(PATIENCE) == NEEDS_YOU
    (check,) = receipt(scene, task_id).checks
    assert check.timed_out
    assert not psutil.pid_exists(int((scene.project / "left").read_text()))


def test_what_a_command_leaves_behind_is_swept(tmp_path):
    """A server in the background does not outlive the check."""
    scene = Scene(tmp_path)
    task_id = scene.add(verify=("setsid sleep 300 & echo $! > left",))
    assert scene.supervise("--until-idle").wait(PATIENCE) == 0
    assert scene.status(task_id) == "closed"
    assert not psutil.pid_exists(int((scene.project / "left").read_text()))


def test_a_command_does_not_see_the_agents_logins(tmp_path):
    """Nor whatever else the supervisor's user exported."""
    scene = Scene(tmp_path)
    scene.env |= {"ANTHROPIC_API_KEY": "canary-1", "SOMETHING": "canary-2", "FLEET_TASK_ID": "x"}
    task_id = scene.add(verify=("env",))
    assert scene.supervise("--until-idle").wait(PATIENCE) == 0
    (attempt,) = (scene.run(task_id).path / "verify").iterdir()
    printed = (attempt / "stdout").read_text()
    assert "canary" not in printed
    assert "FLEET_TASK_ID" not in printed
    assert "PATH=" in printed


def test_a_supervisor_that_dies_meanwhile_costs_nothing(tmp_path):
    """The command runs on, once, and the next supervisor finds how it ended."""
    scene = Scene(tmp_path)
    verify = "echo x >> count; while ! test -e go; do sleep 0.05; done"
    task_id = scene.add(verify=(verify,))
    first = scene.supervise()
    until((scene.project / "count").exists)
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    second = scene.supervise("--until-idle")
    time.sleep(0.3)
    (scene.project / "go").touch()
    assert second.wait(PATIENCE) == 0
    assert scene.status(task_id) == "closed"
    assert (scene.project / "count").read_text() == "x\n"
    assert len(scene.runs(task_id)) == 1


def test_a_shutdown_leaves_the_verifying_to_the_next_supervisor(tmp_path):
    """No agent is started again for it, and no attempt is lost."""
    scene = Scene(tmp_path)
    task_id = scene.add(verify=("echo x >> count; test -e go || sleep 300",))
    first = scene.supervise()
    until((scene.project / "count").exists)
    first.send_signal(signal.SIGINT)
    assert first.wait(PATIENCE) == 0
    assert scene.status(task_id) == "in_progress"
    (scene.project / "go").touch()
    assert scene.supervise("--until-idle").wait(PATIENCE) == 0
    assert scene.status(task_id) == "closed"
    assert len(scene.runs(task_id)) == 1


def test_a_task_can_be_stopped_while_it_is_verified(tmp_path):
    """It is blocked, as a stopped one is."""
    scene = Scene(tmp_path)
    task_id = scene.add(verify=("touch began; sleep 300",))
    supervisor = scene.supervise()
    until((scene.project / "began").exists)
    assert scene.fleet("stop", task_id).returncode == 0
    assert scene.status(task_id) == "blocked"
    assert "stopped by" in scene.task(task_id).notes
    supervisor.send_signal(signal.SIGTERM)
    assert supervisor.wait(PATIENCE) == 0


def test_the_receipt_is_shown(tmp_path):
    """For people, and as JSON."""
    scene = Scene(tmp_path)
    task_id = scene.add(verify=("echo fine",), limits=LimitWishes(turns=7))
    assert scene.supervise("--until-idle").wait(PATIENCE) == 0
    shown = scene.fleet("task", task_id, "receipt").stdout
    assert "run 1: checked" in shown
    assert "echo fine" in shown
    told = json.loads(scene.fleet("task", task_id, "receipt", "--json").stdout)
    assert told["verdict"]["state"] == "checked"
    assert told["policy"]["limits"]["turns"] == 7
    missing = scene.fleet("task", task_id, "receipt", "--run", "9")
    assert missing.returncode != 0
    assert "no run 9" in missing.stderr


def test_the_brake_ends_what_verifies_too(tmp_path):
    """At once, with the task left to a person and nothing believed."""
    scene = Scene(tmp_path)
    task_id = scene.add(verify=("touch began; sleep 300 & echo $! > left; wait",))
    supervisor = scene.supervise()
    until((scene.project / "left").exists)
    assert scene.fleet("stop", "--all", "--now").returncode == 0
    until(lambda: scene.status(task_id) == "blocked")
    assert "stopped by" in scene.task(task_id).notes
    assert not psutil.pid_exists(int((scene.project / "left").read_text()))
    supervisor.send_signal(signal.SIGTERM)
    assert supervisor.wait(PATIENCE) == 0


def test_the_brake_tells_of_what_verified_and_gives_it_back(tmp_path):
    """Also where no supervisor was there to hear: whoever settles it, settles it as stopped."""
    scene = Scene(tmp_path)
    task_id = scene.add(verify=("touch began; test -e go || sleep 300",))
    first = scene.supervise()
    until((scene.project / "began").exists)
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    told = json.loads(scene.fleet("stop", "--all", "--now", "--json").stdout)
    assert [run["task_id"] for run in told["runs"]] == [task_id]
    second = scene.supervise()
    until(lambda: scene.status(task_id) == "blocked")
    assert "stopped by" in scene.task(task_id).notes
    assert receipt(scene, task_id).verdict is None
    (scene.project / "go").touch()
    assert scene.fleet("resume", "--retry-stopped").returncode == 0
    until(lambda: scene.status(task_id) == "closed")
    second.send_signal(signal.SIGTERM)
    assert second.wait(PATIENCE) == 0


def test_what_a_shutdown_left_can_be_stopped_under_the_next_supervisor(tmp_path):
    """And so can that supervisor."""
    scene = Scene(tmp_path)
    task_id = scene.add(verify=("echo x >> began; sleep 300",))
    first = scene.supervise()
    until((scene.project / "began").exists)
    first.send_signal(signal.SIGINT)
    assert first.wait(PATIENCE) == 0
    second = scene.supervise()
    until(lambda: (scene.project / "began").read_text() == "x\nx\n")
    assert scene.fleet("stop", task_id).returncode == 0
    assert scene.status(task_id) == "blocked"
    second.send_signal(signal.SIGINT)
    assert second.wait(PATIENCE) == 0


def in_git(place):
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "start"]):
        subprocess.run(["git", "-C", str(place), *who, *words], check=True)


def test_an_edited_exam_is_no_better_in_the_next_run(tmp_path):
    """What was pinned is as the first run found it, however often the task is tried."""
    scene = Scene(tmp_path, work_in="clone", retry_limit=3)
    (scene.project / "exam.sh").write_text("exit 1\n")
    in_git(scene.project)
    task_id = scene.add("tool script done end", verify=("sh exam.sh",), pins=("exam.sh",))
    (scene.folder(task_id) / "script").write_text("echo exit 0 > exam.sh\n")
    assert scene.supervise("--until-idle").wait(PATIENCE) == NEEDS_YOU
    assert scene.status(task_id) == "blocked"
    found = [receipt(scene, task_id, number) for number in range(3)]
    assert [each.verdict.findings[0].rule for each in found] == ["verify_failed"] * 3
    assert [each.checks[0].restored for each in found] == [("exam.sh",)] * 3


def test_what_git_ignores_takes_no_part_in_the_exam_unless_it_is_shared_or_set_up(tmp_path):
    """The next agent is told where the command ran; a person says what the checkout needs."""
    scene = Scene(tmp_path, work_in="clone", retry_limit=2)
    (scene.project / "exam.sh").write_text("test -e build/ok && test -e lib/made && git status\n")
    (scene.project / ".gitignore").write_text("build/\nlib/\n")
    in_git(scene.project)
    words = "tool script done end | copy:told tool done end"
    task_id = scene.add(words, verify=("sh exam.sh; code=$?; touch left; exit $code",))
    (scene.folder(task_id) / "script").write_text("mkdir -p build lib; touch build/ok lib/made\n")
    scene.supervise("--until-idle").wait(PATIENCE)
    assert scene.status(task_id) == "blocked"
    told = (scene.run(task_id).path / "told").read_text()
    assert "in a fresh checkout of what the run left" in told
    setup = 'mkdir lib && test -e "$FLEET_PROJECT_DIR/exam.sh" && touch lib/made'
    project = ("--project", str(scene.project))
    assert scene.fleet("config", "set", *project, "share=build", f"setup={setup}").returncode == 0
    assert scene.fleet("retry", task_id).returncode == 0
    scene.supervise("--until-idle").wait(PATIENCE)
    last = receipt(scene, task_id)
    assert scene.status(task_id) == "closed", last.verdict
    assert last.checks[0].tree == last.changes.tree
    assert not (scene.project / "left").exists()
    assert not (scene.run(task_id).path / "checkout").exists()


def test_a_change_of_an_earlier_run_is_a_change_of_the_task(tmp_path):
    """The second run only has to say so."""
    scene = Scene(tmp_path)
    (scene.project / "a.txt").write_text("old\n")
    in_git(scene.project)
    task_id = scene.add("tool script end | tool done end", expect="change")
    (scene.folder(task_id) / "script").write_text("echo new > a.txt\n")
    assert scene.supervise("--until-idle").wait(PATIENCE) == 0
    assert scene.status(task_id) == "closed"
    assert len(scene.runs(task_id)) == 2


def test_an_exam_that_cannot_be_had_costs_no_attempt(tmp_path):
    """No agent can mend that: a person is asked at once."""
    scene = Scene(tmp_path, work_in="clone")
    (scene.project / "a.txt").write_text("old\n")
    in_git(scene.project)
    task_id = scene.add(verify=("sh exam.sh",), pins=("exam.sh",))
    assert scene.supervise("--until-idle").wait(PATIENCE) == NEEDS_YOU
    assert scene.status(task_id) == "blocked"
    assert "cannot be verified: exam.sh: no such file" in scene.task(task_id).notes
    assert len(scene.runs(task_id)) == 1


def test_a_claim_before_a_limit_is_checked_and_closed(tmp_path):
    """The work was done before its vendor refused the last sentence: nothing is done twice."""
    scene = Scene(tmp_path)
    task_id = scene.add("tool mark:made done limit exit:1", verify=("true",))
    assert scene.supervise("--until-idle").wait(PATIENCE) == 0
    assert scene.status(task_id) == "closed"
    assert len(scene.runs(task_id)) == 1
    seen = receipt(scene, task_id)
    assert (seen.outcome, seen.verdict.state) == ("RateLimited", "checked")
    shown = scene.fleet("task", task_id, "receipt").stdout
    assert "nothing was claimed" not in shown
    assert "run 1: checked" in shown


def test_an_unchecked_claim_is_left_to_a_person(tmp_path):
    """Where a check is required; without that it is closed, and says that nothing proves it."""
    scene = Scene(tmp_path)
    believed = scene.add()
    assert scene.supervise("--until-idle").wait(PATIENCE) == 0
    assert "[run 1, unchecked, no verify command:" in scene.task(believed).close_reason
    assert f"{believed}: closed: unchecked: there is no verify command" in scene.screen()
    scene.configure(require="checked")
    unproven, proven = scene.add(expect="answer"), scene.add(verify=("true",))
    assert scene.supervise("--until-idle").wait(PATIENCE) == NEEDS_YOU
    assert (scene.status(unproven), scene.status(proven)) == ("blocked", "closed")
    assert f"To take it as done: fleet bd close {unproven}" in scene.task(unproven).notes
    assert (
        f"To try again: fleet retry {unproven}. To set its check first"
        in scene.task(unproven).notes
    )
    assert receipt(scene, unproven).verdict.state == "unchecked"


def test_what_verify_commands_build_is_neither_committed_nor_the_agents(tmp_path):
    """They run in a fresh checkout: the branch has the agent's work and no more."""
    scene = Scene(tmp_path, work_in="clone", retry_limit=2)
    try:
        repo = Repo(scene.project)
        repo.commit(a="1\n")
        verify = "echo built > out.bin; echo more >> a; test -e two"
        task_id = scene.add("tool script done end | tool script:second done end", verify=(verify,))
        scene.folder(task_id).mkdir(exist_ok=True)
        (scene.folder(task_id) / "script").write_text("echo one > one\n")
        who = "-c user.name=a -c user.email=a"
        commit = f"echo two > two; git add -A; git {who} commit -qm mine"
        (scene.folder(task_id) / "second").write_text(f"{commit}\n")
        assert scene.supervise("--until-idle").wait(60) == 0, scene.screen()
        assert scene.status(task_id) == "closed", scene.screen()
        branch = f"fleet/{task_id}"
        assert repo.git("ls-tree", "--name-only", branch).split() == ["a", "one", "two"]
        assert repo.git("show", f"{branch}:a") == "1"
        changes = [receipt_json.read(run).changes for run in scene.runs(task_id)]
        assert [[each.path for each in one.files] for one in changes] == [["one"], ["two"]]
    finally:
        scene.close()
