"""A session on its way from a box to the next run: whole, its own, or not at all."""

import json
import os
from datetime import UTC, datetime

import pytest

from fleet.coders.claude import ClaudeCoder
from fleet.coders.codex import CodexCoder
from fleet.files.agent_place import AgentPlace
from fleet.home import Home, make_home
from fleet.runs.cli_state.state_directory import state_directory
from fleet.runs.outcome_history import Ending, write_ending
from fleet.runs.run_directory import RunSpec, new_run
from fleet.schemas import Finished, Released
from fleet.settlement import session_files
from fleet.settlement.session_files import (
    find_session,
    keep_sessions,
    kept_sessions,
    left_states,
)

PLACES = {
    "claude": (ClaudeCoder, "projects/-tmp-clone/s-1.jsonl"),
    "codex": (CodexCoder, "sessions/2026/11/16/rollout-2026-11-16T12-00-00-s-1.jsonl"),
}
RECORD = b'{"turn": 1}\n{"turn": 2}\n'


@pytest.fixture
def home(tmp_path):
    home = Home(tmp_path / "home")
    make_home(home)
    return home


def ended(home, coder="claude", session_id="s-1", record=RECORD):
    """A run in a box that is over, whose CLI left the record of a session."""
    run = new_run(home.task("fleet-1"), RunSpec(argv=("x",), cwd="/", boxed=True))
    place = state_directory(run) / PLACES[coder][1]
    place.parent.mkdir(parents=True)
    place.write_bytes(record)
    (state_directory(run) / "auth.json").write_text("canary")
    ending = Ending(
        outcome=Finished(), settlement=Released(), counts=False, why="", progress=False,
        at=datetime.now(UTC), fence=1, coder=coder, session_id=session_id,
    )  # fmt: skip
    write_ending(run, ending)
    return run, place


@pytest.mark.parametrize("coder", PLACES)
def test_a_session_is_kept_and_the_rest_of_the_state_deleted(home, coder):
    """At the same place below: a directory goes by where it worked, or when it began."""
    kind, place = PLACES[coder]
    run, _ = ended(home, coder)
    assert list(left_states(home)) == ["fleet-1"]
    assert keep_sessions(home, "fleet-1") == []
    kept = home.task("fleet-1") / "sessions" / coder / place
    assert kept.read_bytes() == RECORD
    assert kept.stat().st_mode & 0o777 == 0o600
    assert not state_directory(run).exists()
    assert list(left_states(home)) == []
    assert "canary" not in str([p.read_bytes() for p in home.path.rglob("*") if p.is_file()])
    found = find_session(kept_sessions(run.task_dir, kind), kind, "s-1")
    found.copy_to(AgentPlace(home.path / "next"))
    assert (home.path / "next" / place).read_bytes() == RECORD


def test_what_belongs_to_a_session_comes_with_it(home):
    """Long results of tools, which the record only names; nothing of another session."""
    _, place = ended(home)
    (place.parent / "s-1/tool-results").mkdir(parents=True)
    (place.parent / "s-1/tool-results/a.txt").write_text("no JSON")
    (place.parent / "s-2.jsonl").write_text("{}")
    keep_sessions(home, "fleet-1")
    kept = home.task("fleet-1") / "sessions/claude/projects/-tmp-clone"
    assert sorted(str(p.relative_to(kept)) for p in kept.rglob("*") if p.is_file()) == [
        "s-1.jsonl", "s-1/tool-results/a.txt",
    ]  # fmt: skip


def plant_at_the_record(place, secret):
    place.unlink()
    place.symlink_to(secret)


def plant_at_its_directory(place, secret):
    (secret.parent / place.name).write_text(secret.read_text())
    place.unlink()
    place.parent.rmdir()
    place.parent.symlink_to(secret.parent)


def plant_above(place, secret):
    top = place.parents[1] if place.parents[1].name == "projects" else place.parents[3]
    below = secret.parent / place.relative_to(top)
    below.parent.mkdir(parents=True)
    below.write_text(secret.read_text())
    top.rename(top.with_name("moved"))
    top.symlink_to(secret.parent)


def plant_an_endless_file(place, secret):
    place.unlink()
    place.symlink_to("/dev/zero")


def plant_a_pipe(place, secret):
    place.unlink()
    os.mkfifo(place)


def plant_no_json(place, secret):
    place.write_text("canary\n")


def plant_too_much(place, secret):
    place.unlink()
    with place.open("wb") as file:
        file.truncate((128 << 20) + 1)


PLANTED = (
    plant_at_the_record, plant_at_its_directory, plant_above, plant_an_endless_file, plant_a_pipe,
    plant_no_json, plant_too_much,
)  # fmt: skip


@pytest.mark.parametrize("coder", PLACES)
@pytest.mark.parametrize("plant", PLANTED)
def test_nothing_but_a_record_of_the_runs_own_is_taken_over(home, tmp_path, coder, plant):
    """An agent that puts something else there loses its session, and reads no file of the user."""
    secret = tmp_path / "outside/secret.json"
    secret.parent.mkdir()
    secret.write_text('{"canary": 1}')
    run, place = ended(home, coder)
    plant(place, secret)
    keep_sessions(home, "fleet-1")
    assert not state_directory(run).exists()
    assert (
        find_session(kept_sessions(run.task_dir, PLACES[coder][0]), PLACES[coder][0], "s-1") is None
    )
    kept = (run.task_dir / "sessions").rglob("*")
    assert "canary" not in str([path.read_bytes() for path in kept if path.is_file()])
    assert secret.read_text() == '{"canary": 1}'


@pytest.mark.parametrize("name", ["record", "directory", "top"])
def test_nothing_is_written_through_a_link_in_the_target(home, tmp_path, name):
    """The state that a session moves to may be one that an agent without a box could write."""
    run, _ = ended(home)
    keep_sessions(home, "fleet-1")
    found = find_session(kept_sessions(run.task_dir, ClaudeCoder), ClaudeCoder, "s-1")
    outside, target = tmp_path / "outside", tmp_path / "state"
    outside.mkdir()
    (outside / "bashrc").write_text("mine")
    folder = target / "projects/-tmp-clone"
    if name == "record":
        folder.mkdir(parents=True)
        (folder / "s-1.jsonl").symlink_to(outside / "bashrc")
        found.copy_to(AgentPlace(target))
        assert not (folder / "s-1.jsonl").is_symlink()
    else:
        place = folder if name == "directory" else target / "projects"
        place.parent.mkdir(parents=True)
        place.symlink_to(outside)
        with pytest.raises(Exception, match="cannot be opened"):
            found.copy_to(AgentPlace(target))
    assert (outside / "bashrc").read_text() == "mine"
    assert [path.name for path in outside.iterdir()] == ["bashrc"]


def test_a_record_that_was_cut_off_is_kept_as_it_is(home):
    """Its CLI was killed in mid-line, and reads its own file."""
    cut = RECORD + b'{"tu'
    ended(home, record=cut)
    keep_sessions(home, "fleet-1")
    kept = home.task("fleet-1") / "sessions/claude" / PLACES["claude"][1]
    assert kept.read_bytes() == cut


@pytest.mark.parametrize("step", ["copy_to", "drop_state"])
def test_a_kill_at_any_step_loses_no_session(home, monkeypatch, step):
    """The state stays until all is kept; whoever comes next takes it over."""
    run, _ = ended(home)
    where = session_files.SessionFiles if step == "copy_to" else session_files

    def die(*args):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(where, step, die)
        with pytest.raises(KeyboardInterrupt):
            keep_sessions(home, "fleet-1")
    assert state_directory(run).exists()
    keep_sessions(home, "fleet-1")
    assert find_session(kept_sessions(run.task_dir, ClaudeCoder), ClaudeCoder, "s-1") is not None
    assert not state_directory(run).exists()


def test_the_state_of_a_run_without_an_ending_stays_until_it_is_over(home):
    """It may be living."""
    run = new_run(home.task("fleet-1"), RunSpec(argv=("x",), cwd="/"))
    state_directory(run).mkdir()
    keep_sessions(home, "fleet-1")
    assert state_directory(run).exists()
    keep_sessions(home, "fleet-1", all_over=True)
    assert not state_directory(run).exists()


def test_the_latest_run_of_a_session_is_the_one_that_is_kept(home):
    """Two runs are taken over at once: the first was left by a supervisor that was killed."""
    ended(home)
    ended(home, record=RECORD + b'{"turn": 3}\n')
    keep_sessions(home, "fleet-1")
    kept = home.task("fleet-1") / "sessions/claude" / PLACES["claude"][1]
    assert json.loads(kept.read_bytes().splitlines()[-1]) == {"turn": 3}
