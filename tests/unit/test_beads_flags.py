"""Command lines are read as bd's own parser reads them."""

import pytest

from fleet.queue.beads.flags import scan, split_verb, take, typed


@pytest.mark.parametrize(
    "line",
    [
        ["--title", "x", "-p", "1"],
        ["--title=x", "-p1", "word"],
        ["--silent", "Title of words", "-l", "a,b"],
        ["--title", "--help"],
        ["a", "--", "-x", "--json"],
        ["-"],
        [],
        ["--title"],
    ],
)
def test_a_line_can_be_put_together_again(line):
    """Nothing that was typed is lost or moved before `--`."""
    assert typed(scan(line)) == line


def test_a_value_that_looks_like_a_flag_is_a_value():
    """`--title --metadata` has a title, and no metadata."""
    (part,) = scan(["--title", "--metadata"])
    assert (part.flag, part.value) == ("--title", "--metadata")


def test_own_flags_are_taken_out_wherever_they_stand():
    """Both spellings count, the last one wins, and what only looks like a flag stays."""
    line = ["--coder", "agy", "-d", "--coder", "T", "--model=o3", "--coder=codex", "--", "--model"]
    taken, rest = take(line, ("--coder", "--model"))
    assert taken == {"--coder": "codex", "--model": "o3"}
    assert rest == ["-d", "--coder", "T", "--", "--model"]


def test_an_own_flag_without_a_value_is_told():
    """A flag at the end has no value; the caller decides what that means."""
    assert take(["T", "--coder"], ("--coder",)) == ({"--coder": None}, ["T"])


@pytest.mark.parametrize(
    ("line", "verb", "rest"),
    [
        (["create", "T", "-p", "1"], "create", ["T", "-p", "1"]),
        (["--json", "create", "T"], "create", ["--json", "T"]),
        (["--actor", "create", "list"], "list", ["--actor", "create"]),
        (["--help"], "", ["--help"]),
        ([], "", []),
    ],
)
def test_the_command_is_the_first_word(line, verb, rest):
    """A global flag's value is not mistaken for the command."""
    assert split_verb(line) == (verb, rest)
