"""A line is taken apart and put together again without a change."""

from pathlib import Path

import pytest

from fleet.bd.callers_files import located
from fleet.bd.pflag import Flag, asks_for_help, parse, parts, take

KNOWN = (
    Flag("title"),
    Flag("priority", short="p"),
    Flag("quiet", "switch", "q"),
    Flag("body-file", aliases=("description-file",)),
    Flag("help", "switch", "h"),
)


@pytest.mark.parametrize(
    "line",
    [
        ["--title", "x", "-p", "1"],
        ["--title=x", "-p1", "word"],
        ["--unknown", "Title of words", "-l", "a,b"],
        ["--title", "--help"],
        ["a", "--", "-x", "--json"],
        ["-"],
        [],
        ["--title"],
    ],
)
def test_a_line_can_be_put_together_again(line):
    """Nothing that was typed is lost or moved before `--`."""
    assert [word for part in parts(KNOWN, line) for word in part.typed] == line


def test_a_value_that_looks_like_a_flag_is_a_value():
    """`--title --quiet` has a title, and is not quiet."""
    (part,) = parts(KNOWN, ["--title", "--quiet"])
    assert (part.flag, part.value) == ("title", "--quiet")
    assert not asks_for_help(KNOWN, ["--title", "--help"])


def test_short_flags_and_aliases_bear_the_long_name():
    """`-qp1` ends in a priority, and an alias is the flag it stands for."""
    found = parts(KNOWN, ["-qp1", "--description-file=x"])
    assert [(part.flag, part.value) for part in found] == [("priority", "1"), ("body-file", "x")]


def test_no_short_switch_is_lost_before_another_flag():
    """`-qp1` is quiet as well, wherever its pieces go."""
    (part,) = parts(KNOWN, ["-qp1"])
    assert part.flags == (("quiet", None), ("priority", "1"))
    assert parse(KNOWN, ["-qp1"]).values == {"quiet": True, "priority": "1"}
    assert located(["create", "-qf", "plan.md"], Path("/here")) == [
        "create", "--quiet", "--file=/here/plan.md",
    ]  # fmt: skip


def test_words_are_what_no_flag_takes():
    """Words stand anywhere, a lone dash is one, and behind `--` all are words."""
    found = parts(KNOWN, ["a", "-p", "1", "-", "--unknown", "--", "-b"])
    assert [word for part in found for word in part.words] == ["a", "-", "-b"]


def test_own_flags_leave_the_rest_as_it_was():
    """The values of flags beside them are never mistaken for flags."""
    given, rest = take([Flag("cwd")], KNOWN, ["--title", "--cwd", "--cwd=/x", "-q", "--cwd", "/y"])
    assert given == {"cwd": ["/x", "/y"]}
    assert rest == ["--title", "--cwd", "-q"]
