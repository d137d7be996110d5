"""Which command lines are acts: what changes something, and not what looks."""

import click

from fleet.cli import COMMANDS
from fleet.cli.inspect.acting_lines import ACTS, acts, tracker_acts
from fleet.cli.root import root
from fleet.spool.agent_rights import BD

#: The commands that only look, and those that a person starts to look or to work.
LOOKS = {
    "accounts", "account check", "account list", "audit", "coders", "completion", "config show",
    "demo", "doctor", "hosts", "log", "mcp", "metrics", "notify", "notify run", "notify status",
    "notify test", "otel", "otel run", "otel status", "otel test", "plan show", "questions",
    "queue roles", "queue status", "ready", "schedule list", "show", "stats", "status", "task",
    "tasks", "top", "usage", "web", "web sessions",
}  # fmt: skip
#: Groups that do nothing without a command of theirs.
GROUPS = {"plan", "service", "schedule", "account", "host", "config", "queue"}


def commands():
    """Every command by its path, with its declaration."""
    context = click.Context(root)
    for name in set(COMMANDS) - {"bd"}:
        command = root.get_command(context, name)
        yield name, command
        for each, below in getattr(command, "commands", {}).items():
            yield f"{name} {each}", below


def test_every_command_acts_or_is_known_to_look():
    """A new one does not stay out of the audit unseen, and one that is gone is taken off."""
    paths = {path for path, _ in commands()}
    assert set(ACTS) | LOOKS | GROUPS == paths
    assert not set(ACTS) & LOOKS


def test_an_act_is_told_by_options_and_words_that_its_command_has():
    """An option that is renamed does not fall out of the audit."""
    declared = {
        path: {str(each.name) for each in command.params}
        | {name.lstrip("-") for each in command.params for name in each.opts}
        for path, command in commands()
    }
    for path, when in ACTS.items():
        assert when.given <= declared[path], path


def test_what_only_looks_is_no_act():
    """The same command may look and act."""
    assert acts("review", {"reject"})
    assert not acts("review", {"json"})
    assert acts("land", {"task_ids"})
    assert not acts("land", {"task_ids", "check"})
    assert not acts("host add", {"dry-run"})
    assert not acts("status", ())


def test_a_line_of_the_tracker_acts_by_its_verb():
    """Not by a value that is called like one."""
    for line in (
        "create x", "close x", "dep add a b", "dep remove a b", "comments add x y",
        "ready --claim", "rename-prefix x", "--json close x", "create x -d --help",
        "update x --title -h", "create x -d --dry-run --json", "create -- --help",
        "--db show close x", "--actor list close x", "ready --claim --nonsense",
    ):  # fmt: skip
        assert tracker_acts(line.split()), line
    for line in (
        "", "list", "show x", "dep tree x", "create -h", "create x --dry-run", "comments x",
        "create x --json --dry-run", "create x -d text --help", "--db close show x",
        "ready --nonsense", "help close",
    ):  # fmt: skip
        assert not tracker_acts(line.split()), line


def test_the_tracker_looks_where_an_agent_may_read():
    """The two tables were written apart, and mean the same."""
    reads = {name for name, right in BD.items() if right.kind == "read"}
    assert {name for name in BD if not tracker_acts(name.split())} == reads | {"info", "ping"}
