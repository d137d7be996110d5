"""Which command lines are acts: what changes something, and not what looks."""

import pytest

from fleet.cli import COMMANDS
from fleet.cli.inspect import acting_lines
from fleet.cli.inspect.acting_lines import is_act


@pytest.mark.parametrize(
    "line",
    [
        "answer x yes", "stop --all --now", "pause", "bd create x", "bd close x", "bd dep add a b",
        "config set a=b", "land x", "land --all", "review x --approve", "plan approve x",
        "task x restore a.py", "account add me", "shutdown", "mcp install claude --write",
    ],
)  # fmt: skip
def test_what_changes_something_is_an_act(line):
    """Whatever its end is."""
    assert is_act(line.split())


@pytest.mark.parametrize(
    "line",
    [
        "", "status", "bd", "bd list", "bd show x", "bd dep tree x", "config show", "land",
        "land --check", "review x", "plan show x", "task x plan", "stop --help", "bd create -h",
        "mcp install claude", "mcp --operator", "bd create x --dry-run", "audit", "run",
    ],
)  # fmt: skip
def test_what_looks_is_none(line):
    """It changes nothing."""
    assert not is_act(line.split())


def test_only_commands_that_exist_are_named():
    """A command that is renamed does not fall out of the audit."""
    assert set(acting_lines._ALWAYS) | set(acting_lines._WITH) <= set(COMMANDS)
