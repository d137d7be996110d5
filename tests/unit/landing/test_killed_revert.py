"""`fleet land --revert` beside a lander that was killed, and one that is killed itself."""

import os
import signal

import pytest
from msgspec import structs

from fleet import config
from fleet.control import Control
from fleet.control.landing import revert as reverting
from fleet.control.landing.revert import revert
from fleet.errors import Refused
from fleet.git.remote.remote_git import RemoteSilent
from fleet.home import landing_json
from fleet.landing import run_train
from fleet.landing.train_state import TrainState
from tests.landings import LandHome


@pytest.fixture
def scene(tmp_path):
    place = LandHome(tmp_path)
    place.repo.commit(README="read me\n", **{"part-0": "zero\n"})
    yield place
    place.queue.close()


def killed_at(owner, name, work):
    """Do it in a child process that is killed where it comes to a function."""
    child = os.fork()
    if child == 0:
        setattr(owner, name, lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL))
        try:
            work()
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def take_back(place, task_id):
    fleet = Control(place.home, config.load(place.home.config), {"USER": "ann"})
    return revert(fleet, fleet.get(task_id))


def commits_of(place, task_id):
    ask = ("log", "--first-parent", f"--grep={task_id}", "--format=%s", "main")
    return place.repo.git(*ask).splitlines()


@pytest.mark.parametrize("how", ["squash", "merge"])
def test_what_a_killed_lander_moved_does_not_land_again_after_a_revert(scene, how):
    """The line holds the work, and the record does not know it yet: the revert sees to that
    first, since it writes a train of its own.
    """
    first = scene.accepted("Say one", part_1="one\n", how=how)
    scene.land()
    second = scene.accepted("Say two", part_2="two\n", how=how)
    killed_at(TrainState, "mark", scene.land)
    assert (scene.state(second), scene.shown("part-2")) == ("testing", "two")
    take_back(scene, first)
    assert (scene.state(second), scene.status(second)) == ("landed", "closed")
    scene.land()
    assert len(commits_of(scene, second)) == 1
    assert scene.landing(second).landed.reverted == ""
    assert scene.status(first) == "blocked"


def test_a_revert_that_was_killed_after_it_moved_the_branch_is_completed(scene):
    """The second one finds the commit on the branch, and makes no other."""
    task = scene.accepted("Say one", part_1="one\n")
    scene.land()
    killed_at(reverting, "_noted", lambda: take_back(scene, task))
    assert scene.landing(task).landed.reverted == ""
    before = scene.repo.git("rev-parse", "main")
    scene.land()  # a lander that comes between takes nothing from it
    done = take_back(scene, task)
    assert done.commit == before == scene.repo.git("rev-parse", "main")
    assert (scene.status(task), scene.landing(task).landed.reverted) == ("blocked", before)
    with pytest.raises(Refused, match="taken back already"):
        take_back(scene, task)


def test_a_revert_that_was_killed_before_it_moved_the_branch_can_be_made_again(scene):
    """Nothing has changed, and the next one makes the commit."""
    task = scene.accepted("Say one", part_1="one\n")
    scene.land()
    before = scene.repo.git("rev-parse", "main")
    killed_at(TrainState, "is_green", lambda: take_back(scene, task))
    assert scene.repo.git("rev-parse", "main") == before
    done = take_back(scene, task)
    assert scene.repo.git("rev-parse", "main^") == before
    assert (scene.status(task), scene.landing(task).landed.reverted) == ("blocked", done.commit)


def test_a_branch_follows_after_its_lander_was_killed_beside_a_dirty_checkout(scene):
    """The line is ahead of the branch, and no record says so: the next lander writes it down."""
    (scene.repo.root / "part-0").write_text("a person is at work\n")
    scene.accepted("Say zero", part_0="null\n")
    killed_at(TrainState, "mark", scene.land)
    scene.land()
    scene.repo.git("checkout", "-q", "part-0")
    scene.land()
    assert scene.shown("part-0") == "null"
    assert (scene.repo.root / "part-0").read_text() == "null\n"


def test_a_remote_that_gives_no_answer_says_nothing_of_the_work(scene, monkeypatch):
    """The way out is to try again, not to take it back by hand."""
    task = scene.accepted("Say one", part_1="one\n")
    scene.land()
    silent = RemoteSilent(why="origin/main gives no answer")
    monkeypatch.setattr(run_train, "line_to_push", lambda *_: silent)
    with pytest.raises(Refused) as refused:
        take_back(scene, task)
    assert refused.value.message == "main stays as it is: origin/main gives no answer"
    assert refused.value.hint.endswith(f"fleet land --revert {task}")


def test_what_a_forge_merged_is_taken_back_there(scene):
    """The branch of the remote would stay as it is."""
    task = scene.accepted("Say one", part_1="one\n")
    scene.land()
    address = "https://forge.example.org/ann/app/pulls/7"
    landing_json.change(
        scene.home, task,
        lambda now: structs.replace(now, landed=structs.replace(now.landed, pr=address)),
    )  # fmt: skip
    before = scene.repo.git("rev-parse", "main")
    with pytest.raises(Refused, match="landed by its pull request"):
        take_back(scene, task)
    assert scene.repo.git("rev-parse", "main") == before
