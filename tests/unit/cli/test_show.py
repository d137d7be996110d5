"""`fleet show`: what a person reads of one task."""

import pytest

from fleet.bd.pflag import Parsed
from fleet.cli.tracker.ready import ready
from fleet.cli.tracker.show import show
from fleet.config import default_text
from fleet.home import worktree_json
from fleet.home.worktree_json import Worktree
from fleet.processes.supervisor_lock import sole_supervisor
from fleet.queue.protocol import Draft


@pytest.fixture
def fleet(fleet, monkeypatch):
    """A home that commands find by themselves."""
    fleet.home.config.write_text(default_text(queue="embedded"))
    monkeypatch.setenv("FLEET_HOME", str(fleet.home.path))
    return fleet


def test_a_worktree_that_is_gone_is_told_by_its_branch(fleet, tmp_path, capsys):
    """That is where the work is; while the tree is there, its path is."""
    task = fleet.queue.add(Draft(title="t"))
    tree = Worktree(
        path=str(tmp_path / "tree"), repository="/repo", commit="c", branch="fleet/1", made=True
    )
    worktree_json.write(fleet.home, task.id, tree)
    show(Parsed({}, (task.id,)))
    assert "gone; the work is on the branch fleet/1 of /repo" in capsys.readouterr().out
    (tmp_path / "tree").mkdir()
    show(Parsed({}, (task.id,)))
    assert f"{tree.path} on fleet/1\n" in capsys.readouterr().out


def test_the_coder_and_the_model_are_those_of_the_next_run(fleet, capsys):
    """A configured model of another coder gives way to the coder's own."""
    fleet.home.config.write_text(default_text(queue="embedded", coder="codex"))
    task = fleet.queue.add(Draft(title="t"))
    show(Parsed({}, (task.id,)))
    shown = capsys.readouterr().out
    assert "coder:       codex (default)\nmodel:       o4-mini (default)\n" in shown


def test_the_coder_of_the_running_supervisor_is_shown(fleet, capsys):
    """`fleet run --coder` holds for show and ready alike; without a supervisor, runtime.toml."""
    task = fleet.queue.add(Draft(title="t"))
    show(Parsed({}, (task.id,)))
    shown = capsys.readouterr().out
    assert "coder:       claude (default)\nmodel:       sonnet (default)\n" in shown
    with sole_supervisor(fleet.home, "codex"):
        show(Parsed({}, (task.id,)))
        ready(Parsed({"json": True}, ()))
    shown = capsys.readouterr().out
    assert "coder:       codex (default)\nmodel:       o4-mini (default)\n" in shown
    assert '"coder": "codex",\n    "model": "o4-mini",' in shown
