"""`fleet land` with and without a supervisor: work is approved, lands, and old branches too."""

import json

import pytest

from tests.conftest import need
from tests.repos import ENV, Repo
from tests.story.scene import Scene
from tests.story.test_compare import coder

VERIFY = ("grep -q TWO a",)


@pytest.fixture
def scene(tmp_path):
    need("git")
    scene = Scene(tmp_path, land="ask", max_concurrent=4)
    scene.env = {**scene.env, **ENV, "PATH": scene.env["PATH"]}
    scene.repo = Repo(scene.project)
    scene.repo.commit(a="one\ntwo\nthree\n")
    coder(scene, "neat", "sed -i s/two/TWO/ a; git commit -qam 'say it loud'")
    coder(scene, "more", "echo more > more; git add -A; git commit -qm 'add more'")
    yield scene
    scene.close()


def accepted(scene, *coders):
    """Tasks whose runs are over and whose work waits for a person."""
    ids = [scene.add("", coder=each, title=f"Be {each}", branch="main") for each in coders]
    scene.until_ended(scene.supervise("--until-idle"))
    return ids


def file(scene, name):
    return scene.repo.git("show", f"main:{name}", ok=False)


def test_work_lands_once_a_person_says_so(scene):
    """Without a supervisor the train runs here; the record names the person."""
    one, other = accepted(scene, "neat", "more")
    assert scene.status(one) == scene.status(other) == "blocked"
    assert file(scene, "a") == "one\ntwo\nthree"
    listed = scene.fleet("land")
    assert "needs approval" in listed.stdout
    assert one in listed.stdout
    assert scene.fleet("land", "--check").stdout == (
        "All 2 merge without conflict; nothing was verified.\n"
    )
    assert f"To let it land: fleet review {one} --approve" in one_line(
        scene.fleet("review", one).stdout
    )
    done = scene.fleet("land", one)
    assert done.returncode == 0, done.stderr
    assert f"{one}: landed on main as" in done.stdout
    assert file(scene, "a") == "one\nTWO\nthree"
    assert (scene.project / "a").read_text() == "one\nTWO\nthree\n"
    assert scene.status(one) == "closed"
    record = json.loads((scene.folder(one) / "landing.json").read_text())
    assert record["approved_by"] == "user"
    shown = scene.fleet("show", one).stdout
    assert f"landing:     landed on main as {record['landed']['commit'][:7]}" in shown
    assert scene.fleet("land", "--all").returncode == 0
    assert file(scene, "more") == "more"
    assert "Nothing waits to land." in scene.fleet("land").stdout
    assert scene.fleet("land", "--all").stdout.startswith("Nothing waits for you to land it")


def test_all_leaves_what_cannot_be_approved_and_lands_what_a_checkout_held_up(scene):
    """A branch that is gone keeps no other work from landing; what a checkout keeps from its branch
    is to land, and lands once that is out of the way, without a supervisor.
    """
    scene.repo.git("branch", "gone")
    lost = scene.add("", coder="neat", title="Be lost", branch="gone")
    (task,) = accepted(scene, "more")
    scene.repo.git("branch", "-D", "gone")
    (scene.project / "more").write_text("mine\n")
    done = scene.fleet("land", "--all")
    assert done.returncode == 10
    assert f"{lost}: not approved" in done.stderr
    assert scene.status(task) == "blocked"
    assert file(scene, "more") == "", "a file of the person's is in the way"
    words = f"main is checked out at {scene.project}, where more is not in git".split()
    for shown in (scene.fleet("show", task), scene.fleet("status")):
        assert "".join(words) in "".join(shown.stdout.split())
    assert "".join(words[-6:]) in "".join(scene.fleet("land").stdout.split())
    listed = json.loads(scene.fleet("land", "--json").stdout)["work"]
    assert [each["files"] for each in listed if each["id"] == task] == [1], "what it changes"
    (scene.project / "more").unlink()
    done = scene.fleet("land", "--all")
    assert f"{task}: landed on main as" in done.stdout
    assert scene.status(task) == "closed"
    assert file(scene, "more") == "more"
    assert "work:" not in scene.fleet("show", task).stdout, "its own branch is gone"


@pytest.mark.parametrize("close", [("close",), ("update", "--status", "closed")])
def test_a_task_that_is_closed_while_a_checkout_is_in_the_way_is_to_land_and_lands(scene, close):
    """Show, status and land name it until its branch has moved, and it is landed then."""
    (task,) = accepted(scene, "more")
    (scene.project / "more").write_text("mine\n")
    assert scene.fleet("land", "--all").returncode == 10
    verb, *flags = close
    assert scene.fleet("bd", verb, task, *flags).returncode == 0
    assert scene.status(task) == "closed"
    shown = scene.fleet("show", task).stdout
    assert "to land on main" in shown
    for said in (shown, scene.fleet("status").stdout, scene.fleet("land").stdout):
        assert "wheremoreisnotingit" in "".join(said.split()), "the path may be cut"
    (scene.project / "more").unlink()
    done = scene.fleet("land", "--all")
    assert f"{task}: landed on main as" in done.stdout
    assert file(scene, "more") == "more"
    assert "state:       landed" in scene.fleet("show", task).stdout
    assert scene.status(task) == "closed"
    assert "Nothing waits to land." in scene.fleet("land").stdout


def one_line(text):
    return " ".join(text.split())


def test_a_supervisor_lands_what_is_approved_and_the_command_waits_for_it(scene):
    """One line a step, and a code that says whether all of it landed."""
    (task,) = accepted(scene, "neat")
    scene.supervise()
    scene.until_logged("started")
    done = scene.fleet("land", task)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{task}: landed on main as" in done.stdout
    assert scene.status(task) == "closed"


def test_what_is_held_does_not_land(scene):
    """Until it is released."""
    scene.configure(land="auto")
    (task,) = accepted(scene, "neat")
    assert scene.status(task) == "closed"
    scene.configure(land="ask")
    (task,) = accepted(scene, "more")
    assert "held back from main" in scene.fleet("land", "--hold", task).stdout
    scene.configure(land="auto")
    scene.until_ended(scene.supervise("--until-idle"))
    assert scene.status(task) == "blocked"
    scene.fleet("land", "--release", task)
    scene.until_ended(scene.supervise("--until-idle"))
    assert scene.status(task) == "closed"


def test_the_branch_of_a_task_that_was_closed_before_lands_too(scene):
    """It is verified as everything is, and the task is closed again with where it is."""
    scene.configure(land="branch", work_in="clone")
    task = scene.add("", coder="neat", title="Be neat", branch="main", verify=VERIFY)
    scene.until_ended(scene.supervise("--until-idle"))
    assert scene.status(task) == "closed"
    scene.configure(land="auto")
    assert "finished but not merged" in scene.fleet("land").stdout
    done = scene.fleet("land", task)
    assert done.returncode == 0, done.stdout + done.stderr
    assert file(scene, "a") == "one\nTWO\nthree"
    assert scene.status(task) == "closed"
    assert "landed on main as" in scene.task(task).close_reason
    record = json.loads((scene.folder(task) / "landing.json").read_text())
    assert record["landed"]["checks"] == [f".: {VERIFY[0]}"]
    again = scene.fleet("land", task)
    assert (again.returncode != 0, "already" in again.stderr) == (True, True)


def test_a_dependent_says_what_it_waits_for(scene):
    """Verified is not landed, and the dependent does not begin."""
    (task,) = accepted(scene, "neat")
    later = scene.add("", coder="more", title="Later")
    scene.fleet("bd", "dep", "add", later, task)
    shown = scene.fleet("show", later).stdout
    assert f"waits for:   {task} (needs approval)" in shown
    assert f" ← your approval: fleet land {task}" in shown
    assert "needs approval: " in scene.fleet("status").stdout
    assert "(needs approval)" in scene.fleet("bd", "list").stdout


def test_what_landed_is_taken_back_and_done_anew(scene):
    """As a commit that passes; later work stays, and the task begins again from the branch."""
    scene.configure(land="auto")
    check = "test ! -e more || grep -q TWO a"
    scene.fleet("config", "set", "--project", ".", f"verify={check}")
    task = scene.add("", coder="neat", title="Be neat", branch="main", verify=VERIFY)
    scene.until_ended(scene.supervise("--until-idle"))
    (later,) = accepted(scene, "more")
    assert [scene.status(task), scene.status(later)] == ["closed", "closed"]
    refused = scene.fleet("land", "--revert", task)
    assert "without the work" in refused.stderr
    assert "does not pass" in refused.stderr  # what landed later needs it
    assert file(scene, "a") == "one\nTWO\nthree"
    done = scene.fleet("land", "--revert", later)
    assert done.returncode == 0, done.stderr
    assert f"{later}: taken off main, as" in done.stdout
    assert file(scene, "more") == ""
    assert not (scene.project / "more").exists()
    assert scene.repo.git("log", "-1", "--format=%s", "main") == 'Revert "Be more"'
    assert scene.status(later) == "blocked"
    assert f"fleet retry --fresh {later}" in scene.task(later).notes
    assert "taken back already" in scene.fleet("land", "--revert", later).stderr
    assert f"done anew: fleet retry --fresh {later}" in scene.fleet("land", later).stderr
    assert "It begins anew" in scene.fleet("retry", "--fresh", later).stdout
    scene.until_ended(scene.supervise("--until-idle"))
    assert scene.status(later) == "closed", scene.screen()
    assert file(scene, "more") == "more"
