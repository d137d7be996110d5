"""The table of what an agent may do: whole, and every row of it as promised."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleet.bd.command import GLOBAL
from fleet.bd.command_line import STORAGE, VERBS, find_verb, read_line, split_command
from fleet.bd.fleet_flags import OWN
from fleet.bd.pflag import FlagError, canonical, parse
from fleet.cli import COMMANDS
from fleet.errors import BadInput, Refused
from fleet.spool.agent_rights import BD, FLEET, allowed, check_fleet

READS = {name for name, right in BD.items() if right.kind == "read"}


def ask(line, program="bd", follow_ups=("fleet-new",)):
    return allowed(program, line.split(), task="fleet-own", follow_ups=follow_ups)


def test_every_command_of_bd_has_a_row():
    """A new verb is refused or allowed on purpose, never by accident."""
    assert set(BD) == set(VERBS) | set(STORAGE)


def test_every_row_of_fleet_names_a_command():
    """What is not in the table is refused, so a row that names nothing helps no agent."""
    assert set(FLEET) - {""} <= set(COMMANDS)


@pytest.mark.parametrize("name", sorted(BD))
def test_a_row_of_bd_does_what_it_says(name):
    """What is refused names another way; what only reads takes no task into account."""
    right = BD[name]
    if right.kind == "refused":
        with pytest.raises(Refused, match=f"`bd {name}`") as refused:
            ask(f"{name} fleet-own fleet-other")
        assert refused.value.hint
    elif right.kind in ("read", "storage", "comment"):
        assert ask(f"{name} fleet-other").kind == right.kind


@pytest.mark.parametrize("name", sorted({*FLEET, *COMMANDS}))
def test_a_row_of_fleet_does_what_it_says(name):
    """Reading is open with the flags that are named; all else is people's."""
    right = FLEET.get(name)
    if right is not None and right.kind == "read":
        check_fleet(name, right.flags, "fleet-own")
        with pytest.raises(Refused, match="with --surprise") as refused:
            check_fleet(name, {"surprise"}, "fleet-own")
    else:
        with pytest.raises(Refused, match=f"`fleet {name}`") as refused:
            check_fleet(name, (), "fleet-own")
    assert refused.value.hint


@pytest.mark.parametrize("name", ["task restore", "coders trust", "status now", "config set"])
def test_a_sub_command_without_a_row_is_refused(name):
    """The right to a command is no right to what else goes by its first word."""
    with pytest.raises(Refused, match=f"`fleet {name}`"):
        check_fleet(name, (), "fleet-own")


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("close fleet-own --reason done", "claim"),
        ("close own", "claim"),
        ("done fleet-own all of it", "claim"),
        ("reopen fleet-own", "claim"),
        ("update fleet-own --status blocked --notes Q", "claim"),
        ("update fleet-own --claim", "claim"),
        ("update fleet-own --notes progress", "note"),
        ("update fleet-own --append-notes progress", "note"),
        ("note fleet-own progress", "note"),
        ("comment fleet-other hello", "comment"),
        ("create x --priority 1 --deps fleet-own,blocks:fleet-new --parent own", "create"),
        ("dep add fleet-new fleet-own", "link"),
        ("dep add fleet-new --blocked-by fleet-own", "link"),
        ("dep", "read"),
        ("close --help", "read"),
        ("", "read"),
    ],
)
def test_an_agent_has_its_own_task_and_follow_ups(line, kind):
    """By the whole id, or without the prefix."""
    assert ask(line).kind == kind
    assert ask(f"bd {line}", "fleet").kind == kind


@pytest.mark.parametrize(
    "line",
    [
        "close fleet-other",
        "close fleet-own fleet-other",
        "update fleet-other --notes x",
        "reopen fleet-other",
        "note fleet-other x",
        "dep add fleet-own fleet-other",
        "dep add fleet-new --depends-on fleet-other",
        "create x --deps blocks:fleet-other",
        "create x --parent fleet-other",
        "ready --claim",
        "export -o /tmp/x",
        "list --actor ada",
        "list --db /tmp/x",
        "comments add fleet-own hi --author ada",
        "update fleet-own --priority 0",
        "update fleet-own --metadata {}",
        "create x --id fleet-x",
        "create x --assignee ada",
        "create x --metadata {}",
        "create x --status closed",
        "create x --defer +1d",
        "nonsense",
    ],
)
def test_the_tasks_and_names_of_others_are_closed_to_it(line):
    """In one word or another, each with a way out."""
    for program, words in (("bd", line), ("fleet", f"bd {line}")):
        with pytest.raises(Refused) as refused:
            ask(words, program)
        assert refused.value.hint


@pytest.mark.parametrize("flag", [flag.name for flag in OWN])
@pytest.mark.parametrize("line", ["create x", "update fleet-own"])
def test_none_of_fleets_own_flags_is_an_agents(line, flag):
    """What a task runs with and is held to is a person's to say."""
    with pytest.raises(Refused, match=f"--{flag}"):
        ask(f"{line} --{flag} x")


@pytest.mark.parametrize("line", ["close fleet-own --nonsense", "close", "update --status closed"])
def test_what_cannot_be_read_is_not_carried_out(line):
    """And the agent is told why."""
    with pytest.raises(BadInput):
        ask(line)


@pytest.mark.parametrize("line", ["log --follow", "stop x", "-- bd close x", "nonsense", ""])
def test_a_line_of_fleets_is_left_to_the_process_that_reads_it(line):
    """It is read once, by the command's own declaration, and not here."""
    asked = ask(line, "fleet")
    assert (asked.program, asked.args) == ("fleet", tuple(line.split()))


def test_an_empty_id_names_no_task():
    """A script's empty variable."""
    with pytest.raises(BadInput, match="no task is named"):
        allowed("bd", ["close", ""], task="fleet-own", follow_ups=())


def test_reading_never_writes():
    """No verb that always changes the queue is among those that read."""
    assert [name for name in READS if (verb := find_verb(name)) and verb.writes] == []


#: Words and values that one reader could take for something else than another does.
MISLEADING = (
    "fleet-own", "own", "fleet-new", "fleet-other", "--force", "-f", "--", "-", "--actor", "close",
    "add", "dep", "create", "x", "", "a,b", "blocks:fleet-other", "closed", "-1", "true", "--help",
    "--db", "-h", "0", "--reason=x", "--claim", "--id", "--json=false",
)  # fmt: skip


@st.composite
def flags_of(draw, verb, mostly=None):
    """A flag in one of the ways that it can be typed, with a value that misleads; mostly one of
    those that the agent may give.
    """
    known = (*(verb.flags if verb else ()), *GLOBAL, *OWN)
    some = [flag for flag in known if mostly is None or flag.name in mostly]
    flag = draw(st.sampled_from(some if some and draw(st.integers(0, 4)) else known))
    fitting = {"number": ("1", "0"), "switch": ("true", "false")}.get(flag.kind, MISLEADING)
    value = draw(st.sampled_from(fitting))
    long = draw(st.sampled_from((flag.name, *flag.aliases)))
    ways = [[f"--{long}={value}"], [f"--{long}"] if flag.kind == "switch" else [f"--{long}", value]]
    if flag.short:
        cluster = "".join(draw(st.lists(st.sampled_from("fqvj"), max_size=2)))
        ways += [[f"-{flag.short}{value}"], [f"-{cluster}{flag.short}", value],
                 [f"-{flag.short}={value}"], [f"-{flag.short}{cluster}"]]  # fmt: skip
    return draw(st.sampled_from(ways))


@st.composite
def bd_lines(draw):
    """A line of some verb, with words and flags in any order and place."""
    name = draw(st.sampled_from(sorted(name for name in BD if BD[name].kind != "storage")))
    verb, right = find_verb(name), BD[name]
    words = st.sampled_from(["fleet-own", *MISLEADING]).map(lambda word: [word])
    pieces = st.one_of(st.just(["fleet-own"]), words, flags_of(verb, right.flags))
    front = draw(st.lists(flags_of(None), max_size=1)) if draw(st.integers(0, 3)) == 0 else []
    between = draw(st.lists(flags_of(verb), max_size=1)) if " " in name else []
    rest = draw(st.lists(pieces, max_size=5))
    behind = draw(st.lists(words, min_size=1, max_size=3)) if draw(st.booleans()) else []
    first, *second = name.split()
    parts = [*front, [first], *between, second, *rest, ["--"] if behind else [], *behind]
    return [word for part in parts for word in part]


@settings(max_examples=400, deadline=None)
@given(line=bd_lines(), program=st.sampled_from(["bd", "fleet"]))
def test_what_was_ruled_of_a_line_of_bd_is_what_runs(line, program):
    """The line that is carried out is the one that was read: a person's reader and the real bd,
    which gets it in its canonical form, make the same of it.
    """
    args = ["bd", *line] if program == "fleet" else line
    try:
        asked = allowed(program, args, task="fleet-own", follow_ups=("fleet-new",))
    except (Refused, BadInput):
        return
    verb = find_verb(asked.name)
    if verb is None:
        assert (asked.line.values, asked.line.words) == ({}, ())
        return
    right, given = BD[asked.name], frozenset(asked.line.values)
    assert right.kind != "refused"
    if asked.line.switch("help"):
        assert asked.kind == "read"
        return
    theirs = frozenset(flag.name for flag in OWN) - {flag.name for flag in GLOBAL}
    assert not given & (right.refused_flags | theirs | {"actor", "author", "db", "database"})
    try:
        assert read_line(line, None, env={}).line == asked.line
    except FlagError:
        assert right.kind in ("create", "claim"), "only these know fleet's own flags"
    name, rest = split_command([*asked.name.split(), *canonical(asked.line)])
    again = parse((*verb.flags, *GLOBAL), rest)
    assert (name, dict(again.values), again.words) == (
        asked.name, dict(asked.line.values), asked.line.words,
    )  # fmt: skip
    if right.kind == "claim":
        named = asked.line.words[:1] if asked.name == "done" else asked.line.words
        assert named
        assert set(named) <= {"own", "fleet-own"}
