"""An agent's line of fleet's: read once, and what was ruled is what runs."""

import click
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs

from fleet.cli import COMMANDS, agent_line, fast_path
from fleet.cli.fast_path import QUICK
from fleet.cli.root import fleet, root
from fleet.errors import Refused
from fleet.spool.agent_rights import FLEET

TASK = "fleet-own"
#: Commands whose modules take long to import, which no line that reads them changes.
SLOW = {"top", "web", "demo"}


def commands():
    """Every command of the program by its path, groups too."""
    found = {(): root}
    context = click.Context(root)
    for name in COMMANDS:
        if name not in SLOW:
            _add(found, (name,), root.get_command(context, name))
    return found


def _add(found, path, command):
    found[path] = command
    for name, each in getattr(command, "commands", {}).items():
        _add(found, (*path, name), each)


ALL = commands()
#: Values that a reader could take for something else.
VALUES = (
    "1", "diff", "log", "receipt", "restore", "trust", "--force", "-f", "-ff", "--", "--run", "x",
    "stop", "bd", "a=b", "", "--json", "-", "7d", "task", "--help=1",
)  # fmt: skip


@st.composite
def options(draw, path):
    """An option in one of the ways that it can be typed, with a value that misleads."""
    declared = [each for each in ALL[path].params if isinstance(each, click.Option)]
    known = [name for each in declared for name in (*each.opts, *each.secondary_opts)]
    name = draw(st.sampled_from([*known, "--nonsense", "--follow", "-f", "--fol", "-q"]))
    value = draw(st.sampled_from(VALUES))
    if not name.startswith("--"):
        cluster = "".join(draw(st.lists(st.sampled_from("fnwjh2"), max_size=3)))
        return draw(st.sampled_from([[name], [f"{name}{cluster}"], [f"{name}{value}"],
                                     [name, value]]))  # fmt: skip
    return draw(st.sampled_from([[name], [f"{name}={value}"], [name, value]]))


@st.composite
def lines(draw):
    """A line of some command, with words and options in any order."""
    path = draw(st.sampled_from(sorted(ALL)))
    front = [word for part in draw(st.lists(options(()), max_size=1)) for word in part]
    words = st.sampled_from([*VALUES, "fleet-other"]).map(lambda word: [word])
    rest = draw(st.lists(st.one_of(words, options(path)), max_size=6))
    line = [*front, *path, *(word for part in rest for word in part)]
    return draw(st.sampled_from([line, ["help", *line], [*line[:1], "--", *line[1:]]]))


class Calls:
    """What a line came to: each function that would be called, with what it would be given."""

    def __init__(self, monkeypatch):
        self.made = []
        calls = self

        def invoke(context, callback, /, *args, **given):
            path, at = [], context
            while at.parent is not None:
                path, at = [at.info_name, *path], at.parent
            changed = {
                max(each.opts, key=len).lstrip("-")
                for each in context.command.params
                if isinstance(each, click.Option)
                and given.get(each.name) not in (each.get_default(context), None, (), False)
            }
            calls.made.append((" ".join(path), given, changed))

        def read_quickly(args):
            known = fast_path.read_quickly.__wrapped__(args)
            if known is None:
                return None
            quick, line = known
            run = lambda _: calls.made.append((quick.name, line, set(line.values))) or 0  # noqa: E731
            return structs.replace(quick, run=run), line

        read_quickly.__wrapped__ = fast_path.read_quickly
        monkeypatch.setattr(click.Context, "invoke", invoke)
        monkeypatch.setattr(click.Command, "context_class", click.Context)
        monkeypatch.setattr(fast_path, "read_quickly", read_quickly)
        monkeypatch.setattr(agent_line, "read_quickly", read_quickly)
        monkeypatch.setattr("fleet.cli.inspect.next_steps.print_next_steps", lambda: None)

    def of_person(self, args):
        self.made, click.Command.context_class = [], click.Context
        quick = fast_path.quickly(args)
        code = fleet(args) if quick is None else quick
        return code, self.made

    def of_agent(self, args):
        """None: the line is refused."""
        self.made, click.Command.context_class = [], click.Context
        try:
            code = agent_line.carry_out(args, TASK)
        except Refused:
            return None, self.made
        return code, self.made


@pytest.fixture
def calls(monkeypatch, tmp_path):
    monkeypatch.setenv("FLEET_HOME", str(tmp_path / "none"))
    return Calls(monkeypatch)


@settings(
    max_examples=1500,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(line=lines())
def test_what_was_ruled_is_what_runs(calls, capsys, line):
    """Whatever a line is made of: what is called for an agent is in the table with each option that
    it is given, and it is what the same line means for a person.
    """
    code, made = calls.of_agent(line)
    for path, _, changed in made:
        assert FLEET[path].kind == "read", (line, path)
        assert changed <= FLEET[path].flags, (line, path)
    if code is not None:
        assert (code, made) == calls.of_person(line)
    capsys.readouterr()


@pytest.mark.parametrize(
    "line",
    [
        "task V --run diff --run 1 restore --force",
        "task V --run log --run 1 restore --force new.txt",
        "task --run 1 V restore",
        "coders trust --all",
        "coders --json trust evil",
        "task V log -ff",
        "task V log -f",
        "task V events --follow",
        "log -ff",
        "log -f5",
        "tasks -w",
        "tasks --watch=true",
        "--debug coders trust --all",
        "-- stop --all",
        "bd close V",
        "-- bd close V",
        "help bd close V",
        "review V --approve",
        "review V",
        "config set a=b",
        "account",
    ],
)
def test_what_the_table_does_not_name_is_refused(calls, line):
    """By the command and the flag that click has read, wherever they stand on the line."""
    code, made = calls.of_agent(line.split())
    assert code in (None, 2), "refused, or no line that click can read"
    assert [path for path, _, _ in made] in ([], [""])


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("task V diff --run 2 --stat", "task"), ("task V --run=3 receipt --json", "task"),
        ("status", "status"), ("tasks -n 3", "tasks"), ("ready --json", "ready"),
        ("show V", "show"), ("log 5", "log"), ("usage --by task --since 7d", "usage"),
        ("stats", "stats"), ("questions --json", "questions"),
    ],
)  # fmt: skip
def test_an_agent_reads(calls, line, path):
    """The lines that it needs, with and without click."""
    _, made = calls.of_agent(line.split())
    assert made[-1][0] == path


def test_each_option_of_a_reading_command_is_decided_on():
    """A new option of a command that agents have is named in the table, or here."""
    refused = {"follow", "watch", "help", "version"}
    for path, command in ALL.items():
        right = FLEET.get(" ".join(path))
        if right is None or right.kind != "read":
            continue
        names = {
            max(each.opts, key=len).lstrip("-")
            for each in command.params
            if isinstance(each, click.Option)
        }
        assert names - refused == right.flags, path


def test_the_quick_commands_are_read_without_click():
    """An agent's `fleet status` is as quick as a person's."""
    assert all(FLEET[name].kind == "read" for name in QUICK)
