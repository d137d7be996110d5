"""Verified work reaches the branch, through the real supervisor: what lands, what goes back."""

import subprocess

import pytest

from fleet.git.clone.clone_place import clones_in
from fleet.home import landing_json
from tests.conftest import need
from tests.repos import ENV, Repo
from tests.story.scene import Scene

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


def test_a_dependent_begins_with_what_it_waited_for(scene):
    """Its clone is made from the line, where the work of the other task is."""
    first = add(scene, "echo new > part-1")
    second = add(scene, "test $(cat part-1) = new && echo more > part-2")
    with scene.queue.db.writing():
        from fleet.schemas import Dependency

        scene.queue.depend(
            Dependency(task_id=second, depends_on_id=first, created_at=scene.task(first).created_at)
        )
    run_all(scene)
    assert [scene.status(each) for each in (first, second)] == ["closed", "closed"], scene.screen()
    assert line(scene, "part-2") == "more\n"
