"""`fleet show`: what a person reads of one task."""

import pytest

from fleet.bd.pflag import Parsed
from fleet.cli.tracker.show import show
from fleet.config import Config, default_text
from fleet.control import Control
from fleet.home import Home, make_home, worktree_json
from fleet.home.worktree_json import Worktree
from fleet.queue.protocol import Draft


@pytest.fixture
def fleet(tmp_path, monkeypatch):
    home = Home(tmp_path / "home")
    make_home(home)
    home.config.write_text(default_text(queue="embedded"))
    monkeypatch.setenv("FLEET_HOME", str(home.path))
    control = Control(home, Config())
    yield control
    control.close()


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
