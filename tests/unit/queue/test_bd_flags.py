"""Command lines are read as bd's own parser reads them."""

import pytest

from fleet.queue.beads.bd_cli.bd_flags import scan, split_verb, typed


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
