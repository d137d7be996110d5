"""Every command and flag that bd's own --help lists is carried out, does nothing, or is refused by
its name with the way to have it.
"""

import pytest

from fleet.bd.command import GLOBAL
from fleet.bd.command_line import STORAGE, VERBS, find_verb
from fleet.bd.only_beads import bd_help

HELP = bd_help()
#: The flags that only beads has, by command. A flag that bd adds, or fleet drops, changes this.
ONLY_BEADS = {
    "close": "continue",
    "create": "ephemeral event-actor event-category event-payload event-target mol-type repo"
    " storage-class wisp-type",
    "export": "scrub",
    "list": "mol-type offset watch wisp-type",
    "ready": "explain gated mol mol-type offset",
    "show": "as-of thread watch",
    "update": "await-id ephemeral",
}
#: Kinds of flags that need no value; all others do.
BARE = ("switch", "optional")
OURS = sorted(name for name in VERBS if HELP.command(name) in HELP.commands)


def declared(name):
    """The flags of a command of fleet's, by each of their names."""
    flags = (*find_verb(name).flags, *GLOBAL)
    return {word: flag for flag in flags for word in (flag.name, *flag.aliases)}


@pytest.mark.parametrize("name", OURS)
def test_every_flag_of_bd_is_declared_or_known_to_be_beads_alone(name):
    """A flag that disappears here would fail every call of a client that gives it."""
    ours, theirs = declared(name), HELP.flags(name)
    missing = sorted(theirs.keys() - ours.keys())
    assert " ".join(missing) == ONLY_BEADS.get(HELP.command(name), "")


@pytest.mark.parametrize("name", OURS)
def test_a_flag_takes_a_value_exactly_where_bd_takes_one(name):
    """Otherwise the next word of the line is taken for a value, or a value for a word."""
    ours = declared(name)
    for flag, (letter, kind) in HELP.flags(name).items():
        if flag in ours:
            expected = kind if kind == "optional" else "value" if kind else "switch"
            found = ours[flag].kind
            assert (found if found in BARE else "value") == expected, flag
            assert letter in ("", ours[flag].short), flag


@pytest.mark.parametrize(
    ("name", "flag"), [(name, flag) for name, flags in ONLY_BEADS.items() for flag in flags.split()]
)
def test_a_flag_that_only_beads_has_is_refused_by_name(bd, name, flag):
    """The person learns that the flag is no typing error, and where it works."""
    letter, _ = HELP.flags(name)[flag]
    for written in [f"--{flag}", *([f"-{letter}"] if letter else [])]:
        said = bd.misused([name, written, "x"])
        assert f"--{flag}" in said
        assert "fleet init --queue beads" in said


@pytest.mark.parametrize("name", sorted(HELP.commands))
def test_a_command_of_bd_is_answered_or_refused_by_name(bd, name):
    """Only a command that bd does not know either is called unknown."""
    first = name.split(" ", maxsplit=1)[0]
    if name in VERBS or first in STORAGE or any(verb.startswith(f"{name} ") for verb in VERBS):
        return
    if first in VERBS or any(verb.startswith(f"{first} ") for verb in VERBS):
        return  # the words behind are those of the command
    said = bd.misused(name)
    assert f"`bd {first}`" in said
    assert "fleet init --queue beads" in said


def test_a_typing_error_is_called_unknown(bd):
    """Beads would not help with these."""
    assert bd.misused("lsit").startswith('unknown command "lsit" for "bd"')
    assert bd.misused("list --al") == "unknown flag: --al"
    assert bd.misused("list -y") == "unknown shorthand flag: 'y' in -y"


IDLE = [
    (name, flag)
    for name in ("children", "comments", "list", "prime", "ready", "search", "show", "stats")
    for flag in (*find_verb(name).flags, *GLOBAL)
    if flag.ignored
]


@pytest.mark.parametrize(("name", "flag"), IDLE, ids=lambda value: getattr(value, "name", value))
def test_a_flag_without_a_meaning_here_changes_nothing(bd, name, flag):
    """A client gives it to each call, and reads the same answer."""
    bd.tasks("a", "b", labels=("x",))
    bd.ok("dep add b a -t parent-child")
    bd.ok("comment a hello")
    bd.clock.pass_(minutes=1)
    words = {"search": ["task"], "children": ["a"], "comments": ["a"], "show": ["a", "b"]}
    line = [name, *words.get(name, [])]
    value = [] if flag.kind in BARE else ["1"]
    for form in ([], ["--json"]):
        given = [*line, f"--{flag.name}", *value, *form]
        assert bd(given) == bd([*line, *form])
