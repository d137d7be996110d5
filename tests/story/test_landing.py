"""Accepted work reaches the branch, through the real supervisor: what lands, what goes back."""

import subprocess

import pytest

from fleet.control.task_directory import branch_at
from fleet.git.clone.clone_place import clones_in
from fleet.home import landing_json
from tests.conftest import need
from tests.repos import ENV, Repo
from tests.story.scene import NEEDS_YOU, Scene

WORK = "tool script done end"
#: Green while no two of the files `part-*` hold the same word.
VERIFY = 'test -z "$(cat part-* 2>/dev/null | sort | uniq -d)"'


@pytest.fixture
def scene(tmp_path):
    need("git")
    scene = Scene(tmp_path, max_concurrent=4, retry_limit=1, land="auto")
    scene.env = {**scene.env, **ENV, "PATH": scene.env["PATH"]}
    scene.repo = Repo(scene.project)
    scene.repo.commit(README="read me\n", part__0="zero\n")
    yield scene
    scene.close()


def add(scene, script, steps=WORK, **wishes):
    """A task whose agent runs a script in its clone and claims to be done."""
    task_id = scene.add(steps, **{"branch": "main", "verify": (VERIFY,), **wishes})
    scene.folder(task_id).mkdir(exist_ok=True)
    names = [f"GIT_{who}_{what}=a" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")]
    (scene.folder(task_id) / "script").write_text(f"export {' '.join(names)}\n{script}\n")
    return task_id


def run_all(scene, code=0):
    assert scene.supervise("--until-idle").wait(60) == code, scene.screen()


def line(scene, path, branch="main"):
    """A file as the line of the branch has it."""
    for ref in (f"refs/fleet/land/{branch}", f"refs/heads/{branch}"):
        shown = subprocess.run(
            ["git", "show", f"{ref}:{path}"], cwd=scene.project, env=ENV, capture_output=True,
            text=True, check=False,
        )  # fmt: skip
        if shown.returncode == 0:
            return shown.stdout
    return None


def test_closed_means_landed(scene):
    """The work is on the line of the branch, the clone and the task's branch are gone."""
    task_id = add(scene, "echo new > part-1; git add -A; git commit -qm mine", title="Add a part")
    run_all(scene)
    task = scene.task(task_id)
    assert task.status == "closed", (task.notes, scene.screen())
    assert line(scene, "part-1") == "new\n"
    landing = landing_json.believed(scene.home, task_id)
    assert (landing.state, landing.landed.checks) == ("landed", (f".: {VERIFY}",))
    assert f"landed on main as {landing.landed.commit[:12]}" in task.close_reason
    assert landing_json.unlanded(scene.home) == []
    assert clones_in(scene.home) == []
    assert scene.repo.git("for-each-ref", "refs/heads/fleet") == ""
    assert scene.repo.git("rev-parse", f"refs/fleet/{task_id}/landed") == landing.commit


def test_a_clone_with_ignored_files_stays_for_a_while_and_its_branch_goes(scene):
    """A person may want what a run downloaded or built; the work itself is on the branch."""
    scene.repo.commit(_dot_gitignore="*.o\n")
    task_id = add(scene, "echo new > part-1; echo built > part.o")
    run_all(scene)
    assert scene.status(task_id) == "closed", scene.screen()
    assert (scene.home.clone(task_id) / "part.o").exists()
    assert "its clone stays" in scene.screen()
    assert scene.repo.git("for-each-ref", "refs/heads/fleet") == ""


def test_what_was_not_verified_stays_on_the_branch_of_its_task(scene):
    """A pinned file that the agent changed lands as it was; the agent's own version is kept."""
    task_id = add(scene, "echo new > part-1; echo mine > README", pins=("README",))
    run_all(scene)
    assert scene.status(task_id) == "closed", scene.screen()
    assert [line(scene, name) for name in ("README", "part-1")] == ["read me\n", "new\n"]
    assert scene.repo.git("show", f"fleet/{task_id}:README") == "mine"
    assert clones_in(scene.home) == []


def test_a_dependent_begins_with_what_it_waited_for(scene):
    """Its clone is made from the line, where the work of the other task is."""
    first = add(scene, "echo new > part-1")
    second = add(scene, "test $(cat part-1) = new && echo more > part-2")
    with scene.queue.db.writing():
        scene.queue.depend(second, first)
    run_all(scene)
    assert [scene.status(each) for each in (first, second)] == ["closed", "closed"], scene.screen()
    assert line(scene, "part-2") == "more\n"


def test_until_idle_says_what_waits_for_a_person(scene):
    """A landing that asks is for a person; one that the lander still works on is not."""
    scene.configure(land="ask")
    task_id = add(scene, "echo new > part-1")
    run_all(scene, code=NEEDS_YOU)
    assert landing_json.believed(scene.home, task_id).state == "asks"
    assert "needs approval: land = ask" in scene.screen()
    assert scene.status(task_id) == "blocked"
    assert scene.repo.git("show", f"fleet/{task_id}:part-1") == "new"
    assert line(scene, "part-1") is None


def test_a_task_made_where_no_branch_was_checked_out_lands_on_none_unasked(scene):
    """Its directory has a branch by the time that the task begins: no person named that one."""
    scene.repo.git("checkout", "-q", "--detach")
    made = branch_at(str(scene.project))
    scene.repo.git("checkout", "-q", "main")
    task_id = add(scene, "echo new > part-1", branch=made)
    run_all(scene, code=NEEDS_YOU)
    landing = landing_json.believed(scene.home, task_id)
    assert (landing.state, landing.into) == ("asks", "")
    assert "no branch was checked out when it was made" in landing.why
    assert line(scene, "part-1") is None


def test_a_supervisor_that_is_killed_while_a_fold_is_verified_is_followed_by_one_that_lands_it(
    scene, tmp_path
):
    """The command goes on under its keeper; the next supervisor finds it, and starts no second."""
    gate, ran = tmp_path / "gate", tmp_path / "ran"
    wait = f"until test -e {gate}; do sleep 0.05; done"
    slow = f"echo $PWD >> {ran}; case $PWD in */trains/*) {wait};; esac"
    first = add(scene, "echo new > part-1", verify=(slow,))
    second = add(scene, "echo more > part-2", f"await:go {WORK}", verify=(slow,))
    supervisor = scene.supervise()
    scene.until_status(first, "closed")
    (scene.folder(second) / "go").touch()
    scene.until(lambda: ran.exists() and "/trains/" in ran.read_text())
    scene.kill(supervisor)
    supervisor = scene.supervise("--until-idle")
    scene.until_logged("started", 2)
    gate.touch()
    assert supervisor.wait(60) == 0, scene.screen()
    assert scene.status(second) == "closed", scene.screen()
    assert ran.read_text().count("/trains/") == 1
    assert line(scene, "part-2") == "more\n"


def test_two_tasks_that_run_together_both_land(scene):
    """What is verified together lands together, and each receipt says on what."""
    tasks = [add(scene, f"echo {n} > part-{n}; git add -A; git commit -qm {n}") for n in range(4)]
    run_all(scene)
    assert [scene.status(each) for each in tasks] == ["closed"] * 4, scene.screen()
    assert [line(scene, f"part-{n}") for n in range(4)] == [f"{n}\n" for n in range(4)]
