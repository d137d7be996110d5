"""`fleet review` through the real supervisor: work is looked at, sent back, and done again."""

import json

import pytest

from tests.conftest import need
from tests.repos import ENV, Repo
from tests.story.scene import Scene
from tests.story.test_compare import coder

#: The first run changes a line, and each later one does what it was told.
WORK = "sed -i 's/TWO/Two/; s/two/TWO/' a; git commit -qam 'say it loud'"
#: Each later run changes nothing.
STUBBORN = "sed -i s/two/TWO/ a; git commit -qam 'say it loud' || true"


@pytest.fixture
def scene(tmp_path):
    need("git")
    scene = Scene(tmp_path, work_in="clone")
    scene.env = {**scene.env, **ENV, "PATH": scene.env["PATH"], "COLUMNS": "80"}
    scene.repo = Repo(scene.project)
    scene.repo.commit(a="one\ntwo\nthree\n")
    coder(scene, "neat", WORK)
    coder(scene, "stubborn", STUBBORN)
    yield scene
    scene.close()


def closed(scene, coder="neat"):
    task = scene.add("", coder=coder, title="Make it loud", expect="any")
    scene.until_ended(scene.supervise("--until-idle"))
    assert scene.status(task) == "closed"
    return task


def test_work_is_shown_and_sent_back_with_a_comment_on_a_line(scene):
    """The next run has the words, the place and the code, and the task is closed once more."""
    task = closed(scene)
    shown = scene.fleet("review", task)
    assert shown.returncode == 0, shown.stderr
    assert f"{task}, run 1: unchecked" in shown.stdout
    assert "+TWO" in shown.stdout
    told = json.loads(scene.fleet("review", task, "--json").stdout)
    assert told["files"] == ["a"]
    assert "+TWO" in told["patch"]
    wrong = scene.fleet("review", task, "--comment", "a:9", "too loud")
    assert wrong.returncode == 2
    assert "line 9 of a is not in the diff" in wrong.stderr
    assert scene.status(task) == "closed"

    done = scene.fleet("review", task, "--comment", "a:2", "too loud", "--reject", "Less of it")
    assert f"{task} is open again: its next run goes on with what you said." in done.stdout
    assert scene.status(task) == "open"
    assert "REVIEWED, and sent back: Less of it" in scene.task(task).notes
    scene.until_ended(scene.supervise("--until-idle"))
    assert scene.status(task) == "closed"
    scene.fleet("review", task, "--comment", "a:2", "too loud")
    assert "REVIEWED, and sent back: 1 comment\n" in scene.task(task).notes + "\n"
    heard = scene.run(task).path.parent / "2" / "prompt.md"
    words = heard.read_text()
    assert "The last run ended by itself. A person has reviewed its work" in words
    for part in ("Less of it", "a, line 2:", ">    2  TWO", "too loud"):
        assert words.count(part) == 1


def test_a_review_is_not_answered_with_nothing(scene):
    """A claim over unchanged work, after a person asked for a change, closes nothing."""
    scene.configure(retry_limit=1)
    task = closed(scene, "stubborn")
    scene.fleet("review", task, "--reject", "Less of it")
    scene.until_ended(scene.supervise("--until-idle"))
    assert scene.status(task) == "blocked"
    assert "no_effect" in scene.task(task).notes


def test_a_running_agent_is_told_and_its_task_is_left_to_it(scene):
    """As with `fleet tell`: nothing is stopped."""
    task = scene.add("tool mark:here await:go tool done end", work_in="directory")
    scene.supervise()
    scene.until_marked(task, "here")
    done = scene.fleet("review", task, "--reject", "Other way round")
    assert f"Told {task}: its agent cannot be reached" in done.stdout
    assert scene.status(task) == "in_progress"
    (scene.folder(task) / "go").touch()
    scene.until_status(task, "closed")


def test_an_agent_cannot_judge(scene):
    """Inside a run the command is refused, whatever home it finds."""
    task = closed(scene)
    scene.env["FLEET_RUN_ID"] = "us:x:1"
    done = scene.fleet("review", task, "--reject", "fine as it is")
    assert done.returncode
    assert "an agent cannot review work" in done.stderr
    assert scene.status(task) == "closed"


def test_what_was_never_run_cannot_be_reviewed(scene):
    """The message says what to do."""
    task = scene.add("tool done end")
    done = scene.fleet("review", task)
    assert (done.returncode, "has no run yet" in done.stderr) == (1, True)
    done = scene.fleet("review", task, "--reject", " ")
    assert done.returncode
