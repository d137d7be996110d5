"""A lander that is killed, or meets a full disk, at any step: the next one completes what was
meant.
"""

import errno
import os
import signal
import subprocess
import traceback

import pytest

from fleet.errors import QueueError
from fleet.files import json_record, seals
from fleet.git import git_command
from fleet.git.repository import GitFailed
from fleet.home import landing_json
from fleet.queue.sql.sql_queue import SqlQueue
from tests.conftest import often
from tests.landings import LandHome
from tests.repos import ENV

#: Steps of one train at which the lander is killed; more than there are.
MOST = 400


@pytest.fixture
def scene(tmp_path):
    """Candidates of every kind: two that land, a conflict, and one that fails with the others."""
    place = LandHome(tmp_path)
    place.repo.commit(README="read me\n", **{"part-0": "zero\n"})
    yield place
    place.queue.close()


def candidates(place):
    return {
        "first": place.accepted("Say one", part_0="one\n"),
        "second": place.accepted("Add two", part_2="two\n"),
        "conflict": place.accepted("Say other", part_0="other\n"),
        "fails": place.accepted("Add two again", part_5="two\n"),
    }


class Steps:
    """Counts what a lander does to the world; from step `at` on something happens to it."""

    def __init__(self, at, happens):
        self.at, self.happens, self.count = at, happens, 0

    def wrap(self, owner, name):
        real = getattr(owner, name)

        def stepped(*args, **more):
            self.count += 1
            if self.count >= self.at:
                self.happens(owner)
            return real(*args, **more)

        setattr(owner, name, stepped)

    def watch(self):
        """Every git command, every record, every word to the queue."""
        self.wrap(git_command.Git, "_run")
        for module in (landing_json, json_record, seals):
            self.wrap(module, "write_atomically")
        for name in ("close_task", "reopen_task"):
            self.wrap(SqlQueue, name)
        return self


def killed(_):
    os.kill(os.getpid(), signal.SIGKILL)


def disk_full(owner):
    """As git, a record and the queue meet it."""
    if owner is git_command.Git:
        raise GitFailed("unable to write: No space left on device")
    if owner is SqlQueue:
        raise QueueError("database or disk is full")
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def land_until(place, at, happens, trains=1):
    """Land in a child process to which something happens from step `at` on; whether it did."""
    child = os.fork()
    if child == 0:
        code = 2
        try:
            steps = Steps(at, happens).watch()
            place.land(trains=trains)
            code = int(steps.count >= at)
        except BaseException:  # noqa: BLE001 - a child that fails must not go on with the tests
            traceback.print_exc()
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, 1, -signal.SIGKILL)
    return code != 0


def check_green(place, tmp_path):
    for value in place.values():
        tree = tmp_path / f"fresh-{value[:12]}"
        if not tree.exists():
            clone = ["git", "clone", "-q", str(place.repo.root), str(tree)]
            subprocess.run(clone, check=True, env=ENV, timeout=30)
            subprocess.run(["git", "checkout", "-q", value], cwd=tree, check=True, env=ENV)
        done = subprocess.run(["sh", "-c", place.verify], cwd=tree, check=False, timeout=30)
        assert done.returncode == 0, value


@pytest.mark.parametrize(("happens", "start"), [(killed, 1), (killed, 3), (disk_full, 2)])
def test_a_lander_that_is_cut_off_at_every_step_loses_nothing(scene, tmp_path, happens, start):
    """Cut off at one step, then at a later one, and so on, until a lander comes through.

    Every value of the branch passes, each task is closed with its commit on the branch or open with
    what it was sent back for, and nothing lands twice.
    """
    tasks = candidates(scene)
    at, times = start, 0
    while land_until(scene, at, happens):
        at += often(16, 6)
        times += 1
        assert at < MOST
    assert times > 2
    scene.land()
    status = {name: scene.status(task) for name, task in tasks.items()}
    assert status == {"first": "closed", "second": "closed", "conflict": "open", "fails": "open"}
    check_green(scene, tmp_path)
    subjects = scene.repo.git("log", "--first-parent", "--format=%s", "main").splitlines()
    merges = [f"Add two ({tasks['second']})", f"Say one ({tasks['first']})"]
    assert sorted(subjects) == [*merges, "a commit"]
    for name in ("first", "second"):
        landed = scene.landing(tasks[name]).landed
        scene.repo.git("merge-base", "--is-ancestor", landed.commit, "main")
    assert landing_json.unlanded(scene.home) == sorted([tasks["conflict"], tasks["fails"]])
    assert scene.repo.git("status", "--porcelain") == ""
    assert (scene.repo.root / "part-2").read_text() == "two\n"


#: Steps that a lander gets before it is killed: enough to bring one task home, or to fold a batch
#: and verify it once, and not for both halves of a batch that fails.
FEW = 45
#: Lives for each task that land all of it: brought home, folded, verified, moved.
LIVES = 3


def test_a_lander_that_is_killed_again_and_again_comes_to_its_end(scene):
    """However often it is killed after the same few steps, the next one goes on where it was: no
    tree is verified twice, and all is landed or sent back after a few lives for each task.
    """
    tasks = {
        f"task {number}": scene.accepted(f"Add {number}", **{f"part_{number}": text})
        for number, text in enumerate(("one\n", "bad\n", "three\n", "four\n"), start=1)
    }
    lives = 1
    while land_until(scene, FEW, killed, trains=20):
        lives += 1
        assert lives <= LIVES * len(tasks), {
            name: scene.state(task) for name, task in tasks.items()
        }
    scene.land()
    states = [scene.status(task) for task in tasks.values()]
    assert states == ["closed", "open", "closed", "closed"]
    # The batch, its first half, each of these two, and the other half with what is left.
    assert scene.runs() <= 5
