"""Which command lines are acts: what changes something, and not what looks."""

import click
import pytest

from fleet.cli import COMMANDS
from fleet.cli.inspect import acting_lines
from fleet.cli.inspect.acting_lines import is_act
from fleet.cli.root import root
from fleet.spool.agent_rights import BD


@pytest.mark.parametrize(
    "line",
    [
        "answer x yes", "stop --all --now", "pause", "bd create x", "bd close x", "bd dep add a b",
        "config set a=b", "land x", "land --all", "review x --approve", "plan approve x",
        "account add me", "shutdown", "mcp install claude --write",
        "web pair", "web revoke 1f", "host drain box", "queue accept", "compare x --with codex",
        "run --detach", "trust x", "land x --json", "bd dep remove a b", "bd comments add x y",
        "bd ready --claim", "bd rename-prefix x", "bd --json close x",
        "bd create x -d --help", "bd update x --title -h", "bd create x -d --dry-run --json",
        "bd create -- --help", "tell x -- --help",
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
        "mcp install claude", "mcp --operator", "bd create x --dry-run", "audit", "run", "trust",
        "trust --json", "land --json", "web", "web sessions", "bd comments x", "compare x",
        "bd create x --json --dry-run", "bd create x -d text --help", "stop --all --help",
    ],
)  # fmt: skip
def test_what_looks_is_none(line):
    """It changes nothing."""
    assert not is_act(line.split())


def test_only_commands_that_exist_are_named():
    """A command that is renamed does not fall out of the audit."""
    named = acting_lines._ALWAYS | acting_lines._WITH.keys() | acting_lines._NAMING.keys()
    assert named <= set(COMMANDS)


def test_every_command_of_a_group_acts_or_is_known_to_look():
    """A new one does not stay out of the audit unseen, and one that is gone is taken off."""
    looks = {
        "plan": {"show"}, "web": {"sessions"}, "notify": {"run", "test", "status"},
        "otel": {"run", "test", "status"}, "schedule": {"list"}, "account": {"list", "check"},
        "config": {"show"}, "queue": {"status", "roles"}, "mcp": {"install"},
    }  # fmt: skip
    for name in set(COMMANDS) - {"bd"}:
        command = root.get_command(click.Context(root), name)
        if isinstance(command, click.Group):
            verbs = {word for word in acting_lines._WITH.get(name, ()) if not word.startswith("-")}
            assert verbs | looks.get(name, set()) == set(command.commands), name


def test_the_tracker_looks_where_an_agent_may_read():
    """The two tables were written apart, and mean the same."""
    reads = {name for name, right in BD.items() if right.kind == "read"}
    assert {name for name in BD if not is_act(["bd", *name.split()])} == reads | {"info", "ping"}
