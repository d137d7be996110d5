"""The exam: verify commands are tried on the base before an agent is paid, and must stay the same
exam afterwards; through the real supervisor.
"""

import pytest

from fleet.home import base_wait
from fleet.runs import receipt_json
from fleet.runs.outcome_history import read_ending
from fleet.schemas import Released
from tests.conftest import need
from tests.repos import ENV, Repo
from tests.story.scene import NEEDS_YOU, Scene

WORK = "tool script done end"


@pytest.fixture
def scene(tmp_path):
    need("git")
    scene = Scene(tmp_path, max_concurrent=4, retry_limit=3, land="auto")
    scene.env = {**scene.env, **ENV, "PATH": scene.env["PATH"]}
    scene.repo = Repo(scene.project)
    scene.repo.commit(README="read me\n")
    yield scene
    scene.close()


def add(scene, script="echo more >> README", steps=WORK, **wishes):
    """A task whose agent runs a script in its clone and claims to be done."""
    task_id = scene.add(steps, **{"branch": "main", **wishes})
    scene.folder(task_id).mkdir(exist_ok=True)
    names = [f"GIT_{who}_{what}=a" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")]
    (scene.folder(task_id) / "script").write_text(f"export {' '.join(names)}\n{script}\n")
    return task_id


def project(scene, *settings):
    done = scene.fleet("config", "set", "--project", str(scene.project), *settings)
    assert done.returncode == 0, done.stderr


def run_all(scene, code=0):
    assert scene.supervise("--until-idle").wait(60) == code, scene.screen()


# Before an agent is paid.


def test_a_command_that_cannot_be_started_costs_no_attempt(scene):
    """The task waits with the command's own words; another task of the home runs."""
    project(scene, "verify=python3 -m no_such_runner -q")
    waits = add(scene)
    other = scene.add("tool done end", cwd=scene.home.path.parent, verify=("true",))
    run_all(scene, NEEDS_YOU)
    assert scene.status(other) == "closed", scene.screen()
    assert (scene.status(waits), scene.runs(waits)) == ("open", [])
    assert (scene.task(waits).attempts, scene.task(waits).runs) == (0, 0)
    shown = scene.fleet("show", waits).stdout
    assert "verify cannot be started on main: `python3 -m no_such_runner -q`" in shown
    assert "No module named no_such_runner" in shown
    assert f"fleet config set --project {scene.project} 'verify=CMD'" in shown
    status = scene.fleet("status").stdout
    assert f"{waits}: verify cannot be started on main" in status
    assert "verify cannot be started" in scene.fleet("ready").stdout
    said = [each for each in scene.log() if "verify cannot be started on main" in each["text"]]
    assert [each["action"] for each in said] == ["base_fails", "idle"]


def test_a_mended_command_lets_the_task_start_by_itself(scene):
    """While the supervisor runs: settings that change are tried at once."""
    project(scene, "verify=no-such-program --all")
    task_id = add(scene)
    supervisor = scene.supervise()
    scene.until_logged("base_fails")
    assert scene.runs(task_id) == []
    project(scene, "verify=test -e README")
    scene.until_status(task_id, "closed")
    supervisor.terminate()
    supervisor.wait(30)


def test_what_a_checkout_lacks_is_named_as_the_way_out(scene):
    """`.venv/bin/python` is in the project's directory and in no commit: it can be shared."""
    scene.repo.commit(_dot_gitignore=".venv/\n")
    scene.repo.put(".venv/bin/check", "#!/bin/sh\ntrue\n").chmod(0o755)
    project(scene, "verify=.venv/bin/check")
    task_id = add(scene)
    run_all(scene, NEEDS_YOU)
    assert f"fleet config set --project {scene.project} share=.venv" in scene.fleet("status").stdout
    project(scene, "share=.venv")
    run_all(scene)
    assert scene.status(task_id) == "closed", scene.screen()


def test_the_projects_command_that_fails_on_main_holds_its_tasks(scene):
    """Until a person accepts that base for one task, or main is mended for all."""
    project(scene, "verify=test -e fixed")
    first, second = add(scene, "touch fixed"), add(scene)
    run_all(scene, NEEDS_YOU)
    assert (scene.runs(first), scene.runs(second)) == ([], [])
    assert len(scene.log("base_check")) == 1
    assert len(scene.log("base_fails")) == 1
    words = "the project's verify command fails on main as it stands: `test -e fixed` ended with 1"
    assert words in scene.fleet("show", second).stdout
    assert scene.fleet("retry", first).returncode == 0
    run_all(scene)
    assert scene.status(first) == "closed", scene.screen()
    assert scene.status(second) == "closed", "what landed is another base"
    assert not receipt_json.read(scene.runs(first)[0]).checks[0].base.passed
    assert "failed on the base, too" in scene.fleet("task", first, "receipt").stdout


def test_an_own_command_may_be_the_goal_of_its_task(scene):
    """It fails before the work, which is to make it pass."""
    task_id = add(scene, "printf 'echo hello' > hello.sh", verify=("sh hello.sh | grep hello",))
    goal = add(scene, "printf true > tool.sh; chmod +x tool.sh", verify=("./tool.sh",))
    run_all(scene)
    assert [scene.status(each) for each in (task_id, goal)] == ["closed", "closed"]
    assert not receipt_json.read(scene.runs(task_id)[0]).checks[0].base.passed


def test_one_base_is_tried_once_and_a_landing_counts(scene):
    """Six tasks of one project: the command runs on the base once, and never on what landed."""
    count = scene.home.path.parent / "count"
    project(scene, f"verify=git rev-parse HEAD >> {count}; test -e README", "land_batch=1")
    tasks = [add(scene, f"echo {number} > part-{number}") for number in range(4)]
    run_all(scene)
    assert [scene.status(each) for each in tasks] == ["closed"] * 4, scene.screen()
    assert len(scene.log("base_check")) == 1
    last = add(scene, "echo last > last")
    run_all(scene)
    assert scene.status(last) == "closed"
    assert len(scene.log("base_check")) == 1


def test_a_set_up_that_fails_on_the_base_is_the_operators(scene):
    """No clone is made for it, and nothing is blocked."""
    project(scene, "verify=true", "setup=exit 3")
    task_id = add(scene)
    run_all(scene, NEEDS_YOU)
    assert (scene.status(task_id), scene.runs(task_id)) == ("open", [])
    assert "set-up fails on main: `exit 3` ended with 3" in scene.fleet("show", task_id).stdout
    assert not scene.home.clone(task_id).exists()


def test_a_task_is_stopped_while_its_base_is_tried(scene):
    """Its command ends, and the task is left to a person."""
    began = scene.home.path.parent / "began"
    project(scene, f"verify=touch {began}; sleep 300")
    task_id = add(scene)
    supervisor = scene.supervise()
    scene.until(began.exists)
    assert scene.fleet("stop", task_id).returncode == 0
    scene.until_status(task_id, "blocked")
    assert scene.runs(task_id) == []
    supervisor.terminate()
    supervisor.wait(30)


def test_a_killed_supervisor_does_not_try_the_base_twice(scene):
    """The next one finds the command at work."""
    place = scene.home.path.parent
    project(scene, f"verify=echo x >> {place}/count; until test -e {place}/go; do sleep 0.05; done")
    task_id = add(scene)
    first = scene.supervise()
    scene.until((place / "count").exists)
    scene.kill(first)
    second = scene.supervise("--until-idle")
    scene.until(lambda: len(scene.log("base_check")) == 2)
    (place / "go").touch()
    assert second.wait(60) == 0, scene.screen()
    assert scene.status(task_id) == "closed"
    assert (place / "count").read_text() == "x\nx\n", "the base, and the work"


def test_a_directory_outside_of_git_has_no_base(scene, tmp_path):
    """The agent runs, and its claim is judged as before."""
    bare = tmp_path / "bare"
    bare.mkdir()
    task_id = add(scene, cwd=bare, verify=("true",))
    run_all(scene)
    assert scene.status(task_id) == "closed", scene.screen()
    assert scene.log("base_check") == []


def test_no_record_of_a_wait_is_left_once_the_task_starts(scene):
    """What the surfaces show is as the supervisor sees it."""
    project(scene, "verify=no-such-program")
    task_id = add(scene)
    run_all(scene, NEEDS_YOU)
    assert base_wait.waits(scene.home, task_id) is not None
    project(scene, "verify=true")
    run_all(scene)
    assert base_wait.waits(scene.home, task_id) is None


def test_a_claim_without_any_change_costs_one_more_turn_and_waits_for_a_person(scene):
    """An honest one says why nothing had to change, at no attempt; one that changes it lands."""
    scene.configure(retry_limit=1, retry_wait_s=1)
    steps = "tool done:I-fixed-it end | tool done:It-was-right-before end"
    honest = add(scene, steps=steps, expect="change")
    late = add(scene, steps=f"tool done end | {WORK}", expect="change")
    run_all(scene, NEEDS_YOU)
    task = scene.task(honest)
    assert task.status == "blocked"
    assert "It says why: It-was-right-before" in task.notes
    assert [read_ending(run).counts for run in scene.runs(honest)] == [False, False]
    assert scene.status(late) == "closed", scene.screen()


def test_a_claim_without_any_change_is_asked_about_again_after_a_fresh_retry(scene):
    """The new session was told nothing, so a person is not needed before it had its turn."""
    steps = "tool done:I-fixed-it end | tool done:No-need end"
    task_id = add(scene, steps=steps, expect="change")
    run_all(scene, NEEDS_YOU)
    retried = scene.fleet("retry", "--fresh", task_id)
    assert retried.returncode == 0, retried.stderr
    run_all(scene, NEEDS_YOU)
    asked_once = [isinstance(read_ending(run).settlement, Released) for run in scene.runs(task_id)]
    assert asked_once == [True, False, True, False]
