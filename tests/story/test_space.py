"""Runs in repositories, through the real supervisor: what they change, where they may, whose."""

import signal
import subprocess

import pytest

from fleet.git.clone.clone_place import clones_in
from fleet.runs import receipt_json
from tests.conftest import need
from tests.repos import ENV, Repo
from tests.story.scene import PATIENCE, Scene

WORK = "tool script done end"


@pytest.fixture
def scene(tmp_path):
    need("git")
    scene = Scene(tmp_path, max_concurrent=8, retry_limit=1)
    scene.env = {**scene.env, **ENV, "PATH": scene.env["PATH"]}
    scene.repo = Repo(scene.project)
    for number in range(30):
        scene.repo.put(f"data/{number}", f"{number}\n")
    scene.repo.commit(README="read me\n", src__a="one\n", _dot_gitignore="*.o\n")
    yield scene
    scene.close()


def add(scene, script, steps=WORK, **wishes):
    """A task whose agent runs a script in its directory and claims to be done."""
    task_id = scene.add(steps, **wishes)
    scene.folder(task_id).mkdir(exist_ok=True)
    names = [f"GIT_{who}_{what}=a" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")]
    (scene.folder(task_id) / "script").write_text(f"export {' '.join(names)}\n{script}\n")
    return task_id


def run_all(scene):
    assert scene.until_ended(scene.supervise("--until-idle")) == 0, scene.screen()


def set_up_with(scene, command):
    """Have the project's clones set up so."""
    with scene.home.config.open("a") as file:
        file.write(f'\n[projects."{scene.project}"]\nsetup = ["{command}"]\n')


def receipt(scene, task_id):
    return receipt_json.read(scene.run(task_id))


def git(place, *words):
    done = subprocess.run(
        ["git", *words], cwd=place, env=ENV, capture_output=True, text=True, timeout=30
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_run_is_told_by_what_it_changed(scene):
    """Not by what the user had not finished; and the receipt says how to take it back."""
    scene.repo.put("src/a", "unfinished\n")
    task_id = add(scene, "rm src/a; echo new > src/b; git add src/b; git commit -qm b")
    run_all(scene)
    assert scene.status(task_id) == "closed"
    changes = receipt(scene, task_id).changes
    assert {each.path: each.kind for each in changes.files} == {
        "src/a": "deleted",
        "src/b": "added",
    }
    assert changes.commits == (scene.repo.git("rev-parse", "HEAD"),)
    assert "-unfinished" in scene.fleet("task", task_id, "diff").stdout
    shown = scene.fleet("task", task_id, "receipt").stdout.splitlines()
    undo, bring_back = (line[12:] for line in shown[-2:])
    for command in (undo, undo.replace("-R", "")):
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=30)
        assert done.returncode == 0, done.stderr
    done = subprocess.run(["sh", "-c", bring_back], capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    assert (scene.project / "src/a").read_text() == "unfinished\n"


def test_a_run_that_goes_too_far_is_blocked_with_what_it_did(scene):
    """Whatever it claims; what is lost comes back from the snapshot."""
    tasks = {
        "outside_scope": add(scene, "echo x > elsewhere", scope=("src/**",)),
        "bulk_deletion": add(scene, "rm -r data", "await:go tool script done end"),
    }
    supervisor = scene.supervise("--until-idle")
    scene.until_status(tasks["outside_scope"], "blocked")
    (scene.folder(tasks["bulk_deletion"]) / "go").touch()
    assert scene.until_ended(supervisor) == 0
    for rule, task_id in tasks.items():
        task = scene.task(task_id)
        assert task.status == "blocked"
        assert f"out of scope: {rule}" in task.notes
        assert receipt(scene, task_id).verdict.state == "out of scope"
    # They were in one directory, and nobody can tell them apart.
    assert "worked in the same tree" in scene.task(tasks["outside_scope"]).notes
    shown = scene.fleet("task", tasks["bulk_deletion"], "receipt").stdout.splitlines()
    bring_back = shown[-1].strip().replace("FILE…", "data")
    subprocess.run(["sh", "-c", bring_back], check=True, timeout=30)
    assert len(list((scene.project / "data").iterdir())) == 30


def test_tasks_with_clones_of_their_own_do_not_meet(scene):
    """Same files, same time, one repository: each finds only its own work, on its own branch."""
    script = """
    echo $FLEET_TASK_ID > src/a; sleep 0.2; test $(cat src/a) = $FLEET_TASK_ID
    git commit -qam mine
    """
    tasks = [add(scene, script, work_in="clone") for _ in range(4)]
    head = scene.repo.git("rev-parse", "HEAD")
    run_all(scene)
    for task_id in tasks:
        assert scene.status(task_id) == "closed", scene.task(task_id).notes
        assert scene.repo.git("show", f"fleet/{task_id}:src/a") == task_id
        assert scene.repo.git("rev-parse", f"fleet/{task_id}^") == head
        assert [each.path for each in receipt(scene, task_id).changes.files] == ["src/a"]
    assert scene.repo.git("status", "--porcelain") == ""
    assert (scene.project / "src/a").read_text() == "one\n"
    assert clones_in(scene.home) == []
    assert f"{tasks[0]}: clone removed, its work is on fleet/{tasks[0]}" in scene.screen()


def test_a_clone_is_kept_for_the_next_attempt_and_shown(scene):
    """What the first attempt left uncommitted is there for the second."""
    scene.configure(retry_limit=3)
    script = "echo x >> count.o; echo x >> count; test $(wc -l < count) = 2"
    steps = "tool script done end | tool script done end"
    task_id = add(scene, script, steps, work_in="clone")
    run_all(scene)
    assert scene.status(task_id) == "closed"
    assert len(scene.runs(task_id)) == 2
    place = str(scene.home.clone(task_id))
    shown = scene.fleet("show", task_id).stdout
    assert f"clone:       {place}\n" in shown
    assert f"work:        comes to the branch fleet/{task_id} of {scene.project}\n" in shown
    assert scene.runs(task_id)[0].spec().cwd == scene.runs(task_id)[1].spec().cwd == place
    assert scene.repo.git("show", f"fleet/{task_id}:count") == "x\nx"
    # It holds an ignored file, so it stays for some days.
    assert (scene.home.clone(task_id) / "count.o").exists()


def test_a_set_up_that_fails_blocks_the_task_with_its_last_words(scene):
    """No agent is started in half a project."""
    task_id = add(scene, "true", work_in="clone")
    with scene.home.config.open("a") as file:
        file.write(
            f'\n[projects."{scene.project}"]\nsetup = ["echo no such registry >&2; false"]\n'
        )
    run_all(scene)
    task = scene.task(task_id)
    assert (task.status, scene.runs(task_id)) == ("blocked", [])
    assert "no such registry" in task.notes


def test_a_stop_ends_a_preparation(scene):
    """`fleet stop` while the project is being set up."""
    mark = scene.home.path / "setting-up"
    task_id = add(scene, "true", work_in="clone")
    set_up_with(scene, f"touch {mark}; sleep 300")
    supervisor = scene.supervise()
    scene.until(mark.exists)
    done = scene.fleet("stop", task_id)
    assert done.returncode == 0, done.stderr + done.stdout
    assert "stopped by" in scene.until_status(task_id, "blocked").notes
    assert scene.runs(task_id) == []
    supervisor.terminate()
    assert scene.until_ended(supervisor) == 0


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_a_supervisor_that_ends_while_it_prepares_costs_nothing(scene, end):
    """The next one goes on with what was begun, and the set-up is not run twice at once."""
    mark, go = scene.home.path / "setting-up", scene.home.path / "go"
    command = f"echo x >> {mark}; while ! test -e {go}; do sleep 0.05; done"
    set_up_with(scene, command)
    task_id = add(scene, "git commit -q --allow-empty -m x", work_in="clone")
    first = scene.supervise()
    scene.until(mark.exists)
    first.send_signal(end)
    first.wait(PATIENCE)
    go.touch()
    run_all(scene)
    assert scene.status(task_id) == "closed", scene.task(task_id).notes
    assert len(scene.runs(task_id)) == 1
    assert len(mark.read_text().splitlines()) == (2 if end == signal.SIGTERM else 1)


def test_a_git_that_was_killed_in_mid_commit_does_not_stop_the_next_attempt(scene):
    """Its lock is stale: nothing of the run lives."""
    scene.configure(retry_limit=3)
    script = """
    if test -e first.o; then git commit -q --allow-empty -m x; exit 0; fi
    touch first.o "$(git rev-parse --git-dir)/index.lock"; kill -9 $PPID; sleep 60
    """
    task_id = add(scene, script, "tool script done end", work_in="clone")
    run_all(scene)
    assert scene.status(task_id) == "closed", scene.task(task_id).notes
    assert len(scene.runs(task_id)) == 2
