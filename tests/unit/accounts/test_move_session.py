"""A session on its way from one account to another: whole, or not at all."""

import json

import pytest

from fleet.accounts.move_session import move, moving
from fleet.coders.claude import ClaudeCoder
from fleet.coders.codex import CodexCoder


@pytest.fixture
def homes(tmp_path):
    """Where two accounts keep their state, as environments by coder."""
    names = {"claude": "CLAUDE_CONFIG_DIR", "codex": "CODEX_HOME"}
    return lambda coder: [{names[coder]: str(tmp_path / name)} for name in ("one", "two")]


PLACES = {
    "claude": (ClaudeCoder, "projects/-tmp-worktree/s-1.jsonl"),
    "codex": (CodexCoder, "sessions/2026/11/16/rollout-2026-11-16T12-00-00-s-1.jsonl"),
}


@pytest.mark.parametrize("coder", PLACES)
def test_a_session_stands_at_the_same_place_of_the_other_account(tmp_path, homes, coder):
    """Its directory goes by where it worked or when it began, and neither has changed."""
    kind, place = PLACES[coder]
    old = tmp_path / "one" / place
    old.parent.mkdir(parents=True)
    old.write_text(json.dumps({"turn": 1}))
    old.with_name("another.jsonl").write_text("{}")
    move(moving(kind("m"), "s-1", *homes(coder)))
    new = tmp_path / "two" / place
    assert new.read_text() == old.read_text()
    assert new.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in new.parent.iterdir()] == [new.name]


def test_a_session_that_is_there_already_need_not_move(homes):
    """Two accounts with secrets may share one directory of state."""
    one, _ = homes("claude")
    assert moving(ClaudeCoder("m"), "s-1", one, one) == ()


def test_a_session_that_is_gone_goes_on_nowhere(tmp_path, homes):
    """Nothing is there, or only a link to what was."""
    assert moving(ClaudeCoder("m"), "s-1", *homes("claude")) is None
    place = tmp_path / "one" / PLACES["claude"][1]
    place.parent.mkdir(parents=True)
    place.symlink_to(tmp_path / "nothing")
    assert moving(ClaudeCoder("m"), "s-1", *homes("claude")) is None
