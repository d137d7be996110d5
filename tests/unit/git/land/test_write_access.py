"""A checkout does not move while a living box can write where git writes."""

import fcntl
import threading

import pytest

from fleet.files.file_lock import exclusive
from fleet.git.land.fast_forward import finish_moves
from fleet.git.land.fold import fold
from fleet.git.land.held_index import MeantMove, hold_index
from fleet.git.land.move_line import Moved, move
from fleet.git.land.target import read_target
from fleet.git.land.write_access import can_write
from fleet.git.repository import Repository
from fleet.processes import keeper_client
from fleet.sandbox.bwrap_argv import Box, bwrap_argv, written_by
from tests.story.stage import Stage
from tests.unit.git.land.conftest import candidate, side

REPO = Repository(root="/p/repo", git_dir="/p/git/worktrees/x", common_dir="/p/git")
#: Stays alive until the file in its place is there; the words of a box behind it mean nothing.
WAITS = ("sh", "-c", 'until [ -e "$0" ]; do sleep 0.05; done')


@pytest.fixture
def stage(tmp_path):
    made = Stage(tmp_path / "stage")
    made.root.mkdir()
    yield made
    made.close()


@pytest.fixture
def go(tmp_path):
    return tmp_path / "go"


def agent(stage, go, *places, **spec):
    """A living run with the command line of a box that writes these places."""
    words = bwrap_argv(Box(home="/home/u", cwd="/", write=places), ("agent",))
    argv = (*WAITS, str(go), *words)
    run = stage.run(*argv, task="fleet-9", id="home.fleet-9.1", **{"boxed": True, **spec})
    return stage.start(run)


def landed(land, work):
    target = read_target(land, "main")
    return move(land, target, fold(land.git, target.line, candidate(work)).commit, why="land")


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("/", True),
        ("/p", True),
        ("/p/repo", True),
        ("/p/repo/src", True),
        ("/p/repo/src/a/b", True),
        ("/p/git", True),
        ("/p/git/worktrees/x/logs", True),
        ("/p/git/objects", True),
        ("/p/repo/cache", False),
        ("/p/repo/srcs", False),
        ("/p/repository", False),
        ("/q", False),
    ],
)
def test_a_place_counts_where_git_writes_in_it(place, expected):
    """Above the checkout, in its git directory, or on the way to a file that changes."""
    assert can_write([place], REPO, [b"src/a", b"top"]) is expected


def test_a_box_writes_what_its_command_line_binds_for_writing():
    """Read-only mounts do not count."""
    box = Box(home="/home/u", cwd="/w", read=("/r",), write=("/w", "/v"))
    assert sorted(written_by(bwrap_argv(box, ("agent",)))) == ["/v", "/w"]


@pytest.mark.parametrize("where", ["above", "itself", "inside"])
def test_a_checkout_stays_while_a_living_run_can_write_there(repo, land, stage, go, where):
    """The text names the checkout and the task, and the branch moves after the end of the run."""
    work = side(repo, new__file="1\n")
    (repo.root / "new").mkdir()
    place = {"above": repo.root.parent, "itself": repo.root, "inside": repo.root / "new"}[where]
    keeper = agent(stage, go, str(place))
    done = landed(land, work)
    assert done.behind == (
        f"main is checked out at {repo.root}, where fleet-9 is at work:"
        " fleet lands when its run ends"
    )
    assert list((repo.root / "new").iterdir()) == []
    assert not (repo.root / ".git/index.lock").exists()
    go.touch()
    assert keeper.wait(10)
    target = read_target(land, "main")
    assert move(land, target, target.line, why="follow") == Moved(commit=target.line)
    assert (repo.root / "new/file").read_text() == "1\n"


def test_a_run_that_writes_elsewhere_or_has_no_box_is_not_waited_for(repo, land, stage, go):
    """A directory of the checkout that nothing of the work is in; and the person's permissions."""
    (repo.root / "cache").mkdir()
    agent(stage, go, str(repo.root / "cache"))
    unboxed = stage.run(*WAITS, str(go), "--bind", str(repo.root), task="fleet-8")
    stage.start(unboxed)
    assert landed(land, side(repo, new="1\n")).behind == ""
    go.touch()


def test_a_move_that_was_cut_off_waits_for_the_run_too(repo, land, stage, go):
    """What a killed process began is finished after the end of the run."""
    old, new = repo.git("rev-parse", "HEAD"), side(repo, new="1\n")
    held = hold_index(read_target(land, "main").checkouts[0].repo)
    assert held.take_lock()
    held.mean(MeantMove(ref="refs/heads/main", old=old, new=new))
    held.let_go()
    (repo.root / "new").write_text("1\n")
    keeper = agent(stage, go, str(repo.root))
    finish_moves(land)
    assert (repo.root / "new").exists()
    assert (repo.root / ".git/index.lock").exists()
    go.touch()
    assert keeper.wait(10)
    finish_moves(land)
    assert not (repo.root / "new").exists()
    assert not (repo.root / ".git/index.lock").exists()


def test_a_box_does_not_start_while_a_checkout_moves(stage, go, tmp_path):
    """The start waits for the lock of the move."""
    lock, run = tmp_path / "moves.lock", stage.run("true")
    start = threading.Thread(
        target=lambda: stage.keepers.append(keeper_client.start_keeper(run, {}, moves=lock))
    )
    with exclusive(lock):
        start.start()
        start.join(0.5)
        assert start.is_alive()
        assert not run.lock.exists()
    start.join(10)
    assert stage.keepers[0].wait(10)
    assert run.exit().code == 0


def test_the_lock_is_held_while_a_checkout_moves(repo, land, tmp_path, monkeypatch):
    """From the look at the living runs until the index is in place."""
    seen = []

    def look(*_):
        with (tmp_path / "home/moves.lock").open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                seen.append("held")
        return ""

    monkeypatch.setattr("fleet.git.land.fast_forward.writer_in", look)
    assert landed(land, side(repo, new="1\n")).behind == ""
    assert seen == ["held"]
