"""Where a run works: its clone with the project's set-up, or the directory itself."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fleet import config as configuration
from fleet.config import Config
from fleet.git.clone import clone_place
from fleet.schemas import Policy
from fleet.supervisor.start.workspace import NoRoom, Workspace, order_of
from tests.clones import TASK, clone_of, prepared, why


@pytest.fixture
def repo(repo):
    repo.commit(app__main_dot_py="print()\n", _dot_gitignore="*.o\n")
    return repo


# Set-up.


def test_a_clone_is_set_up_once_with_what_git_does_not_hold(home, repo):
    """From the project's own directory."""
    repo.put("app/.env", "SECRET=1\n")
    count = f"echo x >> {home.path}/count"
    copy = 'cp "$FLEET_PROJECT_DIR/.env" .'
    project = {"setup": [copy, count]}
    config = configured(home, {str(repo.root / "app"): project})
    setup = (copy, count)
    got = prepared(home, repo.root / "app", config=config, setup=setup)
    assert (Path(got.cwd) / ".env").read_text() == "SECRET=1\n"
    prepared(home, repo.root / "app", config=config, setup=setup)
    assert (home.path / "count").read_text() == "x\n"


def configured(home, projects):
    lines = "".join(
        f'[projects."{path}"]\nsetup = {body["setup"]!r}\n' for path, body in projects.items()
    )
    home.config.write_text(lines)
    return configuration.load(home.config)


def test_a_set_up_that_fails_says_why_and_is_tried_again_from_the_start(home, repo):
    """With the end of what it printed; all of it is kept."""
    setup = ("echo first >> log.o", "echo no network >&2; test -e ok.o")
    assert "no network" in why(prepared(home, repo.root, setup=setup))
    assert "ended with 1" in why(prepared(home, repo.root, setup=setup))
    place = home.clone(TASK)
    (place / "ok.o").touch()
    assert isinstance(prepared(home, repo.root, setup=setup), Workspace)
    assert (place / "log.o").read_text() == "first\n" * 3
    kept = home.task("fleet-1") / "worktree/setup.failed.1/2/stderr"
    assert kept.read_text() == "no network\n"


def test_a_set_up_has_a_time_limit(home, repo):
    """It would hold a slot for ever."""
    got = prepared(home, repo.root, time=0.5, setup=("sleep 60",))
    assert "took longer than 0.5 s" in why(got)


def test_a_stop_ends_the_set_up_and_the_next_run_begins_it_anew(home, repo, tmp_path):
    """Nothing of it runs on."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    setup = (f"echo $$ > {fifo}; test -e ok.o || exec sleep 60",)
    abandon = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(prepared, home, repo.root, abandon=abandon, setup=setup)
        pid = int(fifo.read_text())
        abandon.set()
        assert answer.result(10) is None
        assert not Path(f"/proc/{pid}").exists()
        (home.clone(TASK) / "ok.o").touch()
        again = pool.submit(prepared, home, repo.root, setup=setup)
        fifo.read_text()
        assert isinstance(again.result(10), Workspace)


# Room and place.


def test_no_new_clone_is_made_where_the_others_take_all_the_room(home, repo):
    """The task waits; a task that has a clone goes on."""
    place = clone_of(home, repo)
    (place / "result.o").write_bytes(os.urandom(1 << 20))
    clone_place.note_size(home, TASK)
    full = Config(workspace_limit="1MB")
    got = prepared(home, repo.root, "fleet-2", config=full)
    assert isinstance(got, NoRoom)
    assert "workspace_limit is 1" in got.why
    assert not home.clone("fleet-2").exists()
    assert isinstance(prepared(home, repo.root, config=full), Workspace)
    assert isinstance(prepared(home, repo.root, "fleet-2"), Workspace)


def test_outside_of_git_a_task_works_in_its_directory(home, tmp_path):
    """There is nothing to clone, and nothing to prepare."""
    policy = Policy(work_in="clone")
    assert order_of(home, Config(), task_id=TASK, cwd=str(tmp_path), policy=policy) is None
